/* SPDX-License-Identifier: Apache-2.0 */
/* profile/folded_reader.c - parses line by line. Malformed lines are skipped and counted, because
 * other programs' output may be mixed in. */
#include "profile/folded_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "profile/words.h"

#define COUNT_MAX (1ULL << 53) /* what every format that we write can hold exactly */

struct folded_reader {
	struct profile *out;
	uint32_t labels;                        /* of all samples: nothing is known */
	uint64_t total;                         /* of the lines that were taken */
	uint32_t root_first[FOLDED_FRAMES_MAX]; /* of the line */
	uint32_t leaf_first[FOLDED_FRAMES_MAX];
};

/* Up to the byte, which is passed over; all that is left where there is none. */
static struct bytes take_until(struct cursor *c, uint8_t end)
{
	const uint8_t *at = memchr(c->at, end, cursor_left(c));
	struct bytes part = cursor_bytes(c, at ? (size_t)(at - c->at) : cursor_left(c));

	if (at)
		cursor_skip(c, 1);
	return part;
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Digits, and a fraction at most. */
static bool read_count(struct bytes text, uint64_t *count)
{
	struct cursor c = cursor_init(text.data, text.len);
	bool dot = false;
	uint64_t value = 0;
	size_t digits = 0;

	for (; cursor_left(&c) > 0; digits++) {
		uint8_t digit = cursor_u8(&c);

		dot = digit == '.';
		if (dot)
			break;
		if (!is_digit(digit) || value >= COUNT_MAX / 10)
			return false;
		value = value * 10 + (uint64_t)(digit - '0');
	}
	for (bool first = true; dot && cursor_left(&c) > 0; first = false) {
		uint8_t digit = cursor_u8(&c);

		if (!is_digit(digit))
			return false;
		value += first && digit >= '5';
	}
	*count = value;
	return digits > 0;
}

/* `STACK COUNT` at its last blank. */
static bool split_line(struct bytes line, struct bytes *stack, uint64_t *count)
{
	const uint8_t *blank = memrchr(line.data, ' ', line.len);

	if (!blank || blank == line.data)
		return false;
	*stack = (struct bytes){ line.data, (size_t)(blank - line.data) };
	return read_count((struct bytes){ blank + 1, line.len - stack->len - 1 }, count);
}

static enum profile_class class_of(struct bytes *name)
{
	static const struct {
		const char *suffix;
		enum profile_class class;
	} suffixes[] = {
		{ "_[k]", PROFILE_KERNEL },
		{ "_[j]", PROFILE_JIT },
		{ "_[i]", PROFILE_INLINED },
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (name->len > 4 &&
			memcmp(name->data + name->len - 4, suffixes[i].suffix, 4) == 0) {
			name->len -= 4;
			return suffixes[i].class;
		}
	}
	return name->len == 11 && memcmp(name->data, "[truncated]", 11) == 0 ? PROFILE_MARK
									     : PROFILE_NATIVE;
}

static int put_frame(struct profile *out, struct bytes name, uint32_t *id)
{
	struct profile_frame frame = { .class = class_of(&name) };
	int err = strtab_put(&out->strings, (const char *)name.data, name.len, &frame.name);

	return err < 0 ? err : profile_frame(out, &frame, id);
}

/* -E2BIG: more frames than a stack may have. */
static int put_stack(struct folded_reader *r, struct bytes text, uint32_t *id)
{
	struct cursor c = cursor_init(text.data, text.len);
	uint32_t len = 0;

	while (cursor_left(&c) > 0) {
		struct bytes name = take_until(&c, ';');
		int err;

		if (name.len == 0)
			continue;
		if (len == FOLDED_FRAMES_MAX)
			return -E2BIG;
		err = put_frame(r->out, name, &r->root_first[len++]);
		if (err < 0)
			return err;
	}
	for (uint32_t i = 0; i < len; i++)
		r->leaf_first[i] = r->root_first[len - 1 - i];
	return profile_stack(r->out, r->leaf_first, len, id);
}

int folded_reader_add(struct folded_reader *r, struct bytes stack, uint32_t labels, uint64_t count)
{
	uint32_t id;
	int err = put_stack(r, stack, &id);

	return err == 0 && count > 0 ? profile_add(r->out, id, labels, count) : err;
}

static bool is_blank(struct bytes line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] != ' ' && line.data[i] != '\t')
			return false;
	return true;
}

/* 1: taken; 0: no folded line. */
static int take_line(struct folded_reader *r, struct bytes line)
{
	struct bytes stack;
	uint64_t count;
	int err;

	if (!split_line(line, &stack, &count) || count > COUNT_MAX - r->total)
		return 0;
	err = folded_reader_add(r, stack, r->labels, count);
	r->total += err == 0 ? count : 0;
	return err == -E2BIG ? 0 : err < 0 ? err : 1;
}

static int take_lines(struct folded_reader *r, struct cursor *c, struct folded_counts *counts)
{
	for (uint64_t number = 1; cursor_left(c) > 0; number++) {
		struct bytes line = words_line(c);
		int taken;

		if (is_blank(line) || line.data[0] == '#') {
			counts->skipped++;
			continue;
		}
		taken = take_line(r, line);
		if (taken < 0)
			return taken;
		counts->lines += taken == 1;
		counts->bad += taken == 0;
		if (taken == 0 && counts->bad == 1)
			counts->bad_at = number;
	}
	return 0;
}

int folded_reader_new(struct profile *out, struct folded_reader **reader)
{
	struct folded_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->out = out;
	*reader = r;
	return 0;
}

void folded_reader_free(struct folded_reader *reader)
{
	free(reader);
}

int folded_read(struct bytes text, struct profile *out, struct folded_counts *counts)
{
	struct cursor c = cursor_init(text.data, text.len);
	struct folded_reader *r;
	int err = folded_reader_new(out, &r);

	*counts = (struct folded_counts){ 0 };
	if (err < 0)
		return err;
	err = profile_labels(
		out, &(struct profile_labels){ .pid = -1, .tid = -1, .cpu = -1 }, &r->labels);
	err = err < 0 ? err : take_lines(r, &c, counts);
	folded_reader_free(r);
	return err;
}
