/* SPDX-License-Identifier: Apache-2.0 */
/* profile/perf_head.c - a comm may contain anything, so a head is found by its time: the first
 * number with a fraction and a colon after a PID. Without times, a head is a PID and an event at
 * the end of a line. The comm is all before the PID. A symbol may contain anything too, and a comm
 * may read as an address: such a line is a head only if its whole shape is that of one. */
#include "profile/perf_head.h"

#include <string.h>

#include "profile/profile.h"
#include "profile/words.h"

#define NS_DIGITS 9
#define COLUMNS_MAX 2 /* words between the task and the time, beside the CPU: mode, time of day */
#define COMM_BYTES_MAX 15 /* TASK_COMM_LEN without its end */
#define SECONDS_MAX (UINT64_MAX / 1000000000ULL - 1)

static bool take_byte(struct cursor *c, uint8_t byte)
{
	if (cursor_left(c) == 0 || *c->at != byte)
		return false;
	cursor_skip(c, 1);
	return true;
}

bool perf_head_seconds(struct bytes word, uint64_t *ns)
{
	struct cursor c = cursor_init(word.data, word.len);
	uint64_t seconds, part = 0;
	size_t digits = 0;

	if (!words_number(&c, &seconds) || seconds > SECONDS_MAX || !take_byte(&c, '.'))
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

	return colon && perf_head_seconds((struct bytes){ word.data, word.len - 1 }, ns);
}

/* PID or PID/TID */
static bool is_task(struct bytes word, uint64_t *pid, uint64_t *tid)
{
	struct cursor c = cursor_init(word.data, word.len);

	if (!words_number(&c, pid))
		return false;
	*tid = *pid;
	if (cursor_left(&c) > 0 && (!take_byte(&c, '/') || !words_number(&c, tid)))
		return false;
	return cursor_left(&c) == 0 && *pid <= INT32_MAX && *tid <= INT32_MAX;
}

static bool is_cpu(struct bytes word, uint64_t *cpu)
{
	struct cursor c = cursor_init(word.data, word.len);

	return take_byte(&c, '[') && words_number(&c, cpu) && take_byte(&c, ']') &&
		cursor_left(&c) == 0 && *cpu < PROFILE_NO_CPU;
}

/* PERIOD EVENT: after the time. The period of a clock is in nanoseconds, that of another event is a
 * number of events, which perf changes while it records. */
static void read_event(struct cursor *c, struct perf_head *head)
{
	struct cursor rest = *c;
	struct bytes word = words_next(&rest);
	struct cursor period = cursor_init(word.data, word.len);
	uint64_t value = 0;

	if (words_number(&period, &value) && cursor_left(&period) == 0) {
		*c = rest;
		word = words_next(&rest);
	}
	if (word.len > 1 && word.data[word.len - 1] == ':') {
		*c = rest;
		head->event = (struct bytes){ word.data, word.len - 1 };
	}
	head->period = value;
	if (words_begins(head->event, "cpu-clock") || words_begins(head->event, "task-clock"))
		head->period_ns = value;
	head->frame = cursor_bytes(c, cursor_left(c));
}

/* The last parentheses of a frame hold its module, which may be any path. */
static bool is_in_module(struct bytes line, size_t at)
{
	const uint8_t *open = words_ends(line, ")") ? memrchr(line.data, '(', line.len) : NULL;

	return open && (size_t)(open - line.data) < at;
}

/* After the time is an event, or the end of the line, or a place where events are not printed, or
 * another record. */
static bool ends_as_head(const struct perf_head *head)
{
	struct cursor c = cursor_init(head->frame.data, head->frame.len);
	struct bytes word = words_next(&c);
	uint64_t address;

	return head->event.len > 0 || word.len == 0 || words_hex(word, &address) ||
		words_begins(word, "PERF_RECORD_");
}

/* A thread may have no name: then an address and a time begin a symbol, if a module ends the line.
 */
static bool begins_as_head(struct bytes line, const struct perf_head *head)
{
	return head->comm.len <= COMM_BYTES_MAX &&
		(head->comm.len > 0 || head->has_cpu || !words_ends(line, ")"));
}

/* With a time: of several words that could be a task, the last before the CPU and the time is it.
 */
static bool read_timed(struct bytes line, struct perf_head *head)
{
	struct cursor c = cursor_init(line.data, line.len);
	bool has_task = false;
	uint32_t columns = 0;

	*head = (struct perf_head){ 0 };
	while (cursor_left(&c) > 0) {
		size_t from = cursor_offset(&c);
		struct bytes word = words_next(&c);
		uint64_t pid, tid;

		if (has_task && is_time(word, &head->time_ns)) {
			head->has_time = true;
			read_event(&c, head);
			head->is_whole = columns <= COLUMNS_MAX && ends_as_head(head) &&
				!is_in_module(line, head->comm.len);
			return true;
		}
		if (is_cpu(word, &head->cpu)) {
			head->has_cpu = true;
		} else if (is_task(word, &pid, &tid)) {
			has_task = true;
			columns = 0;
			head->pid = pid;
			head->tid = tid;
			head->comm = (struct bytes){ line.data, from };
		} else {
			columns++;
		}
	}
	return false;
}

/* Without a time: TASK [CPU] PERIOD EVENT: end the line. */
static bool read_timeless(struct bytes line, struct perf_head *head)
{
	struct cursor c = cursor_init(line.data, line.len);
	uint32_t numbers = 0;

	*head = (struct perf_head){ 0 };
	while (cursor_left(&c) > 0) {
		size_t from = cursor_offset(&c);
		struct bytes word = words_next(&c);
		uint64_t pid, tid;

		if (is_cpu(word, &head->cpu)) {
			head->has_cpu = numbers > 0;
		} else if (!is_task(word, &pid, &tid)) {
			if (numbers > 0 && word.len > 1 && words_ends(word, ":") &&
				words_next(&c).len == 0) {
				head->event = (struct bytes){ word.data, word.len - 1 };
				head->frame = cursor_bytes(&c, 0);
				head->is_whole = true;
				return true;
			}
			numbers = 0;
		} else if (numbers++ == 0) {
			head->pid = pid;
			head->tid = tid;
			head->comm = (struct bytes){ line.data, from };
		}
	}
	return false;
}

/* Most frames have no word that ends so, which is found out soon. */
static bool has_colon(struct bytes line)
{
	struct cursor c = cursor_init(line.data, line.len);
	const uint8_t *at;

	while (cursor_left(&c) > 0 && (at = memchr(c.at, ':', cursor_left(&c)))) {
		cursor_skip(&c, (size_t)(at - c.at) + 1);
		if (cursor_left(&c) == 0 || words_is_blank(*c.at))
			return true;
	}
	return false;
}

bool perf_head_read(struct bytes line, struct perf_head *head)
{
	struct bytes *comm = &head->comm;

	if (!has_colon(line) || (!read_timed(line, head) && !read_timeless(line, head)))
		return false;
	while (comm->len > 0 && words_is_blank(comm->data[0]))
		*comm = (struct bytes){ comm->data + 1, comm->len - 1 };
	while (comm->len > 0 && words_is_blank(comm->data[comm->len - 1]))
		comm->len--;
	head->is_whole = head->is_whole && begins_as_head(line, head);
	return true;
}
