/* SPDX-License-Identifier: Apache-2.0 */
/* traps/first_waits.c - waits are grouped by their state and the names of their frames, and counted
 * in threads: the time of the waits, in parts of the time that was looked at. */
#include "traps/first_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "waiting/resource.h"

#define ROWS 8 /* shown at most; and of idle threads */
#define ROWS_IDLE 3
#define ROWS_MAX 4096 /* different ones; further ones are one sum */
#define FRAMES 32 /* of a stack that are shown */
#define LINE 96   /* columns */
#define THREADS_MIN .005

struct row {
	size_t text, stack, end; /* in texts: the row's, from where on its stack's */
	const char *state, *own; /* a profile's; own "": none is the program's own */
	const char *waits_for;   /* likewise, without the mark's bracket; "": unknown */
	int waits_for_len;
	bool idle;
	double before, after; /* threads on average */
	uint32_t threads;     /* different ones, at any time */
	uint64_t still_ns;    /* the longest without a CPU, at the latest look */
};

struct rows {
	struct buf texts;
	struct hash by_text, seen; /* a row and a thread */
	VEC(struct row) all;
	double further; /* threads of rows above ROWS_MAX, after it fired */
	bool before, after; /* threads were visited then */
};

static void rows_done(struct rows *rows)
{
	buf_done(&rows->texts);
	hash_done(&rows->by_text);
	hash_done(&rows->seen);
	vec_done(&rows->all);
}

/* ---- a stack in words ------------------------------------------------------------------------ */

static bool begins_with(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
			return true;
	return false;
}

static bool is_library(const char *module)
{
	static const char *const modules[] = { "libc.so", "libc-2.", "libc.musl", "ld-linux",
		"ld-musl", "libpthread", "[vdso]", "libjvm.so", "libnio.so", "libnet.so",
		"libjava.so", "libcoreclr.so", "libSystem.", "libpython", "python3", "node",
		"libuv.so", "libnode.so", "libssl.so", "libcrypto.so", "libstdc++.so", "libpq.so",
		NULL };

	return begins_with(module, modules);
}

static bool is_runtime_name(const char *name)
{
	static const char *const names[] = { "java.", "javax.", "jdk.", "sun.", "com.sun.",
		"System.", "Microsoft.", "[System.", "[Microsoft.", "runtime.", "internal/",
		"syscall.", "net.", "net/http.",
		"node:", "socket:", "ssl:", "http.client:", "threading:", "concurrent.futures",
		"queue:", "asyncio.", "selectors:", "socketserver:", "http.server:",
		"urllib.request:", "subprocess:", NULL };

	return begins_with(name, names);
}

/* Is the frame of the program's own code, and not of a C library, a language's or its runtime's?
 * That is known by names of files and of packages. */
static bool is_own(const struct profile *p, const struct profile_frame *frame)
{
	const char *name = profile_text(p, frame->name);

	if (frame->class == PROFILE_KERNEL || frame->class == PROFILE_MARK || name[0] == '[')
		return false;
	return !is_library(profile_text(p, frame->module)) && !is_runtime_name(name);
}

/* A frame that says nothing: of the kernel, of a C library, or of a runtime's own. */
static bool is_silent(const struct profile *p, const struct profile_frame *frame)
{
	return frame->class == PROFILE_KERNEL || frame->class == PROFILE_MARK ||
		(frame->class == PROFILE_NATIVE && is_library(profile_text(p, frame->module)));
}

/* Nothing but a runtime's own frames says what the thread is for. */
static bool says_nothing(const struct profile *p, uint32_t stack)
{
	for (uint32_t i = 0; i < p->stacks.data[stack].len; i++)
		if (!is_silent(p, profile_stack_frame(p, stack, i)))
			return false;
	return true;
}

/* Appends "leaf < caller < ..."; the first frame that is the program's own is put into *own. */
static void put_stack(const struct profile *p, uint32_t stack, struct buf *out, const char **own)
{
	const struct profile_stack *s = &p->stacks.data[stack];
	bool all = says_nothing(p, stack);
	uint32_t shown = 0;

	for (uint32_t i = 0; i < s->len && shown <= FRAMES; i++) {
		const struct profile_frame *frame = profile_stack_frame(p, stack, i);

		if (all ? frame->class != PROFILE_NATIVE : is_silent(p, frame))
			continue;
		if (!**own && is_own(p, frame))
			*own = profile_text(p, frame->name);
		if (shown++ > 0)
			buf_puts(out, " < ");
		utf8_put_clean(out, shown > FRAMES ? "..." : profile_text(p, frame->name));
	}
}

static const char *state_of(const struct profile *p, uint32_t stack)
{
	const struct profile_frame *frame = profile_stack_frame(p, stack, 0);

	return frame->class == PROFILE_MARK ? profile_text(p, frame->name) : "";
}

