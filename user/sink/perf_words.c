/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_words.c - the rules of the readers.
 * Comms: FlameGraph and speedscope want two characters or more, and take the first number after a
 * blank for the PID. PerfView ends a comm before a `/` and a digit, or before ` [`; it ends one
 * that begins with a digit also without a blank, and one that begins with `:` or `-` at the first
 * blank. No reader takes a line that begins with a blank or `#`. Modules: all readers split a line
 * at the last ` (`. */
#include "sink/perf_words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/utf8.h"

#define DELETED " (deleted)"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void replace(char *text, char from, char to)
{
	for (; *text; text++)
		if (*text == from)
			*text = to;
}

/* Is there a blank that may be taken for the comm's end? */
static bool blank_misleads(const char *comm)
{
	if (comm[0] == ' ' || comm[0] == ':' || comm[0] == '-' || comm[strlen(comm) - 1] == ' ')
		return true;
	for (const char *c = comm; *c; c++)
		if (c[0] == ' ' && (is_digit(c[1]) || c[1] == '['))
			return true;
	return false;
}

static void mend_comm(char *comm)
{
	if (blank_misleads(comm))
		replace(comm, ' ', '_');
	if (comm[0] == '#')
		comm[0] = '_';
	if (!is_digit(comm[0]))
		return;
	replace(comm, '[', '_');
	for (char *c = comm; *c; c++)
		if (c[0] == '/' && is_digit(c[1]))
			*c = '_';
}

void perf_words_comm(struct buf *out, const char *comm, int32_t pid)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	if (!*comm) {
		buf_printf(out, ":%d ", pid < 0 ? 0 : pid);
		return;
	}
	if (buf_fail(out, utf8_put_clean(&clean, comm)) < 0)
		return;
	mend_comm(clean.data);
	buf_puts(out, clean.data);
	buf_puts(out, utf8_char_len(clean.data) == clean.len ? "  " : " ");
}

void perf_words_symbol(struct buf *out, const char *name)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	const char *rest, *arrow;

	/* A name of blanks alone would be no word. */
	if (name[strspn(name, " ")] == '\0') {
		buf_puts(out, "[unknown]");
		return;
	}
	if (buf_fail(out, utf8_put_clean(&clean, name)) < 0)
		return;
	if (clean.data[0] == ' ')
		clean.data[0] = '_';
	for (rest = clean.data; (arrow = strstr(rest, "->")); rest = arrow + 2) {
		buf_put(out, rest, (size_t)(arrow - rest));
		buf_puts(out, "-_>");
	}
	buf_puts(out, rest);
}

static void put_word(struct buf *out, const char *name, size_t len)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	size_t from = out->len;

	buf_fail(out, buf_put(&text, name, len));
	utf8_put_clean(out, buf_text(&text));
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ' ' || out->data[i] == '(' || out->data[i] == ')')
			out->data[i] = '_';
}

void perf_words_module(struct buf *out, const char *name)
{
	size_t len = strlen(name), n = strlen(DELETED);

	if (len > n && strcmp(name + len - n, DELETED) == 0)
		len -= n;
	put_word(out, name, len);
}

void perf_words_kernel_module(struct buf *out, const char *name)
{
	buf_putc(out, '[');
	put_word(out, name, strlen(name));
	buf_putc(out, ']');
}
