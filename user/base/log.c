/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.c - one write a line, so that lines of two processes do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES 1024

static void put_line(
	struct log *log, const char *prefix, const char *end, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int head =
		snprintf(line, sizeof(line), "%s%s", log->progress_open ? "\r\033[K" : "", prefix);
	size_t text = (size_t)head, len;

	vsnprintf(line + head, sizeof(line) - text - 2, fmt, ap);
	utf8_clean(line + text);
	len = strlen(line);
	len += (size_t)snprintf(line + len, sizeof(line) - len, "%s", end);
	fd_write_all(STDERR_FILENO, line, len);
	log->progress_open = end[0] == '\0';
}

void log_error(struct log *log, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(log, "stoker: ", "\n", fmt, ap);
	va_end(ap);
}

void log_warn(struct log *log, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(log, "stoker: warning: ", "\n", fmt, ap);
	va_end(ap);
}

void log_note(struct log *log, const char *fmt, ...)
{
	va_list ap;

	if (log->quiet)
		return;
	va_start(ap, fmt);
	put_line(log, "", "\n", fmt, ap);
	va_end(ap);
}

void log_progress(struct log *log, const char *fmt, ...)
{
	va_list ap;

	if (log->quiet || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	put_line(log, "", "", fmt, ap);
	va_end(ap);
}