/* The text in the mark. */
static void note_resource(const struct profile *p, uint32_t stack, struct row *row)
{
	const struct profile_frame *frame;
	size_t words = strlen(PROFILE_WAITS_FOR);
	const char *name;

	row->waits_for = "";
	if (p->stacks.data[stack].len < 2)
		return;
	frame = profile_stack_frame(p, stack, 1);
	name = profile_text(p, frame->name);
	if (frame->class != PROFILE_MARK || strncmp(name, PROFILE_WAITS_FOR, words) != 0)
		return;
	/* Threads that leaked may each have one of its own. */
	if (resource_is_futex(name + words))
		return;
	row->waits_for = name + words;
	row->waits_for_len = (int)strlen(name + words) - 1;
}

/* ---- grouping -------------------------------------------------------------------------------- */

/* The row of such a stack. -ENOSPC: there are ROWS_MAX others; -ENOMEM. */
static int find_row(
	struct rows *rows, const struct profile *p, const struct profile_sample *s, size_t *index)
{
	struct row row = { .text = rows->texts.len,
		.state = state_of(p, s->stack),
		.own = "",
		.idle = profile_labels_idle(p, s->labels) };
	const uint64_t *known;
	uint64_t hash;
	struct row *slot;

	note_resource(p, s->stack, &row);
	buf_printf(&rows->texts, "%d%s %.*s ", row.idle, row.state, row.waits_for_len,
		row.waits_for);
	row.stack = rows->texts.len;
	put_stack(p, s->stack, &rows->texts, &row.own);
	if (buf_err(&rows->texts) < 0)
		return -ENOMEM;
	row.end = rows->texts.len;
	hash = hash_bytes(rows->texts.data + row.text, row.end - row.text);
	known = hash_find(&rows->by_text, hash);
	if (known) {
		rows->texts.len = row.text;
		*index = *known;
		return 0;
	}
	if (rows->all.len == ROWS_MAX) {
		rows->texts.len = row.text;
		return -ENOSPC;
	}
	*index = rows->all.len;
	slot = vec_add(&rows->all);
	if (!slot || hash_put(&rows->by_text, hash, *index) < 0)
		return -ENOMEM;
	*slot = row;
	return 0;
}

/* Has the thread been there for most of that time, as far as it is in the capture? */
static bool is_there(const struct trap_waits *waits, uint64_t wait_ns, uint64_t still_ns)
{
	return wait_ns > (still_ns < waits->past_ns ? still_ns : waits->past_ns) / 2;
}

static int note_thread(struct rows *rows, size_t index, const struct trap_waits *waits,
	const struct profile_sample *s)
{
	uint64_t tid = (uint64_t)profile_label_number(&waits->profile, s->labels, PROFILE_KEY_TID);
	uint64_t key = hash_mix(index + 1) ^ tid;
	const uint64_t *still_ns = hash_find(&waits->still, tid);
	struct row *row = &rows->all.data[index];

	if (still_ns && *still_ns > row->still_ns && is_there(waits, s->value, *still_ns))
		row->still_ns = *still_ns;
	if (hash_find(&rows->seen, key))
		return 0;
	row->threads++;
	return hash_put(&rows->seen, key, 1);
}

static uint32_t wall_of(const struct profile *p)
{
	return profile_kind_find(p, PROFILE_WALL, strlen(PROFILE_WALL));
}

static int add_waits(struct rows *rows, const struct trap_waits *waits, bool after)
{
	uint32_t wall = wall_of(&waits->profile);
	int err = 0;

	vec_each (&waits->profile.samples, s) {
		double threads = (double)s->value / (double)waits->past_ns;
		size_t index;

		if (s->kind != wall)
			continue;
		*(after ? &rows->after : &rows->before) = true;
		err = find_row(rows, &waits->profile, s, &index);
		if (err == -ENOSPC) {
			rows->further += after ? threads : 0;
			err = 0;
			continue;
		}
		if (err == 0)
			err = note_thread(rows, index, waits, s);
		if (err < 0)
			return err;
		*(after ? &rows->all.data[index].after : &rows->all.data[index].before) += threads;
	}
	return 0;
}

#define STILL_WEIGHT 1.5 /* of threads that did not move: a stall is sought */

static double weight(const struct row *row)
{
	return (row->after + row->before / 1000) * (row->still_ns ? STILL_WEIGHT : 1);
}

static int by_threads(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double p = weight(x), q = weight(y);

	if (x->idle != y->idle)
		return x->idle ? 1 : -1;
	return p > q ? -1 : p < q;
}

/* ---- the page -------------------------------------------------------------------------------- */

static bool has_frame(const struct profile *p, uint32_t stack, const char *name)
{
	for (uint32_t i = 0; i < p->stacks.data[stack].len; i++)
		if (strcmp(profile_text(p, profile_stack_frame(p, stack, i)->name), name) == 0)
			return true;
	return false;
}

