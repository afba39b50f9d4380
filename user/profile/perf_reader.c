/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_reader.c - parses line by line: heads (perf_head.h), and frames, whose module is in
 * the last parentheses. Other lines, and samples of events that are not asked for, are skipped and
 * counted. */
#include "profile/perf_reader.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/words.h"
#include "profile/perf_head.h"

#define PROBE_LINES 64
#define DELETED " (deleted)"
#define CPU_CLOCK "cpu-clock"

struct reader {
	struct profile *out;
	struct perf_counts *counts;
	bool open;      /* a sample's head was read */
	bool apart;     /* and an empty line, but no frame */
	bool left_out;  /* and its event is not the one to read */
	bool begun;     /* a head was read */
	bool timed;     /* and it had a time, so all do */
	const char *events; /* names, or NULL: the first event alone */
	bool has_event;     /* event is known: the first that is read */
	struct bytes event;
	uint32_t kind; /* of the sample */
	struct bytes clocks[PROFILE_KINDS_MAX]; /* events of ours whose periods are time */
	uint32_t clocks_len;
	struct profile_labels labels;
	uint32_t cpu;
	uint64_t time_ns;
	uint32_t frames[PERF_FRAMES_MAX];
	uint32_t len;
	struct buf name; /* room for one */
};

static bool is_same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Stoker's name of an event. */
static struct bytes kind_name(struct bytes event)
{
	if (event.len == 0 || words_is(event, CPU_CLOCK))
		return (struct bytes){ (const uint8_t *)PROFILE_CPU, strlen(PROFILE_CPU) };
	return event;
}

/* Is it the event that is asked for, or one of several? Names may have commas. */
static bool is_wanted(const struct reader *r, struct bytes event)
{
	const struct bytes names[] = { event, kind_name(event) };

	if (!r->events)
		return !r->has_event || is_same(r->event, event);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = r->events;

		if (words_is(names[i], r->events))
			return true;
		for (; at && names[i].len > 0; at = strchr(at, ',')) {
			at += at != r->events;
			if (strncmp(at, (const char *)names[i].data, names[i].len) == 0 &&
				(at[names[i].len] == ',' || at[names[i].len] == '\0'))
				return true;
		}
	}
	return false;
}

/* The kind of an event's samples; the first is kind 0. -ENOSPC: there is no room for another. */
static int find_kind(struct reader *r, struct bytes event)
{
	struct bytes name = kind_name(event);
	struct profile *p = r->out;

	if (!r->has_event) {
		r->has_event = true;
		r->event = event;
		if (!words_is(name, PROFILE_CPU))
			return strtab_put(&p->strings, (const char *)name.data, name.len,
				&p->kinds[0].name);
	}
	return profile_kind(p, (const char *)name.data, name.len, &r->kind);
}

/* Counts a sample of the event. Is it one to read? */
static bool note_event(struct reader *r, struct bytes event)
{
	struct perf_counts *counts = r->counts;
	uint32_t i = 0;

	while (i < counts->events_len && !is_same(counts->events[i].name, event))
		i++;
	if (i == counts->events_len && i < PERF_EVENTS_MAX)
		counts->events[counts->events_len++].name = event;
	if (i < PERF_EVENTS_MAX)
		counts->events[i].samples++;
	else
		counts->further++;
	return is_wanted(r, event);
}

static bool is_clock(const struct reader *r, struct bytes event)
{
	for (uint32_t i = 0; i < r->clocks_len; i++)
		if (is_same(r->clocks[i], event))
			return true;
	return false;
}

static int begin_sample(struct reader *r, const struct perf_head *head)
{
	int err;

	r->open = true;
	r->apart = false;
	r->len = 0;
	r->left_out = !note_event(r, head->event);
	if (r->left_out)
		return 0;
	r->kind = 0;
	err = find_kind(r, head->event);
	r->left_out = err == -ENOSPC;
	if (err < 0)
		return r->left_out ? 0 : err;
	r->time_ns = head->time_ns;
	r->cpu = head->has_cpu ? (uint32_t)head->cpu : PROFILE_NO_CPU;
	r->labels.len = 0;
	profile_labels_set_number(&r->labels, PROFILE_KEY_PID, (int32_t)head->pid);
	profile_labels_set_number(&r->labels, PROFILE_KEY_TID, (int32_t)head->tid);
	profile_labels_set_number(&r->labels, PROFILE_KEY_CPU,
		head->has_cpu && head->cpu <= INT32_MAX ? (int32_t)head->cpu : -1);
	if (r->out->kinds[r->kind].period_ns == 0)
		r->out->kinds[r->kind].period_ns =
			is_clock(r, head->event) ? head->period : head->period_ns;
	return profile_labels_put(r->out, &r->labels, "comm", strlen("comm"),
		(const char *)head->comm.data, head->comm.len);
}

