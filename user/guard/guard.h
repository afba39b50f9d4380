/* SPDX-License-Identifier: Apache-2.0 */
/* guard/guard.h - a host that went down twice while the daemon sampled is left alone. A mark in
 * the store says that it samples, on which boot, kernel and version; its end clears the mark. The
 * mark of another boot means that the host went down meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define GUARD_FILE "mark"
#define GUARD_DEATHS_MAX 2
#define GUARD_FORGET_S 86400 /* a run of so long without a death clears those before it */

struct guard_facts {
	char boot[64];
	char kernel[256]; /* release and build */
	char version[64]; /* of stoker */
};

struct guard_mark {
	struct guard_facts facts;
	bool running;
	unsigned int deaths; /* of the host, with this kernel and this version */
};

enum guard_verdict {
	GUARD_GO,
	GUARD_STAY, /* do not load */
};

/* found NULL: there is no mark. *next: the mark to have from now on; it does not say that anything
 * runs unless the verdict is GUARD_GO. */
enum guard_verdict guard_decide(const struct guard_mark *found, const struct guard_facts *now,
	struct guard_mark *next);
/* After a run of so many seconds has ended: true, and *next is the mark to keep; false: none. */
bool guard_after(const struct guard_mark *mark, uint64_t seconds, struct guard_mark *next);

void guard_facts_now(struct guard_facts *out);

/* The mark in a store. -ENOENT: none, or no store; -EBADMSG with why: it is damaged. */
int guard_load(const char *store, struct guard_mark *out, struct why *why);
/* On disk when it returns. */
int guard_save(const char *store, const struct guard_mark *mark, struct why *why);
/* Notes that no agent samples any more. -ENOENT: there was no mark. */
int guard_stopped(const char *store, struct why *why);
/* The same for a process that is no part of the daemon. -EBUSY with why: one writes there. */
int guard_stopped_outside(const char *store, struct why *why);
/* Removes the mark. */
int guard_forget(const char *store, struct why *why);