static bool waits_for(const struct profile *p, uint32_t stack, const struct row *row)
{
	struct row other = { 0 };

	note_resource(p, stack, &other);
	return other.waits_for_len == row->waits_for_len &&
		memcmp(other.waits_for, row->waits_for, (size_t)row->waits_for_len) == 0;
}

/* Threads that waited likewise then; a store has names alone, so the function is what counts. */
static double earlier_threads(const struct profile *p, const struct row *row)
{
	uint32_t wall = wall_of(p);
	double ns = 0;

	vec_each (&p->samples, s)
		if (s->kind == wall && strcmp(state_of(p, s->stack), row->state) == 0 &&
			waits_for(p, s->stack, row) && has_frame(p, s->stack, row->own))
			ns += (double)s->value;
	return p->duration_ns > 0 ? ns / (double)p->duration_ns : 0;
}

/* Lines of LINE columns, broken between frames. */
static void put_wrapped(const char *text, size_t len, struct buf *out)
{
	while (len > 0) {
		size_t part = len;

		if (part > LINE)
			for (part = LINE; part > 0 && strncmp(text + part, " < ", 3) != 0; part--)
				;
		if (part == 0)
			part = len;
		buf_printf(out, "      %.*s\n", (int)part, text);
		text += part;
		len -= part;
	}
}

/* "-": no visit fell into that time. */
static void put_count(double threads, bool visited, struct buf *out)
{
	if (visited)
		buf_printf(out, "%7.2f", threads);
	else
		buf_printf(out, "%7s", "-");
}

static void put_row(const struct rows *rows, const struct row *row, const struct profile *earlier,
	struct buf *out)
{
	char waits_for[RESOURCE_TEXT_MAX];

	buf_puts(out, "  ");
	put_count(row->before, rows->before, out);
	buf_puts(out, " -> ");
	put_count(row->after, rows->after, out);
	if (earlier && *row->own)
		buf_printf(out, "  (%.2f)", earlier_threads(earlier, row));
	buf_printf(out, "  %s", *row->state ? row->state : "[unknown]");
	if (*row->own) {
		buf_puts(out, " in ");
		utf8_put_clean(out, row->own);
	}
	if (*row->waits_for) {
		snprintf(waits_for, sizeof(waits_for), "%.*s", row->waits_for_len, row->waits_for);
		buf_puts(out, ", for ");
		utf8_put_clean(out, waits_for);
	}
	buf_printf(out, ", %u thread%s", row->threads, row->threads == 1 ? "" : "s");
	if (row->still_ns > 0)
		buf_printf(out, ", %.0f s without a CPU%s", (double)row->still_ns / 1e9,
			row->threads == 1 ? "" : " at most");
	buf_putc(out, '\n');
	put_wrapped(rows->texts.data + row->stack, row->end - row->stack, out);
}

static void put_rows(const struct rows *rows, bool idle, size_t most, const struct profile *earlier,
	struct buf *out)
{
	size_t shown = 0;
	double left_threads = idle ? 0 : rows->further;

	vec_each (&rows->all, row) {
		if (row->idle != idle || (row->before < THREADS_MIN && row->after < THREADS_MIN))
			continue;
		if (shown == 0)
			buf_printf(out, "\n%s: threads on average, before -> after%s\n",
				idle ? "Waiting for work, as it seems" : "Where its threads waited",
				earlier && !idle ? " (and in the ten minutes before)" : "");
		if (shown < most) {
			put_row(rows, row, earlier, out);
			shown++;
		} else {
			left_threads += row->after;
		}
	}
	if (left_threads >= THREADS_MIN)
		buf_printf(out, "  %18.2f  in other places\n", left_threads);
}

int first_waits_put(const struct trap_capture *c, const struct profile *earlier, struct buf *out)
{
	_cleanup_(rows_done) struct rows rows = { .texts = BUF_INIT };
	int err = c->waits_before.past_ns ? add_waits(&rows, &c->waits_before, false) : 0;

	if (err == 0 && c->waits_after.past_ns)
		err = add_waits(&rows, &c->waits_after, true);
	if (err < 0)
		return err;
	if (rows.all.len == 0) {
		buf_puts(out, "\nNo stack of a waiting thread was seen.\n");
		return buf_err(out);
	}
	if (!rows.before || !rows.after)
		buf_printf(out,
			"\nThreads were not visited in the time %s it fired: of very many "
			"threads visits are rare.\n",
			rows.before ? "after" : "before");
	qsort(rows.all.data, rows.all.len, sizeof(*rows.all.data), by_threads);
	put_rows(&rows, false, ROWS, earlier, out);
	put_rows(&rows, true, ROWS_IDLE, NULL, out);
	return buf_err(out);
}
