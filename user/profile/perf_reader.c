/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_reader.c - parses line by line. A comm may contain anything, so a head is found by
 * its time: the first number with a fraction and a colon after a PID. A frame's module is in the
 * last parentheses. Other lines are skipped and counted. */
#include "profile/perf_reader.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#define NS_DIGITS 9
#define SECONDS_MAX (UINT64_MAX / 1000000000ULL - 1)
#define PROBE_LINES 64
#define DELETED " (deleted)"

struct reader {
	struct profile *out;
	struct perf_counts *counts;
	bool open; /* a sample's head was read */
	struct profile_labels labels;
	uint32_t cpu;
	uint64_t time_ns;
	uint32_t frames[PERF_FRAMES_MAX];
	uint32_t len;
	struct buf name; /* room for one */
};

/* What a head says. */
struct head {
	struct bytes comm;
	uint64_t pid, tid, cpu, time_ns;
	uint64_t period_ns;  /* 0: none, or not in time */
	struct bytes behind; /* the event, on the same line: a frame, where there are no stacks */
	bool has_cpu;
};

/* ---- words ------------------------------------------------------------------------------------
 */

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static struct bytes take_line(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, '\n', cursor_left(c));
	struct bytes line = cursor_bytes(c, end ? (size_t)(end - c->at) : cursor_left(c));

	if (end)
		cursor_skip(c, 1);
	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* The next run without blanks; empty at the end. */
static struct bytes take_word(struct cursor *c)
{
	struct bytes word;
	size_t len = 0;

	while (cursor_left(c) > 0 && is_blank(*c->at))
		cursor_skip(c, 1);
	while (len < cursor_left(c) && !is_blank(c->at[len]))
		len++;
	word = cursor_bytes(c, len);
	return word;
}

/* Digits at the cursor; false: none, or too large a number. */
static bool take_number(struct cursor *c, uint64_t *out)
{
	uint64_t value = 0;
	size_t digits = 0;

	for (; cursor_left(c) > 0 && *c->at >= '0' && *c->at <= '9'; digits++) {
		if (value > UINT64_MAX / 10 - 1)
			return false;
		value = value * 10 + (uint64_t)(cursor_u8(c) - '0');
	}
	*out = value;
	return digits > 0;
}

static bool take_byte(struct cursor *c, uint8_t byte)
{
	if (cursor_left(c) == 0 || *c->at != byte)
		return false;
	cursor_skip(c, 1);
	return true;
}

static bool is_text(struct bytes b, const char *text)
{
	return b.len == strlen(text) && memcmp(b.data, text, b.len) == 0;
}

static bool begins_with(struct bytes b, const char *text)
{
	return b.len >= strlen(text) && memcmp(b.data, text, strlen(text)) == 0;
}

static bool ends_with(struct bytes b, const char *text)
{
	size_t n = strlen(text);

	return b.len >= n && memcmp(b.data + b.len - n, text, n) == 0;
}

/* ---- a head -----------------------------------------------------------------------------------
 */

/* 12.345678 */
static bool read_time(struct bytes word, uint64_t *ns)
{
	struct cursor c = cursor_init(word.data, word.len);
	uint64_t seconds, part = 0;
	size_t digits = 0;

	if (!take_number(&c, &seconds) || seconds > SECONDS_MAX || !take_byte(&c, '.'))
		return false;
	for (; cursor_left(&c) > 0 && *c.at >= '0' && *c.at <= '9'; digits++) {
		uint8_t digit = cursor_u8(&c);

		if (digits < NS_DIGITS)
			part = part * 10 + (uint64_t)(digit - '0');
	}
	for (size_t i = digits; i < NS_DIGITS; i++)
		part *= 10;
	*ns = seconds * 1000000000ULL + part;
	return digits > 0 && cursor_left(&c) == 0;
}

/* 12.345678: */
static bool is_time(struct bytes word, uint64_t *ns)
{
	bool colon = word.len > 0 && word.data[word.len - 1] == ':';

	return colon && read_time((struct bytes){ word.data, word.len - 1 }, ns);
}

/* PID or PID/TID */
static bool is_task(struct bytes word, uint64_t *pid, uint64_t *tid)
{
	struct cursor c = cursor_init(word.data, word.len);

	if (!take_number(&c, pid))
		return false;
	*tid = *pid;
	if (cursor_left(&c) > 0 && (!take_byte(&c, '/') || !take_number(&c, tid)))
		return false;
	return cursor_left(&c) == 0 && *pid <= INT32_MAX && *tid <= INT32_MAX;
}

