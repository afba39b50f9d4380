/* SPDX-License-Identifier: Apache-2.0 */
/* profile/folded_reader.c - parses line by line, twice: the longest fraction of the first pass
 * gives the scale of the second, so that all counts are whole numbers. Malformed lines are skipped
 * and counted, because other programs' output may be mixed in. */
#include "profile/folded_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "profile/words.h"

struct folded_reader {
	struct profile *out;
	struct bytes keys[FOLDED_KEYS_MAX]; /* of the frames that are labels */
	uint32_t keys_len;
	bool head;                         /* the next line may name the labels */
	uint32_t kind;                     /* of the lines; PROFILE_NO_KIND: they are skipped */
	uint64_t factor;                   /* a value of the kind is a count times this */
	uint64_t totals[PROFILE_KINDS_MAX]; /* of the lines that were taken */
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

struct count {
	uint64_t whole;
	uint32_t millionths;
	uint32_t digits; /* of the fraction, without zeros at its end */
	bool rounded;
};

static bool read_fraction(struct cursor *c, struct count *count)
{
	uint32_t unit = 1000000;
	bool up = false;

	for (uint32_t i = 1; cursor_left(c) > 0; i++) {
		uint8_t digit = cursor_u8(c);

		if (!is_digit(digit))
			return false;
		unit /= 10;
		count->millionths += (uint32_t)(digit - '0') * unit;
		if (digit != '0' && i <= FOLDED_DIGITS_MAX)
			count->digits = i;
		up |= i == FOLDED_DIGITS_MAX + 1 && digit >= '5';
		count->rounded |= i > FOLDED_DIGITS_MAX && digit != '0';
	}
	if (count->rounded)
		count->digits = FOLDED_DIGITS_MAX;
	count->millionths += up;
	if (count->millionths == 1000000) {
		count->millionths = 0;
		count->whole++;
	}
	return true;
}

/* Digits, and a fraction at most. */
static bool read_count(struct bytes text, struct count *count)
{
	struct cursor c = cursor_init(text.data, text.len);

	*count = (struct count){ 0 };
	if (!words_number(&c, &count->whole))
		return false;
	return cursor_left(&c) == 0 || (cursor_u8(&c) == '.' && read_fraction(&c, count));
}

/* `STACK COUNT` at its last blank. */
static bool split_line(struct bytes line, struct bytes *stack, struct count *count)
{
	const uint8_t *blank = memrchr(line.data, ' ', line.len);

	if (!blank || blank == line.data)
		return false;
	*stack = (struct bytes){ line.data, (size_t)(blank - line.data) };
	return read_count((struct bytes){ blank + 1, line.len - stack->len - 1 }, count);
}

static enum profile_class class_of(struct bytes *name)
{
	const char *text = (const char *)name->data;
	enum profile_class class = profile_folded_class(text, name->len);

