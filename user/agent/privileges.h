/* SPDX-License-Identifier: Apache-2.0 */
/* agent/privileges.h - the capabilities that an agent keeps: for each what it is for, and what is
 * lost without. One table for the agent, `stoker doctor`, and the manual page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "agent/warnings.h"

struct privilege {
	unsigned int cap;
	const char *name;
	const char *use;
	const char *without; /* what its absence costs */
	bool needed;         /* without it nothing can be sampled */
};

#define PRIVILEGES_LEN 6

extern const struct privilege privileges[PRIVILEGES_LEN];

bool privileges_has(const struct privilege *privilege);

/* -EPERM, with why: one is missing that is needed. */
int privileges_check(struct why *why);

/* One for each that is missing and not needed. */
void privileges_warn(struct warnings *warnings);

/* Gives up all but those in the table, for good, and what could bring others back. What a larger
 * set can stand in for (CAP_SYS_ADMIN for most of them) is gone then too, so one that is missing is
 * missing. */
int privileges_drop(struct why *why);

/* Of descriptors and locked memory as high as they may be. */
void privileges_raise_limits(void);
