/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap_bundle.h - what a trap captured → STORE/traps/NAME-NNNN-UTC/: the files of a bundle,
 * and trap.json with what fired it. A process of its own writes it, without privileges, so that
 * sampling goes on meanwhile and a full or slow disk costs that bundle only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"
#include "traps/traps.h"
#include "sink/sink.h"

struct trap_bundle {
	const char *store, *host;
	const struct sink_options *sink;
	struct log *log;
};

#define TRAP_BUNDLE_FOLDER "traps"

/* Begins to write; *pid is the process that does and says what became of it. */
int trap_bundle_start(
	const struct trap_bundle *bundle, const struct trap_capture *capture, pid_t *pid);
/* 1: it is written; 0: it failed, as was said; -EAGAIN: not yet. wait_ms: so long at most. */
int trap_bundle_end(pid_t pid, int wait_ms);
