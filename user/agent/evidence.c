/* SPDX-License-Identifier: Apache-2.0 */
/* agent/evidence.c - an opener copies the mappings of a process and, where a worker finds code and
 * stacks in them, its memory: both wait for a lock that the process may keep as long as a file
 * system of its own does not answer. A page of code is kept again only if it differs from its last
 * copy; a line is kept once. A process that cannot be opened any more is left alone from then on.
 * Which code is right is tools/truth's business. */
#include "agent/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "client/client.h"
#include "client/mappings.h"
#include "client/opener_call.h"
#include "proc/opener.h"
#include "wire/opening.h"

#define PAGE_BYTES 4096U
#define TOP_BYTES (4U * PAGE_BYTES) /* a thread's own data lies above its outermost frame */
#define CALL_BYTES_MAX (8U << 20) /* of memory, in one call */
#define COPY_NS (500 * NSEC_PER_MSEC) /* of one evidence_copy, about */
#define FIRST_ID (1ULL << 32)         /* for workers; other ids of processes are smaller */

struct page {
	uint32_t pid;
	uint64_t address;
	size_t at; /* in code */
};

struct process {
	struct opener_process id;
	bool copied, gone;
	uint32_t pass; /* the latest that copied it */
};

struct ranges {
	VEC(struct opening_range) all;
};

struct evidence {
	struct worker_client *worker; /* NULL: nothing is copied yet */
	uint32_t passes;
	size_t turn; /* in processes */
	VEC(struct process) processes;
	struct hash by_id; /* hash_mix(start) ^ pid */
	VEC(struct page) pages;
	struct hash latest; /* page → index in pages of its last copy */
	struct buf code, text;
	struct hash lines; /* of text: hashes */
	struct evidence_counts counts;
};

/* One pass over one process. */
struct pass {
	struct evidence *evidence;
	const struct opener_process *process;
	uint32_t pid;
	uint64_t read_bytes;
	struct ranges executable, code /* without a file */, stacks /* tops alone */;
	int err;
};

int evidence_new(struct evidence **out)
{
	struct evidence *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->text.max_bytes = EVIDENCE_TEXT_BYTES_MAX;
	e->passes = 1;
	*out = e;
	return 0;
}

void evidence_free(struct evidence *e)
{
	if (!e)
		return;
	vec_done(&e->processes);
	hash_done(&e->by_id);
	vec_done(&e->pages);
	hash_done(&e->latest);
	hash_done(&e->lines);
	buf_done(&e->code);
	buf_done(&e->text);
	free(e);
}

void evidence_ask(struct evidence *e, struct worker_client *worker)
{
	if (e)
		e->worker = worker;
}

static uint64_t key_of(uint32_t number, uint64_t wide)
{
	return hash_mix(wide) ^ number;
}

