/* SPDX-License-Identifier: Apache-2.0 */
/* sink/markup.c - writes the five characters with a meaning in markup (XML 1.0 §2.4) as references,
 * and all others as they are. */
#include "sink/markup.h"

#include <stdio.h>
#include <string.h>

static const char *reference(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void markup_put(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *instead = reference(text[i]);

		if (instead)
			buf_puts(out, instead);
		else
			buf_putc(out, text[i]);
	}
}

void markup_puts(struct buf *out, const char *text)
{
	markup_put(out, text, strlen(text));
}

const char *markup_count(uint64_t count, char room[MARKUP_COUNT_MAX])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *at = room;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return room;
}
