/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.c - one write a line, so that lines of two processes do not mix. */
#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 1024
#define STUCK_MS 500

/* Where a terminal has this many columns, the cursor stays in the line: else only the last part of
 * it would be erased. */
static void cut(char *text, size_t columns)
{
	size_t at = strnlen(text, columns - 1);

	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	text[at] = '\0';
}

/* A pipe with any room has room for a line. */
static bool takes_a_line(struct log *log)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	log->stuck = poll(&fd, 1, log->stuck ? 0 : STUCK_MS) == 0;
	return !log->stuck;
}

/* end "": a progress line of at most so many columns; 0: unlimited. */
static void put_line(struct log *log, const char *prefix, const char *end, size_t columns,
	const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int head =
		snprintf(line, sizeof(line), "%s%s", log->progress_open ? "\r\033[K" : "", prefix);
	size_t text = (size_t)head, len;

	vsnprintf(line + head, sizeof(line) - text - 2, fmt, ap);
	utf8_clean(line + text);
	if (columns > 0)
		cut(line + text, columns);
	len = strlen(line);
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s", end);
	if (!takes_a_line(log))
		return;
	fd_write_all(STDERR_FILENO, line, len);
	log->progress_open = end[0] == '\0';
}

void log_error(struct log *log, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(log, "stoker: ", "\n", 0, fmt, ap);
	va_end(ap);
}

void log_warn(struct log *log, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(log, "stoker: warning: ", "\n", 0, fmt, ap);
	va_end(ap);
}

void log_note(struct log *log, const char *fmt, ...)
{
	va_list ap;

	if (log->quiet)
		return;
	va_start(ap, fmt);
	put_line(log, "", "\n", 0, fmt, ap);
	va_end(ap);
}

/* Can stderr erase a line? */
static bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void log_progress(struct log *log, const char *fmt, ...)
{
	struct winsize size = { 0 };
	va_list ap;

	if (log->quiet || !is_terminal())
		return;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
		size.ws_col = 0;
	va_start(ap, fmt);
	put_line(log, "", "", size.ws_col, fmt, ap);
	va_end(ap);
}
