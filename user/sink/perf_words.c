/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_words.c - each rule is one reader's. Comms: FlameGraph and speedscope want two
 * characters at least, and take the first number behind a blank for the PID; PerfView takes digits
 * before a `/` and a digit, or before ` [`, for its end, where the comm begins with a digit without
 * any blank, and reads one that begins with `:` or `-` up to the first blank; a line that begins
 * with a blank or `#` is none. Modules: all split at the last ` (`. */
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

int perf_words_comm(struct buf *out, const char *comm, int32_t pid)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	int err;

	if (!*comm)
		return buf_printf(out, ":%d ", pid < 0 ? 0 : pid);
	err = utf8_put_clean(&clean, comm);
	if (err < 0)
		return err;
	mend_comm(clean.data);
	err = buf_put(out, clean.data, clean.len);
	if (err == 0 && utf8_char_len(clean.data) == clean.len)
		err = buf_putc(out, ' ');
	return err < 0 ? err : buf_putc(out, ' ');
}

int perf_words_symbol(struct buf *out, const char *name)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	const char *rest, *arrow;
	int err;

	/* Of blanks alone it would be no word. */
	if (name[strspn(name, " ")] == '\0')
		return buf_puts(out, "[unknown]");
	err = utf8_put_clean(&clean, name);
	if (err < 0)
		return err;
	if (clean.data[0] == ' ')
		clean.data[0] = '_';
	for (rest = clean.data; err == 0 && (arrow = strstr(rest, "->")); rest = arrow + 2) {
		err = buf_put(out, rest, (size_t)(arrow - rest));
		if (err == 0)
			err = buf_puts(out, "-_>");
	}
	return err < 0 ? err : buf_puts(out, rest);
}

static int put_word(struct buf *out, const char *name, size_t len)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = buf_put(&text, name, len);
	size_t from = out->len;

	if (err == 0)
		err = utf8_put_clean(out, text.data);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ' ' || out->data[i] == '(' || out->data[i] == ')')
			out->data[i] = '_';
	return err;
}

int perf_words_module(struct buf *out, const char *name)
{
	size_t len = strlen(name), n = strlen(DELETED);

	if (len > n && strcmp(name + len - n, DELETED) == 0)
		len -= n;
	return put_word(out, name, len);
}

int perf_words_kernel_module(struct buf *out, const char *name)
{
	int err = buf_putc(out, '[');

	if (err == 0)
		err = put_word(out, name, strlen(name));
	return err < 0 ? err : buf_putc(out, ']');
}