static bool is_cpu(struct bytes word, uint64_t *cpu)
{
	struct cursor c = cursor_init(word.data, word.len);

	return take_byte(&c, '[') && take_number(&c, cpu) && take_byte(&c, ']') &&
		cursor_left(&c) == 0 && *cpu < PROFILE_NO_CPU;
}

/* PERIOD EVENT: behind the time. Of a clock the period is in nanoseconds; of other events it is a
 * number of those, which perf changes as it goes. */
static void read_event(struct cursor *c, struct head *head)
{
	struct bytes word = take_word(c);
	struct cursor period = cursor_init(word.data, word.len);
	uint64_t value = 0;

	if (take_number(&period, &value) && cursor_left(&period) == 0) {
		word = take_word(c);
		if (begins_with(word, "cpu-clock") || begins_with(word, "task-clock"))
			head->period_ns = value;
	}
	head->behind = cursor_bytes(c, cursor_left(c));
}

/* The comm is all before the task. Of several words that could be a task, the last before the CPU
 * and the time is it. */
static bool read_head(struct bytes line, struct head *head)
{
	struct cursor c = cursor_init(line.data, line.len);
	bool has_task = false;

	*head = (struct head){ 0 };
	while (cursor_left(&c) > 0) {
		struct bytes word;
		size_t from = cursor_offset(&c);
		uint64_t pid, tid;

		word = take_word(&c);
		if (is_time(word, &head->time_ns) && has_task) {
			read_event(&c, head);
			return true;
		}
		if (is_cpu(word, &head->cpu)) {
			head->has_cpu = true;
		} else if (is_task(word, &pid, &tid)) {
			has_task = true;
			head->pid = pid;
			head->tid = tid;
			head->comm = (struct bytes){ line.data, from };
		}
	}
	return false;
}

static int begin_sample(struct reader *r, const struct head *head)
{
	struct bytes comm = head->comm;

	while (comm.len > 0 && is_blank(comm.data[comm.len - 1]))
		comm.len--;
	r->open = true;
	r->len = 0;
	r->time_ns = head->time_ns;
	r->cpu = head->has_cpu ? (uint32_t)head->cpu : PROFILE_NO_CPU;
	r->labels = (struct profile_labels){
		.pid = (int32_t)head->pid, .tid = (int32_t)head->tid, .cpu = -1
	};
	if (r->out->period_ns == 0)
		r->out->period_ns = head->period_ns;
	return strtab_put(&r->out->strings, (const char *)comm.data, comm.len, &r->labels.comm);
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

static enum profile_class class_of(struct bytes symbol, struct bytes module)
{
	static const char *const user[] = { "[vdso]", "[unknown]", "[heap]", "[stack]", "[anon]" };

	if (is_text(symbol, "[truncated]"))
		return PROFILE_MARK;
	if (begins_with(module, "/tmp/perf-") || begins_with(last_part(module), "jitted-"))
		return PROFILE_JIT;
	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
		if (is_text(module, user[i]))
			return PROFILE_NATIVE;
	return begins_with(module, "[") || ends_with(module, ".ko") || ends_with(module, "vmlinux")
		? PROFILE_KERNEL
		: PROFILE_NATIVE;
}

/* Perf text has `_` in a module for what readers would split at. */
static bool is_module(struct bytes name, struct bytes module)
{
	for (size_t i = 0; i < name.len && i < module.len; i++)
		if (name.data[i] != module.data[i] && module.data[i] != '_')
			return false;
	return name.len == module.len;
}

/* Without +0xOFF at its end; but a place without a name is called MODULE+0xOFF, or [anon]+0xOFF. */
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
	return begins_with(name, "[") || is_module(name, module) ? symbol : name;
}

static int put_module(struct reader *r, enum profile_class class, struct bytes module,
	struct profile_frame *frame)
{
	bool bare = class == PROFILE_JIT || class == PROFILE_MARK ||
		begins_with(module, "[kernel.kallsyms") || is_text(module, "[unknown]");
	struct bytes name = last_part(module);

