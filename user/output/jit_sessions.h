/* SPDX-License-Identifier: Apache-2.0 */
/* output/jit_sessions.h - runtimes that were made to write perf maps, until their sessions end:
 * `record --jit`, and `[jit]` of the daemon. Each call on a runtime is made in a process of its own
 * that can be given up, and a switch is noted before it is made (jit/jit_note.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/share.h"
#include "base/vec.h"
#include "jit/jit_note.h"
#include "jit/jit_stats.h"

#define JIT_SESSIONS_MAX 1024
#define JIT_SESSIONS_HUNG_MAX 2 /* of an account: then it is not asked any more */
#define JIT_SESSIONS_STUCK_MAX 16 /* processes that were given up, and are stuck */
/* Runtimes that do not answer when their maps are to be switched off: from the first number on they
 * have less time, from the second on they stay noted for the next start. */
#define JIT_SESSIONS_DEAF_MIN 4
#define JIT_SESSIONS_DEAF_MAX 16
/* Any process may claim to be a runtime, and be slow: all accounts together may take so long at
 * once, and a hundredth of the time that passes. */
#define JIT_SESSIONS_SPENT_NS 20000000000ULL
#define JIT_SESSIONS_SPENT_PART 100
#define JIT_SESSIONS_WARNINGS_MAX 8
#define JIT_SESSIONS_NAMED UINT64_MAX /* an account: of processes that the caller named */

struct jit_session {
	struct jit_note note;
	uint64_t account;
	bool ended; /* when it was looked at last */
	bool foreign; /* another stoker had switched it on: there is no note, and nothing to undo */
	bool mute;  /* the runtime did not answer: no refresh is asked for */
};

struct jit_sessions {
	VEC(struct jit_session) all;
	struct share places;
	struct share hung; /* runtimes that did not answer, of each account */
	struct share_debt spent;
	struct jit_note_writer self;
	int folder; /* of notes; -1: nothing is noted */
	struct log *log;
	struct jit_stats stats;
	uint32_t warned; /* number of warnings */
	uint32_t stuck;  /* number of processes that were given up */
	uint32_t deaf;   /* number of runtimes as of JIT_SESSIONS_DEAF_MIN */
};

/* notes: folders of notes, NULL-terminated. Switches are noted in the first; those that a killed
 * stoker left in any of them are undone. */
void jit_sessions_begin(struct jit_sessions *sessions, const char *const *notes, struct log *log);
/* One more process that runs code compiled at run time. Warns if its runtime refuses, up to
 * JIT_SESSIONS_WARNINGS_MAX times; it is sampled all the same. account: who pays. */
void jit_sessions_meet(struct jit_sessions *sessions, uint32_t pid, uint64_t account);
/* Before names are read: JVMs write their maps anew. Files of processes that had ended at the last
 * call, too, are removed. */
void jit_sessions_refresh(struct jit_sessions *sessions);
/* Undoes all. */
void jit_sessions_end(struct jit_sessions *sessions);
