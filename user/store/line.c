/* SPDX-License-Identifier: Apache-2.0 */
/* store/line.c - the count comes after the last blank, because frames may have blanks too. */
#include "store/line.h"

#include <string.h>

#include "profile/marks.h"

static bool parse_count(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
	uint64_t count = 0;

	if (at == end)
		return false;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9' || count > (UINT64_MAX - 9) / 10)
			return false;
		count = count * 10 + (uint64_t)(*at - '0');
	}
	*out = count;
	return true;
}

bool line_read(struct cursor *c, struct line *out)
{
	size_t left = cursor_left(c);
	const uint8_t *start = c->at;
	const uint8_t *end = left > 0 ? memchr(start, '\n', left) : NULL;
	const uint8_t *blank = end ? memrchr(start, ' ', (size_t)(end - start)) : NULL;

	if (!blank || !parse_count(blank + 1, end, &out->count))
		return false;
	out->stack = (struct bytes){ start, (size_t)(blank - start) };
	cursor_skip(c, (size_t)(end - start) + 1);
	return true;
}

bool line_take_idle(struct bytes *stack)
{
	static const char mark[] = ";" PROFILE_IDLE;
	const size_t len = sizeof(mark) - 1;

	if (stack->len <= len || memcmp(stack->data + stack->len - len, mark, len) != 0)
		return false;
	stack->len -= len;
	return true;
}

struct bytes line_frame(struct bytes *stack)
{
	const uint8_t *end = stack->len > 0 ? memchr(stack->data, ';', stack->len) : NULL;
	struct bytes frame = { stack->data, end ? (size_t)(end - stack->data) : stack->len };

	stack->data += end ? frame.len + 1 : frame.len;
	stack->len -= end ? frame.len + 1 : frame.len;
	return frame;
}