	if (class == PROFILE_KERNEL && name.len > 2 && name.data[0] == '[')
		name = (struct bytes){ name.data + 1, name.len - 2 };
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

static bool take_hex(struct bytes word, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";

	*out = 0;
	for (size_t i = 0; i < word.len; i++) {
		const char *digit = word.data[i] ? strchr(digits, word.data[i] | 0x20) : NULL;

		if (!digit || word.len > 16)
			return false;
		*out = *out << 4 | (uint64_t)(digit - digits);
	}
	return word.len > 0;
}

/* SYMBOL (MODULE) */
static void split_frame(struct bytes text, struct bytes *symbol, struct bytes *module)
{
	size_t open = text.len;

	*symbol = text;
	*module = (struct bytes){ text.data, 0 };
	if (ends_with(text, DELETED ")"))
		open = text.len -= strlen(DELETED);
	else if (text.len == 0 || text.data[text.len - 1] != ')')
		return;
	while (open > 0 && text.data[open - 1] != '(')
		open--;
	if (open == 0 || (open > 1 && !is_blank(text.data[open - 2])))
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
	if (!r->open || !take_hex(take_word(&c), &frame.address))
		return false;
	while (cursor_left(&c) > 0 && is_blank(*c.at))
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
	err = profile_stack(r->out, r->frames, r->len, &stack);
	if (err == 0)
		err = profile_labels(r->out, &r->labels, &labels);
	if (err == 0)
		err = profile_tick(r->out, stack, labels, r->cpu, r->time_ns);
	r->counts->samples += err == 0;
	return err;
}

/* Of our own: what times are counted from. */
static void read_comment(struct reader *r, struct bytes line)
{
	static const char words[] = "# started at : ";
	struct cursor c = cursor_init(line.data, line.len);
	struct bytes start;

	if (!begins_with(line, words))
		return;
	cursor_skip(&c, strlen(words));
	start = cursor_bytes(&c, cursor_left(&c));
	if (!read_time(start, &r->out->start_tick_ns))
		r->out->start_tick_ns = 0;
}

/* False: it is neither. */
static bool read_line(struct reader *r, struct bytes line, int *err)
{
	struct head head;

	*err = 0;
	if (line.len == 0) {
		*err = end_sample(r);
		return true;
	}
	if (line.data[0] == '#' && !r->open) {
		read_comment(r, line);
		return true;
	}
	if (is_blank(line.data[0]) && read_frame(r, line, err))
		return true;
	/* perf puts blanks before a short comm. */
	if (!read_head(line, &head))
		return false;
	*err = end_sample(r);
	while (head.comm.len > 0 && is_blank(head.comm.data[0]))
		head.comm = (struct bytes){ head.comm.data + 1, head.comm.len - 1 };
	if (*err == 0)
		*err = begin_sample(r, &head);
	/* Such a sample is whole: the next line may be a program's called `dd`, which reads as hex.
	 */
	if (*err == 0 && ends_with(head.behind, ")") && read_frame(r, head.behind, err) &&
		*err == 0)
		*err = end_sample(r);
	return true;
}

bool perf_looks_like(struct bytes text)
{
	struct cursor c = cursor_init(text.data, text.len);
	struct head head;

	for (int i = 0; i < PROBE_LINES && cursor_left(&c) > 0; i++) {
		struct bytes line = take_line(&c);

		if (i == 0 && is_text(line, "# ========"))
			return true;
		if (line.len > 0 && line.data[0] != '#')
			return read_head(line, &head);
	}
	return false;
}

int perf_read(struct bytes text, struct profile *out, struct perf_counts *counts)
{
	struct reader r = { .out = out, .counts = counts };
	struct cursor c = cursor_init(text.data, text.len);
	uint64_t number = 0;
	int err = 0;

	*counts = (struct perf_counts){ 0 };
	while (err == 0 && cursor_left(&c) > 0) {
		number++;
		if (!read_line(&r, take_line(&c), &err) && counts->bad++ == 0)
			counts->bad_at = number;
	}
	if (err == 0)
		err = end_sample(&r);
	profile_sort(out);
	if (out->ticks.len > 0 && out->start_tick_ns > out->ticks.data[0].time_ns)
		out->start_tick_ns = 0;
	if (out->ticks.len > 0)
		out->duration_ns = out->ticks.data[out->ticks.len - 1].time_ns -
			out->ticks.data[0].time_ns + out->period_ns;
	buf_done(&r.name);
	return err;
}