void evidence_process(struct evidence *e, uint32_t tgid, uint64_t start_ns)
{
	struct process *p;

	if (!e || hash_find(&e->by_id, key_of(tgid, start_ns)))
		return;
	p = e->processes.len < EVIDENCE_PROCESSES_MAX ? vec_add(&e->processes) : NULL;
	if (!p || hash_put(&e->by_id, key_of(tgid, start_ns), 1) < 0) {
		e->counts.tasks_left_out++;
		return;
	}
	p->id = (struct opener_process){ .pid = (pid_t)tgid, .start_ns = start_ns };
	e->counts.processes++;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

/* Keeps the line unless it is known. */
static void keep_line(struct evidence *e, const struct buf *line)
{
	uint64_t key;

	if (buf_err(line) < 0 || line->len > EVIDENCE_TEXT_BYTES_MAX - e->text.len) {
		e->counts.lines_left_out++;
		return;
	}
	key = hash_bytes(line->data, line->len);
	if (hash_find(&e->lines, key))
		return;
	if (hash_put(&e->lines, key, 1) < 0 || buf_append(&e->text, line) < 0)
		e->counts.lines_left_out++;
}

static void keep_mapping(struct pass *pass, const struct mappings_entry *m)
{
	_cleanup_(buf_done) struct buf line = BUF_INIT;

	buf_printf(&line, "map %u %llx %llx %llx %s\n", pass->pid, (unsigned long long)m->start,
		(unsigned long long)m->end, (unsigned long long)m->file_offset, m->path);
	keep_line(pass->evidence, &line);
}

static void add_range(struct pass *pass, uint64_t start, uint64_t end, struct ranges *ranges)
{
	struct opening_range *slot = vec_add(&ranges->all);

	if (slot)
		*slot = (struct opening_range){ start, end };
	else
		pass->err = -ENOMEM;
}

static void take_mapping(struct pass *pass, const struct mappings_entry *m)
{
	if (m->kind == MAPPING_STACK) {
		add_range(pass, m->end - m->start < TOP_BYTES ? m->start : m->end - TOP_BYTES,
			m->end, &pass->stacks);
		return;
	}
	add_range(pass, m->start, m->end, &pass->executable);
	if (m->kind == MAPPING_CODE)
		add_range(pass, m->start, m->end, &pass->code);
	else
		keep_mapping(pass, m);
}

static bool is_executable(const struct pass *pass, uint64_t address)
{
	size_t low = 0, high = pass->executable.all.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct opening_range *r = &pass->executable.all.data[middle];

		if (address >= r->start && address < r->end)
			return true;
		if (address < r->start)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static void keep_top(struct pass *pass, const struct opening_range *top, const uint8_t *bytes)
{
	for (uint64_t at = top->start; at + sizeof(uint64_t) <= top->end; at += sizeof(uint64_t)) {
		_cleanup_(buf_done) struct buf line = BUF_INIT;
		uint64_t word;

		memcpy(&word, bytes + (at - top->start), sizeof(word));
		if (!is_executable(pass, word))
			continue;
		buf_printf(&line, "top %u %llx %llx %llx\n", pass->pid,
			(unsigned long long)top->end, (unsigned long long)at,
			(unsigned long long)word);
		keep_line(pass->evidence, &line);
	}
}

/* ---- code -------------------------------------------------------------------------------------
 */

static void keep_page(struct pass *pass, uint64_t address, const uint8_t *bytes)
{
	static const uint8_t empty[PAGE_BYTES];
	struct evidence *e = pass->evidence;
	uint64_t key = key_of(pass->pid, address);
	const uint64_t *known = hash_find(&e->latest, key);
	struct page *page;

	/* Nothing was there, or nothing that was run. */
	if (memcmp(bytes, empty, PAGE_BYTES) == 0)
		return;
	if (known && memcmp(bytes, e->code.data + e->pages.data[*known].at, PAGE_BYTES) == 0)
		return;
	page = e->code.len + PAGE_BYTES <= EVIDENCE_CODE_BYTES_MAX ? vec_add(&e->pages) : NULL;
	if (!page || buf_put(&e->code, bytes, PAGE_BYTES) < 0 ||
		hash_put(&e->latest, key, e->pages.len - 1) < 0) {
		e->pages.len -= page != NULL;
		e->counts.bytes_left_out += PAGE_BYTES;
		return;
	}
	*page = (struct page){ pass->pid, address, e->code.len - PAGE_BYTES };
	e->counts.code_bytes += PAGE_BYTES;
}

static void keep_code(struct pass *pass, const struct opening_range *range, const uint8_t *bytes)
{
	for (uint64_t at = range->start; at + PAGE_BYTES <= range->end; at += PAGE_BYTES)
		keep_page(pass, at, bytes + (at - range->start));
}

/* ---- a process ------------------------------------------------------------------------------- */

typedef void (*keep_fn)(
	struct pass *pass, const struct opening_range *range, const uint8_t *bytes);

static void copy_memory(
	struct pass *pass, const struct opening_range *ranges, size_t len, keep_fn keep)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	size_t at = 0;
	int err = opener_call_memory(worker_client_call(pass->evidence->worker), pass->process,
		ranges, len, &fd);

	if (err == 0)
		err = fd_read_all(fd, OPENING_READ_BYTES_MAX, &bytes);
	if (err < 0)
		pass->err = err;
	for (size_t i = 0; i < len && err == 0; i++) {
		size_t size = ranges[i].end - ranges[i].start;

		if (size > bytes.len - at)
			break;
		keep(pass, &ranges[i], (const uint8_t *)bytes.data + at);
		at += size;
	}
}

/* In pieces for one call. Over the limits the rest is left out. */
static void copy_ranges(struct pass *pass, const struct ranges *ranges, keep_fn keep)
{
	struct opening_range piece[OPENING_RANGES_MAX];
	struct evidence *e = pass->evidence;
	uint64_t bytes = 0;
	size_t len = 0;

	vec_each (&ranges->all, range) {
		for (uint64_t at = range->start, size; at < range->end; at += size) {
			size = range->end - at < CALL_BYTES_MAX ? range->end - at : CALL_BYTES_MAX;
			if (pass->read_bytes + size > EVIDENCE_PASS_BYTES_MAX ||
				e->code.len + PAGE_BYTES > EVIDENCE_CODE_BYTES_MAX) {
				e->counts.bytes_left_out += range->end - at;
				break;
			}
			if (len == OPENING_RANGES_MAX || bytes + size > CALL_BYTES_MAX) {
				copy_memory(pass, piece, len, keep);
				len = bytes = 0;
			}
			if (pass->err < 0)
				return;
			piece[len++] = (struct opening_range){ at, at + size };
			bytes += size;
			pass->read_bytes += size;
		}
	}
	if (len > 0)
		copy_memory(pass, piece, len, keep);
}

static void pass_done(struct pass *pass)
{
	vec_done(&pass->executable.all);
	vec_done(&pass->code.all);
	vec_done(&pass->stacks.all);
}

static int take_mappings(struct pass *pass, uint64_t id)
{
	_cleanup_(buf_done) struct buf list = BUF_INIT;
	struct mappings_entry mapping = { 0 };
	struct cursor c;
	int err = worker_client_list(pass->evidence->worker, pass->process, id, &list);

	if (err < 0)
		return err;
	c = cursor_init(list.data, list.len);
	while (mappings_next(&c, &mapping))
		take_mapping(pass, &mapping);
	return pass->err;
}

static int copy_process(struct evidence *e, const struct opener_process *process, uint64_t id)
{
	_cleanup_(pass_done) struct pass pass = {
		.evidence = e, .process = process, .pid = (uint32_t)process->pid
	};
	int err = take_mappings(&pass, id);

	if (err < 0)
		return err;
	copy_ranges(&pass, &pass.stacks, keep_top);
	if (pass.err == 0)
		copy_ranges(&pass, &pass.code, keep_code);
	return pass.err;
}

/* New ones first. Who has no turn in time has it in the next pass. */
void evidence_copy(struct evidence *e, bool all)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + COPY_NS;
	size_t len = e->worker ? e->processes.len : 0, turn = e->turn;

	for (size_t i = 0; len > 0 && i < 2 * len; i++) {
		size_t at = i < len ? i : (turn + i) % len;
		struct process *p = &e->processes.data[at];
		bool is_turn = i < len ? !p->copied : all && p->pass != e->passes;
		int err;

		if (p->gone || !is_turn)
			continue;
		if (clock_ns(CLOCK_MONOTONIC) >= end_ns)
			break;
		err = copy_process(e, &p->id, FIRST_ID + at);
		p->copied = true;
		p->pass = e->passes;
		p->gone |= err == -ESRCH || err == -ENOENT;
		e->counts.copies_failed += err < 0 && !p->gone;
		e->turn = at + 1;
	}
	e->passes++;
}