	if (class != PROFILE_NATIVE)
		name->len -= PROFILE_FOLDED_CLASS_LEN;
	else if (profile_is_mark(text, name->len))
		class = PROFILE_MARK;
	return class;
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

int folded_reader_add(struct folded_reader *r, struct bytes stack, uint32_t labels, uint32_t kind,
	uint64_t count)
{
	uint32_t id;
	int err = put_stack(r, stack, &id);

	return err == 0 && count > 0 ? profile_add_kind(r->out, id, labels, kind, count) : err;
}

/* ---- labels -----------------------------------------------------------------------------------
 */

static bool add_key(struct folded_reader *r, struct bytes word)
{
	const char *name;
	size_t len;

	if (r->keys_len == FOLDED_KEYS_MAX ||
		!profile_key_word((const char *)word.data, word.len, &name, &len))
		return false;
	for (uint32_t i = 0; i < r->keys_len; i++)
		if (r->keys[i].len == len && memcmp(r->keys[i].data, name, len) == 0)
			return false;
	r->keys[r->keys_len++] = (struct bytes){ (const uint8_t *)name, len };
	return true;
}

/* Is the line the one that names the labels? */
static bool take_keys(struct folded_reader *r, struct bytes line, struct folded_counts *counts)
{
	struct cursor c = cursor_init(line.data, line.len);
	struct bytes keys;
	struct cursor names;

	if (!words_begins(line, FOLDED_LABELS) || !words_ends(line, " 0"))
		return false;
	cursor_skip(&c, strlen(FOLDED_LABELS));
	keys = take_until(&c, ' ');
	names = cursor_init(keys.data, keys.len);
	if (keys.len >= sizeof(counts->labels))
		return false;
	while (cursor_left(&names) > 0) {
		if (!add_key(r, take_until(&names, ','))) {
			r->keys_len = 0;
			return false;
		}
	}
	if (counts->labels[0] == '\0')
		memcpy(counts->labels, keys.data, keys.len);
	return true;
}

/* The kind of a line `# stoker kind: NAME UNIT PERIOD_NS 0`. The first may be the profile's kind
 * 0. */
static int set_kind(
	struct folded_reader *r, struct bytes name, struct bytes unit, uint64_t period_ns)
{
	struct profile *p = r->out;
	bool fresh = p->kinds_len == 1 && p->samples.len == 0 && p->kinds[0].name == 0;
	struct profile_kind *kind;
	int err = fresh && !words_is(name, PROFILE_CPU)
		? strtab_put(&p->strings, (const char *)name.data, name.len, &p->kinds[0].name)
		: 0;

