/* SPDX-License-Identifier: Apache-2.0 */
/* proc/load.c - parses words and numbers. A number that overflows is an error, like a missing one:
 * a trap that compares with it would fire by chance. */
#include "proc/load.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

#define BUSY_NUMBERS 7   /* user nice system idle iowait irq softirq; steal and guest follow */
#define BUSY_IDLE 3      /* and the next */
#define SCHEDSTAT_WAIT 7 /* of a cpu's line (version 15 and later): run_delay */

/* The next line without its end; false: there is none. */
static bool next_line(struct cursor *c, struct cursor *line)
{
	size_t len = cursor_left(c);
	const uint8_t *end = len > 0 ? memchr(c->at, '\n', len) : NULL;

	if (len == 0)
		return false;
	*line = cursor_sub(c, end ? (size_t)(end - c->at) : len);
	if (end)
		cursor_skip(c, 1);
	return true;
}

/* The next run of bytes that are no blanks; its length 0: there is none. */
static struct bytes next_word(struct cursor *line)
{
	size_t len = 0;

	while (cursor_left(line) > 0 && *line->at == ' ')
		cursor_skip(line, 1);
	while (len < cursor_left(line) && line->at[len] != ' ')
		len++;
	return cursor_bytes(line, len);
}

static bool is_word(struct bytes word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.data, text, word.len) == 0;
}

static int parse_number(struct bytes word, uint64_t *out)
{
	uint64_t n = 0;

	if (word.len == 0)
		return -EBADMSG;
	for (size_t i = 0; i < word.len; i++) {
		if (word.data[i] < '0' || word.data[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(word.data[i] - '0'), &n))
			return -EBADMSG;
	}
	*out = n;
	return 0;
}

int load_parse_key(const char *text, size_t len, const char *key, uint64_t *out)
{
	struct cursor c = cursor_init(text, len), line;

	while (next_line(&c, &line))
		if (is_word(next_word(&line), key))
			return parse_number(next_word(&line), out);
	return -EBADMSG;
}

static int skip_words(struct cursor *line, unsigned int n)
{
	while (n-- > 0)
		if (next_word(line).len == 0)
			return -EBADMSG;
	return 0;
}

int load_parse_number(const char *text, size_t len, unsigned int n, uint64_t *out)
{
	struct cursor c = cursor_init(text, len), line;
	int err = next_line(&c, &line) ? skip_words(&line, n) : -EBADMSG;

	return err < 0 ? err : parse_number(next_word(&line), out);
}

int load_parse_pressure(const char *text, size_t len, uint64_t *us)
{
	static const char total[] = "total=";
	struct cursor c = cursor_init(text, len), line;
	struct bytes word;

	while (next_line(&c, &line)) {
		if (!is_word(next_word(&line), "some"))
			continue;
		while ((word = next_word(&line)).len > 0) {
			size_t skip = sizeof(total) - 1;

			if (word.len > skip && memcmp(word.data, total, skip) == 0)
				return parse_number(
					(struct bytes){ word.data + skip, word.len - skip }, us);
		}
	}
	return -EBADMSG;
}

int load_parse_busy(const char *text, size_t len, uint64_t *ticks)
{
	struct cursor c = cursor_init(text, len), line;
	uint64_t sum = 0, n;

	if (!next_line(&c, &line) || !is_word(next_word(&line), "cpu"))
		return -EBADMSG;
	for (int i = 0; i < BUSY_NUMBERS; i++) {
		if (parse_number(next_word(&line), &n) < 0)
			return -EBADMSG;
		if (i != BUSY_IDLE && i != BUSY_IDLE + 1 && __builtin_add_overflow(sum, n, &sum))
			return -EBADMSG;
	}
	*ticks = sum;
	return 0;
}

int load_parse_waited(const char *text, size_t len, uint64_t *ns)
{
	struct cursor c = cursor_init(text, len), line;
	uint64_t sum = 0, n;
	bool any = false;

	while (next_line(&c, &line)) {
		struct bytes word = next_word(&line);

		if (word.len < 4 || memcmp(word.data, "cpu", 3) != 0)
			continue;
		if (skip_words(&line, SCHEDSTAT_WAIT) < 0 ||
			parse_number(next_word(&line), &n) < 0 ||
			__builtin_add_overflow(sum, n, &sum))
			return -EBADMSG;
		any = true;
	}
	if (!any)
		return -EBADMSG;
	*ns = sum;
	return 0;
}
