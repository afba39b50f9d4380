/* SPDX-License-Identifier: Apache-2.0 */
/* agent/privileges.h - the capabilities that an agent keeps: the use of each, and the cost of its
 * absence. One table for the agent, `stoker doctor`, and the manual page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sampler/warnings.h"
#include "worker/filter.h"

struct privilege {
	unsigned int cap;
	const char *name;
	const char *use;
	const char *without; /* cost of its absence */
	bool needed;         /* sampling is impossible without it */
};

#define PRIVILEGES_LEN 6

extern const struct privilege privileges[PRIVILEGES_LEN];

uint64_t privileges_caps(void); /* CAPS_BIT of each, and CAPS_TO_SEND */
bool privileges_has(const struct privilege *privilege);

/* -EPERM, with why: a needed one is missing; else as privileges_check_files. */
int privileges_check(struct why *why);
/* -EMFILE, with why: fewer files may be open than sampling needs on this host, even if the limit is
 * raised to its maximum. */
int privileges_check_files(struct why *why);

/* Warns of each missing one that is not needed. */
void privileges_warn(struct warnings *warnings);

/* When all is loaded and opened: drops all system calls but the agent's (worker/filter.h) and all
 * other capabilities for good, and every way to regain them. A larger capability that
 * implies others (CAP_SYS_ADMIN for most) is dropped too, so a missing one stays missing. */
int privileges_drop(enum filter filter, struct why *why);

/* Makes all permitted capabilities effective, and raises the limits of descriptors and of locked
 * memory to their maximum. */
void privileges_raise(void);
/* Warns that too few files may be open; that too many descriptors of our user are in flight. */
void privileges_warn_files(struct warnings *warnings);
void privileges_warn_inflight(struct warnings *warnings);