/* ---- a frame ----------------------------------------------------------------------------------
 */

static struct bytes last_part(struct bytes path)
{
	const uint8_t *slash = memrchr(path.data, '/', path.len);
	struct cursor c = cursor_init(path.data, path.len);

	if (slash)
		cursor_skip(&c, (size_t)(slash - path.data) + 1);
	return cursor_bytes(&c, cursor_left(&c));
}

/* perf puts the kernel's parts in brackets, and adds a section's name that is not .text. */
static bool is_kernel(struct bytes module)
{
	return words_begins(module, "[kernel.kallsyms].") || words_ends(module, ".ko") ||
		words_ends(module, "vmlinux") ||
		(words_begins(module, "[") &&
			(words_ends(module, "]") || words_ends(module, "].init.text")));
}

static enum profile_class class_of(struct bytes symbol, struct bytes module)
{
	static const char *const user[] = { "[vdso]", "[unknown]", "[heap]", "[stack]", "[anon]" };

	/* A mark is in no file: perf itself has names of functions alone. */
	if ((module.len == 0 || words_is(module, "[unknown]")) &&
		profile_is_mark((const char *)symbol.data, symbol.len))
		return PROFILE_MARK;
	if (words_is(module, "cpython") || words_is(module, "jvm"))
		return PROFILE_LANGUAGE;
	if (words_begins(module, "/tmp/perf-") || words_begins(last_part(module), "jitted-"))
		return PROFILE_JIT;
	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
		if (words_is(module, user[i]))
			return PROFILE_NATIVE;
	return is_kernel(module) ? PROFILE_KERNEL : PROFILE_NATIVE;
}

/* Perf text has `_` in a module for what readers would split at. */
static bool is_module(struct bytes name, struct bytes module)
{
	for (size_t i = 0; i < name.len && i < module.len; i++)
		if (name.data[i] != module.data[i] && module.data[i] != '_')
			return false;
	return name.len == module.len;
}

/* Without +0xOFF at its end; but a place without a name is called MODULE+0xOFF, or, in older files,
 * [anon]+0xOFF. */
static struct bytes without_offset(struct bytes symbol, struct bytes module)
{
	const uint8_t *plus = symbol.len > 3 ? memrchr(symbol.data, '+', symbol.len) : NULL;
	struct bytes name = { symbol.data, plus ? (size_t)(plus - symbol.data) : symbol.len };
	size_t left = symbol.len - name.len;

	if (left < 4 || memcmp(plus, "+0x", 3) != 0)
		return symbol;
	for (size_t i = 3; i < left; i++)
		if (!strchr("0123456789abcdefABCDEF", plus[i]) || plus[i] == '\0')
			return symbol;
	return words_begins(name, "[") || is_module(name, module) ? symbol : name;
}

static int put_module(struct reader *r, enum profile_class class, struct bytes module,
	struct profile_frame *frame)
{
	bool kernel = class == PROFILE_KERNEL;
	bool bare = class == PROFILE_JIT || class == PROFILE_MARK ||
		(kernel && words_begins(module, "[kernel.kallsyms]")) ||
		words_is(module, "[unknown]");
	struct bytes name = last_part(module);
	const uint8_t *end =
		kernel && words_begins(name, "[") ? memchr(name.data, ']', name.len) : NULL;

	if (end)
		name = (struct bytes){ name.data + 1, (size_t)(end - name.data) - 1 };
	return bare
		? 0
		: strtab_put(&r->out->strings, (const char *)name.data, name.len, &frame->module);
}

/* Names of ours have `->` written `-_>`: it stands for inlining. */
static int put_name(struct reader *r, struct bytes name, uint32_t *id)
{
	struct cursor c = cursor_init(name.data, name.len);
	size_t len = 0;
	char *text;

	buf_clear(&r->name);
	if (buf_reserve(&r->name, name.len, &text) < 0)
		return -ENOMEM;
	while (cursor_left(&c) > 0) {
		if (cursor_left(&c) >= 3 && memcmp(c.at, "-_>", 3) == 0)
			text[len++] = '-', cursor_skip(&c, 2);
		else
			text[len++] = (char)cursor_u8(&c);
	}
	return strtab_put(&r->out->strings, text, len, id);
}

