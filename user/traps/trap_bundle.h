/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap_bundle.h - writes a trap's capture to FOLDER/NAME-NNNN-UTC/: the files of a bundle,
 * first.txt with what it shows in words, and trap.json with the values that fired it. A child
 * process without privileges writes it, so sampling goes on and a full or slow disk costs only that
 * bundle. */
#pragma once

#include <stdbool.h>

#include "base/child.h"
#include "base/log.h"
#include "traps/traps.h"
#include "sink/sink.h"

struct trap_bundle {
	const char *folder; /* made if its parent exists */
	const char *store;  /* for the time before; NULL: none */
	const char *host;
	const struct sink_options *sink;
	struct log *log;
};

#define TRAP_BUNDLE_FOLDER "traps"

/* Can bundles be written, as far as their folder shows? It need not be there yet. */
int trap_bundle_check(const struct trap_bundle *bundle, struct why *why);
/* Tries it, and makes the folder. */
int trap_bundle_try(const struct trap_bundle *bundle, struct why *why);
/* Starts the writer, which logs how it ends. */
int trap_bundle_start(
	const struct trap_bundle *bundle, const struct trap_capture *capture, struct child *writer);
/* 1: the bundle is written; 0: that failed; -EAGAIN: the writer runs. Waits wait_ms at most. */
int trap_bundle_end(struct child *writer, int wait_ms);