	if (err == 0)
		err = profile_kind(p, (const char *)name.data, name.len, &r->kind);
	if (err == -ENOSPC)
		r->kind = PROFILE_NO_KIND;
	if (err < 0)
		return err == -ENOSPC ? 0 : err;
	kind = &p->kinds[r->kind];
	kind->scale = p->kinds[0].scale;
	kind->period_ns = period_ns;
	r->factor = words_is(unit, PROFILE_MICROSECONDS) ? FOLDED_TIME_NS : 1;
	if (r->factor > 1)
		return strtab_put(&p->strings, PROFILE_NANOSECONDS, strlen(PROFILE_NANOSECONDS),
			&kind->unit);
	return words_is(unit, PROFILE_SAMPLES)
		? 0
		: strtab_put(&p->strings, (const char *)unit.data, unit.len, &kind->unit);
}

/* 1: the line names a kind, and the labels are unknown again. */
static int take_kind(struct folded_reader *r, struct bytes line)
{
	struct cursor c = cursor_init(line.data, line.len), number;
	struct bytes name, unit, period, end;
	uint64_t period_ns;
	int err;

	if (!words_begins(line, FOLDED_KIND))
		return 0;
	cursor_skip(&c, strlen(FOLDED_KIND));
	name = words_next(&c);
	unit = words_next(&c);
	period = words_next(&c);
	end = words_next(&c);
	number = cursor_init(period.data, period.len);
	if (name.len == 0 || unit.len == 0 || !words_number(&number, &period_ns) ||
		cursor_left(&number) > 0 || !words_is(end, "0") || cursor_left(&c) > 0)
		return 0;
	r->keys_len = 0;
	r->head = true;
	err = set_kind(r, name, unit, period_ns);
	return err < 0 ? err : 1;
}

/* 1: the line is one of those before the stacks. */
static int take_head(struct folded_reader *r, struct bytes line, struct folded_counts *counts)
{
	bool head = r->head;

	r->head = false;
	if (head && take_keys(r, line, counts))
		return 1;
	return take_kind(r, line);
}

/* `?` is what folded text has for an unknown label. */
static int set_label(struct folded_reader *r, struct bytes key, struct bytes value,
	struct profile_labels *labels)
{
	if (words_is(value, "?"))
		return 0;
	return profile_labels_put(r->out, labels, (const char *)key.data, key.len,
		(const char *)value.data, value.len);
}

/* Takes the frames that are labels from the stack. -E2BIG: there are fewer. */
static int take_labels(struct folded_reader *r, struct bytes *stack, uint32_t *id)
{
	struct profile_labels labels = { 0 };
	struct cursor c = cursor_init(stack->data, stack->len);
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < r->keys_len; i++)
		err = cursor_left(&c) == 0 ? -E2BIG
					   : set_label(r, r->keys[i], take_until(&c, ';'), &labels);
	*stack = cursor_bytes(&c, cursor_left(&c));
	return err < 0 ? err : profile_labels(r->out, &labels, id);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static bool is_skipped(struct bytes line)
{
	struct count count;
	struct bytes stack;
	size_t i = 0;

	while (i < line.len && words_is_blank(line.data[i]))
		i++;
	if (i == line.len)
		return true;
	return line.data[0] == '#' &&
		(line.len == 1 || line.data[1] == ' ' || !split_line(line, &stack, &count));
}

/* A comment with a frame separator and a count, which flamegraph.pl draws. */
static bool reads_as_stack(struct bytes line)
{
	struct bytes stack;
	struct count count;

	return !words_begins(line, FOLDED_LABELS) && !words_begins(line, FOLDED_KIND) &&
		split_line(line, &stack, &count) &&
		memchr(stack.data, ';', stack.len);
}

/* 1: taken; 0: no folded line; -ERANGE: its count is too large. */
static int take_line(struct folded_reader *r, struct bytes line, struct folded_counts *counts)
{
	struct bytes stack, again;
	struct count count, before;
	uint32_t labels, scale = r->out->kinds[0].scale;
	uint64_t value, *total;
	int err;

	if (!split_line(line, &stack, &count))
		return 0;
	value = count.whole * scale + count.millionths / (1000000 / scale);
	if (r->kind == PROFILE_NO_KIND) {
		counts->no_kind++;
		return 1;
	}
	total = &r->totals[r->kind];
	if (count.whole > FOLDED_SUM_MAX / scale || value > FOLDED_SUM_MAX - *total)
		return -ERANGE;
	counts->rounded += count.rounded;
	counts->pairs += split_line(stack, &again, &before);
	err = take_labels(r, &stack, &labels);
	err = err < 0 ? err : folded_reader_add(r, stack, labels, r->kind, value * r->factor);
	*total += err == 0 ? value : 0;
	return err == -E2BIG ? 0 : err < 0 ? err : 1;
}

static int take_lines(struct folded_reader *r, struct cursor *c, struct folded_counts *counts)
{
	for (uint64_t number = 1; cursor_left(c) > 0; number++) {
		struct bytes line = words_line(c);
		int taken = take_head(r, line, counts);

		if (taken < 0)
			return taken;
		if (taken > 0 || is_skipped(line)) {
			counts->skipped++;
			counts->comments += reads_as_stack(line);
			continue;
		}
		taken = take_line(r, line, counts);
		if (taken == -ERANGE)
			counts->large_at = number;
		if (taken < 0)
			return taken;
		counts->lines += taken == 1;
		counts->bad += taken == 0;
		if (taken == 0 && counts->bad == 1)
			counts->bad_at = number;
		if (counts->pairs > 0 && counts->pairs_at == 0)
			counts->pairs_at = number;
	}
	return 0;
}

/* The power of ten that makes a whole number of the longest fraction. */
static uint32_t find_scale(struct cursor c)
{
	uint32_t digits = 0, scale = 1;

	while (cursor_left(&c) > 0) {
		struct bytes line = words_line(&c), stack;
		struct count count;

		if (!is_skipped(line) && split_line(line, &stack, &count) && count.digits > digits)
			digits = count.digits;
	}
	while (digits-- > 0)
		scale *= 10;
	return scale;
}

int folded_reader_new(struct profile *out, struct folded_reader **reader)
{
	struct folded_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->out = out;
	r->factor = 1;
	r->head = true;
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
	profile_set_scale(out, 0, find_scale(c));
	err = take_lines(r, &c, counts);
	folded_reader_free(r);
	return err;
}
