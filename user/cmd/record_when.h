/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_when.h - `record --when`: samples until a rule's condition holds, and writes a bundle
 * each time. The rule is a trap's, and so is all that follows (traps/trapper.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "cmd/record_options.h"
#include "traps/trapper.h"

#define RECORD_WHEN_SPANS_NS 1000000000ULL /* of waits: a capture is cut so exactly */

struct agent;

struct record_when {
	struct rules rules; /* empty: --when is not given, and nothing is done */
	struct trapper trapper;
	struct utsname host;
	uint64_t count, interval_ends_ns;
	bool said;
	struct log *log;
};

/* Makes the folder of the bundles, with the caller's rights. */
int record_when_make_folder(const struct record_options *options, struct why *why);
/* When the agent is open. options is borrowed. */
int record_when_open(struct record_when *when, const struct record_options *options,
	struct log *log, struct why *why);
void record_when_close(struct record_when *when);

int record_when_tick(struct record_when *when, struct agent *agent, uint64_t now_ns);
uint64_t record_when_due_ns(const struct record_when *when);
/* Should the interval end now? */
bool record_when_is_due(const struct record_when *when, struct agent *agent, uint64_t now_ns);
/* Takes the samples up to now. */
int record_when_take(struct record_when *when, struct agent *agent, struct why *why);
/* Are all bundles of --count written? */
bool record_when_is_over(struct record_when *when);
/* Writes what was begun. -ENODATA: the condition never held, and the record was not ended by a
 * signal; -EIO: a bundle was lost. */
int record_when_finish(struct record_when *when, bool by_signal, struct why *why);
