/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h - talk, on stderr. Only cmd/, daemon/ and the worker's loop call it.
 * A message names the thing, the cause and the effect. What utf8.h calls not clean in it, which a
 * profiled process may have chosen, is written as '?'. */
#pragma once

#include <stdbool.h>

struct log {
	bool quiet;         /* notes and progress are dropped; warnings and errors are not */
	bool progress_open; /* a progress line stands on the terminal */
};

void log_error(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_note(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One line that is written over; only where stderr is a terminal. */
void log_progress(struct log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