static int add_frame(struct reader *r, const struct profile_frame *frame)
{
	if (r->len >= PERF_FRAMES_MAX)
		return 0;
	return profile_frame(r->out, frame, &r->frames[r->len++]);
}

/* outer->inner: the innermost is the leaf. */
static int add_symbol(struct reader *r, struct bytes symbol, struct profile_frame *frame)
{
	uint32_t class = frame->class;
	int err;

	while (symbol.len > 0) {
		struct bytes name = symbol;
		size_t at = symbol.len;

		while (at > 2 && (symbol.data[at - 1] != '>' || symbol.data[at - 2] != '-'))
			at--;
		if (at > 2 && at < symbol.len) {
			name = (struct bytes){ symbol.data + at, symbol.len - at };
			symbol.len = at - 2;
			frame->class = PROFILE_INLINED;
		} else {
			symbol.len = 0;
			frame->class = class;
		}
		err = put_name(r, name, &frame->name);
		if (err == 0)
			err = add_frame(r, frame);
		if (err < 0)
			return err;
	}
	return 0;
}

/* SYMBOL (MODULE) */
static void split_frame(struct bytes text, struct bytes *symbol, struct bytes *module)
{
	size_t open = text.len;

	*symbol = text;
	*module = (struct bytes){ text.data, 0 };
	if (words_ends(text, DELETED ")"))
		open = text.len -= strlen(DELETED);
	else if (text.len == 0 || text.data[text.len - 1] != ')')
		return;
	while (open > 0 && text.data[open - 1] != '(')
		open--;
	if (open == 0 || (open > 1 && !words_is_blank(text.data[open - 2])))
		return;
	*module = (struct bytes){ text.data + open, text.len - open - 1 };
	symbol->len = open > 1 ? open - 2 : 0;
}

/* False: no frame. */
static bool read_frame(struct reader *r, struct bytes line, int *err)
{
	struct cursor c = cursor_init(line.data, line.len);
	struct profile_frame frame = { 0 };
	struct bytes symbol, module;

	*err = 0;
	if (!r->open || !words_hex(words_next(&c), &frame.address))
		return false;
	r->apart = false;
	if (r->left_out)
		return true;
	while (cursor_left(&c) > 0 && words_is_blank(*c.at))
		cursor_skip(&c, 1);
	split_frame(cursor_bytes(&c, cursor_left(&c)), &symbol, &module);
	frame.class = class_of(symbol, module);
	symbol = without_offset(symbol, last_part(module));
	*err = put_module(r, frame.class, module, &frame);
	if (*err == 0 && symbol.len == 0)
		symbol = (struct bytes){ (const uint8_t *)"[unknown]", 9 };
	if (*err == 0)
		*err = add_symbol(r, symbol, &frame);
	return true;
}

/* ---- samples ----------------------------------------------------------------------------------
 */

static int end_sample(struct reader *r)
{
	uint32_t stack, labels;
	int err;

	if (!r->open)
		return 0;
	r->open = false;
	if (r->left_out)
		return 0;
	err = profile_stack(r->out, r->frames, r->len, &stack);
	if (err == 0)
		err = profile_labels(r->out, &r->labels, &labels);
	if (err == 0)
		err = r->timed ? profile_tick_kind(r->out, stack, labels, r->kind, r->cpu,
					 r->time_ns)
			       : profile_add_kind(r->out, stack, labels, r->kind, 1);
	r->counts->samples += err == 0;
	return err;
}

/* Of our own: what times are counted from, and an event whose periods are nanoseconds. */
static void read_comment(struct reader *r, struct bytes line)
{
	static const char start[] = "# started at : ", clock[] = "# clock : ";
	struct cursor c = cursor_init(line.data, line.len);
	struct bytes rest;

	if (words_begins(line, start)) {
		cursor_skip(&c, strlen(start));
		rest = cursor_bytes(&c, cursor_left(&c));
		if (!perf_head_seconds(rest, &r->out->start_tick_ns))
			r->out->start_tick_ns = 0;
	} else if (words_begins(line, clock) && r->clocks_len < PROFILE_KINDS_MAX) {
		cursor_skip(&c, strlen(clock));
		r->clocks[r->clocks_len++] = cursor_bytes(&c, cursor_left(&c));
	}
}

