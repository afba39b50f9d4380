/* SPDX-License-Identifier: Apache-2.0 */
/* agent/evidence.c - reads /proc/PID/maps, and by it /proc/PID/mem. A page of code is kept again
 * only if it differs from its last copy; a line is kept once. A process that cannot be opened any
 * more is left alone from then on. Which code is right is tools/truth's business. */
#include "agent/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "proc/opener.h"

#define PAGE_BYTES 4096U
#define CHUNK_BYTES (4U * PAGE_BYTES)
#define TOP_BYTES (4U * PAGE_BYTES) /* a thread's own data lies above its outermost frame */
#define MAPS_BYTES_MAX (16U << 20)

struct page {
	uint32_t pid;
	uint64_t address;
	size_t at; /* in code */
};

struct process {
	struct opener_process id;
	bool copied, gone;
};

struct range {
	uint64_t start, end;
};

struct ranges {
	VEC(struct range) all;
};

struct evidence {
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
	uint32_t pid;
	int memory_fd;
	uint64_t read_bytes;
	uint64_t guard_end; /* where the last mapping without rights ends */
	struct ranges executable, code /* without a file */, stacks;
	int err;
};

int evidence_new(struct evidence **out)
{
	struct evidence *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->text.max_bytes = EVIDENCE_TEXT_BYTES_MAX;
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

static void keep_mapping(struct pass *pass, const struct maps_entry *m)
{
	_cleanup_(buf_done) struct buf line = BUF_INIT;

	buf_printf(&line, "map %u %llx %llx %llx %s\n", pass->pid, (unsigned long long)m->start,
		(unsigned long long)m->end, (unsigned long long)m->file_offset, m->path);
	keep_line(pass->evidence, &line);
}

static void add_range(struct pass *pass, const struct maps_entry *m, struct ranges *ranges)
{
	struct range *slot = vec_add(&ranges->all);

	if (slot)
		*slot = (struct range){ m->start, m->end };
	else
		pass->err = -ENOMEM;
}

/* A stack has a guard below it, which no access is allowed to. */
static void take_mapping(void *ctx, const struct maps_entry *m)
{
	struct pass *pass = ctx;
	bool guarded = pass->guard_end == m->start || strcmp(m->path, "[stack]") == 0;

	if (!m->readable && !m->writable && !m->executable)
		pass->guard_end = m->end;
	if (m->executable)
		add_range(pass, m, &pass->executable);
	else if (m->ino == 0 && m->writable && !m->shared && guarded)
		add_range(pass, m, &pass->stacks);
	if (maps_is_anon_code(m))
		add_range(pass, m, &pass->code);
	else if (m->executable)
		keep_mapping(pass, m);
}

static bool is_executable(const struct pass *pass, uint64_t address)
{
	size_t low = 0, high = pass->executable.all.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct range *r = &pass->executable.all.data[middle];

		if (address >= r->start && address < r->end)
			return true;
		if (address < r->start)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static void keep_top(struct pass *pass, const struct range *stack)
{
	uint64_t words[TOP_BYTES / sizeof(uint64_t)];
	uint64_t size =
		stack->end - stack->start < TOP_BYTES ? stack->end - stack->start : TOP_BYTES;
	ssize_t got = pread(pass->memory_fd, words, size, (off_t)(stack->end - size));

	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*words); i++) {
		_cleanup_(buf_done) struct buf line = BUF_INIT;

		if (!is_executable(pass, words[i]))
			continue;
		buf_printf(&line, "top %u %llx %llx %llx\n", pass->pid,
			(unsigned long long)stack->end,
			(unsigned long long)(stack->end - size + i * sizeof(*words)),
			(unsigned long long)words[i]);
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

	if (memcmp(bytes, known ? (const uint8_t *)e->code.data + e->pages.data[*known].at : empty,
		    PAGE_BYTES) == 0)
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

static void keep_code(struct pass *pass, const struct range *range)
{
	uint8_t chunk[CHUNK_BYTES];

	for (uint64_t at = range->start; at < range->end; at += CHUNK_BYTES) {
		uint64_t size = range->end - at < CHUNK_BYTES ? range->end - at : CHUNK_BYTES;
		ssize_t got;

		if (pass->read_bytes + size > EVIDENCE_PASS_BYTES_MAX ||
			pass->evidence->code.len + PAGE_BYTES > EVIDENCE_CODE_BYTES_MAX) {
			pass->evidence->counts.bytes_left_out += range->end - at;
			return;
		}
		got = pread(pass->memory_fd, chunk, size, (off_t)at);
		pass->read_bytes += size;
		for (ssize_t i = 0; i + (ssize_t)PAGE_BYTES <= got; i += PAGE_BYTES)
			keep_page(pass, at + (uint64_t)i, chunk + i);
	}
}

static void pass_done(struct pass *pass)
{
	fd_close(&pass->memory_fd);
	vec_done(&pass->executable.all);
	vec_done(&pass->code.all);
	vec_done(&pass->stacks.all);
}

static int copy_process(struct evidence *e, const struct opener_process *process)
{
	_cleanup_(pass_done) struct pass pass = {
		.evidence = e,
		.pid = (uint32_t)process->pid,
		.memory_fd = -1,
	};
	_cleanup_(buf_done) struct buf maps = BUF_INIT;
	_cleanup_fd_ int maps_fd = -1;
	int err = opener_memory(process, &maps_fd, &pass.memory_fd);

	if (err == 0)
		err = fd_read_all(maps_fd, MAPS_BYTES_MAX, &maps);
	if (err < 0)
		return err;
	maps_parse(buf_text(&maps), take_mapping, &pass);
	vec_each (&pass.stacks.all, stack)
		keep_top(&pass, stack);
	vec_each (&pass.code.all, code)
		keep_code(&pass, code);
	return pass.err;
}

void evidence_copy(struct evidence *e, bool all)
{
	vec_each (&e->processes, p) {
		int err = p->gone || (p->copied && !all) ? 0 : copy_process(e, &p->id);

		p->copied = true;
		p->gone |= err == -ESRCH || err == -ENOENT;
		e->counts.copies_failed += err < 0 && !p->gone;
	}
}

struct evidence_counts evidence_counts(const struct evidence *e)
{
	return e->counts;
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