struct evidence_counts evidence_counts(const struct evidence *e)
{
	return e->counts;
}

bool evidence_left_out(const struct evidence *e, struct why *note)
{
	const struct evidence_counts *c = &e->counts;

	if (c->tasks_left_out + c->bytes_left_out + c->lines_left_out == 0)
		return false;
	why_set(note, 0,
		"--check: over its limits, %llu tasks, %llu bytes of code and %llu lines were left "
		"out; record fewer processes",
		(unsigned long long)c->tasks_left_out, (unsigned long long)c->bytes_left_out,
		(unsigned long long)c->lines_left_out);
	return true;
}

int evidence_write(const struct evidence *e, struct buf *out)
{
	static const char digits[] = "0123456789abcdef";
	const struct evidence_counts *c = &e->counts;

	buf_printf(out,
		"# %llu processes, %llu bytes of code; left out: %llu tasks, %llu bytes of code, "
		"%llu lines; %llu copies failed\n",
		(unsigned long long)c->processes, (unsigned long long)c->code_bytes,
		(unsigned long long)c->tasks_left_out, (unsigned long long)c->bytes_left_out,
		(unsigned long long)c->lines_left_out, (unsigned long long)c->copies_failed);
	buf_append(out, &e->text);
	vec_each (&e->pages, page) {
		char *room;

		buf_printf(out, "code %u %llx ", page->pid, (unsigned long long)page->address);
		if (buf_reserve(out, 2UL * PAGE_BYTES + 1, &room) < 0)
			break;
		for (size_t i = 0; i < PAGE_BYTES; i++) {
			uint8_t byte = (uint8_t)e->code.data[page->at + i];

			room[2 * i] = digits[byte >> 4];
			room[2 * i + 1] = digits[byte & 15];
		}
		room[2UL * PAGE_BYTES] = '\n';
		buf_commit(out, 2UL * PAGE_BYTES + 1);
	}
	return buf_err(out);
}