/* perf script --show-mmap-events and its like print other records between the samples. */
static bool is_record(const struct perf_head *head)
{
	struct cursor c = cursor_init(head->frame.data, head->frame.len);

	return words_begins(head->event, "PERF_RECORD_") ||
		words_begins(words_next(&c), "PERF_RECORD_");
}

/* For a line that may be a frame: where the text has events, a head has one, too. */
static bool is_sure(const struct reader *r, const struct perf_head *head)
{
	bool has_events = r->counts->events_len > 0 && r->counts->events[0].name.len > 0;

	return head->is_whole && (!has_events || head->event.len > 0 || is_record(head));
}

/* False: no head, or unlike the first it has a time, or has none. */
static bool read_sample(struct reader *r, struct bytes line, bool may_be_frame, int *err)
{
	struct perf_head head;

	if (!perf_head_read(line, &head) || (r->begun && head.has_time != r->timed) ||
		(may_be_frame && !is_sure(r, &head)))
		return false;
	if (is_record(&head)) {
		*err = end_sample(r);
		return true;
	}
	r->begun = true;
	r->timed = head.has_time;
	*err = end_sample(r);
	if (*err == 0)
		*err = begin_sample(r, &head);
	/* Such a sample is complete. */
	if (*err == 0 && words_ends(head.frame, ")") && read_frame(r, head.frame, err) &&
		*err == 0)
		*err = end_sample(r);
	return true;
}

/* A comm may begin with #, too. */
static bool is_comment(struct bytes line)
{
	struct perf_head head;

	return line.data[0] == '#' &&
		(line.len == 1 || words_is_blank(line.data[1]) || !perf_head_read(line, &head) ||
			!head.is_whole);
}

static bool begins_as_frame(struct bytes line)
{
	struct cursor c = cursor_init(line.data, line.len);
	uint64_t address;

	return words_hex(words_next(&c), &address);
}

/* False: it is neither. */
static bool read_line(struct reader *r, struct bytes line, int *err)
{
	bool may_be_frame;

	*err = 0;
	/* An empty line ends a sample, but some texts have one before the first frame. */
	if (line.len == 0) {
		*err = r->len > 0 ? end_sample(r) : 0;
		r->apart = true;
		return true;
	}
	if ((!r->open || r->apart) && is_comment(line)) {
		read_comment(r, line);
		return true;
	}
	r->counts->lines++;
	/* perf puts blanks before a short comm, and old ones none before a frame; and a comm like
	 * `dd` or `DB worker` begins as an address does. */
	may_be_frame = r->open && (words_is_blank(line.data[0]) || words_ends(line, ")"));
	return read_sample(r, line, may_be_frame && !r->apart && begins_as_frame(line), err) ||
		(may_be_frame && read_frame(r, line, err));
}

bool perf_looks_like(struct bytes text)
{
	struct cursor c = cursor_init(text.data, text.len);
	struct perf_head head;

	for (int i = 0; i < PROBE_LINES && cursor_left(&c) > 0; i++) {
		struct bytes line = words_line(&c);

		if (i == 0 && words_is(line, "# ========"))
			return true;
		if (line.len > 0 && !is_comment(line))
			return perf_head_read(line, &head);
	}
	return false;
}

int perf_read(
	struct bytes text, const char *events, struct profile *out, struct perf_counts *counts)
{
	struct reader r = { .out = out, .counts = counts, .events = events };
	struct cursor c = cursor_init(text.data, text.len);
	uint64_t number = 0;
	int err = 0;

	*counts = (struct perf_counts){ 0 };
	while (err == 0 && cursor_left(&c) > 0) {
		number++;
		if (!read_line(&r, words_line(&c), &err) && counts->bad++ == 0)
			counts->bad_at = number;
	}
	if (err == 0)
		err = end_sample(&r);
	profile_sort(out);
	if (out->ticks.len > 0 && out->start_tick_ns > out->ticks.data[0].time_ns)
		out->start_tick_ns = 0;
	if (out->ticks.len > 0)
		out->duration_ns = out->ticks.data[out->ticks.len - 1].time_ns -
			out->ticks.data[0].time_ns + out->kinds[0].period_ns;
	buf_done(&r.name);
	return err;
}
