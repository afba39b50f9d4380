/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h - messages on stderr. Only cmd/, daemon/, traps/ and output/ call it.
 * A message names the thing, the cause and the remedy. Unprintable text (utf8.h), which a profiled
 * process may have chosen, is replaced by '?'. A terminal or pipe that takes nothing for half a
 * second loses the message: sampling does not wait for it. */
#pragma once

#include <stdbool.h>

struct log {
	bool quiet;         /* notes and progress are dropped; errors and warnings are not */
	bool stuck;         /* stderr took nothing the last time, and is not waited for again */
	bool progress_open; /* the terminal's last line is a progress line */
};

void log_error(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_note(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line that the next one overwrites, cut to the terminal's width; only if stderr is a terminal
 * that can erase, which TERM says. */
void log_progress(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
