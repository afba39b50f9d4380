/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rule_set.h - stores each unwind rule once, under a 16-bit id. */
#pragma once

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/vec.h"

#define RULE_SET_MAX 65536
#define RULE_NONE 0        /* always { CFA_NONE }: no function */
#define RULE_UNSUPPORTED 1 /* always { CFA_UNSUPPORTED, RA_UNSUPPORTED, FP_LOST } */

struct rule_set {
	VEC(struct unwind_rule) rules; /* by id; at most RULE_SET_MAX */
	uint32_t *slots;               /* open addressing, id + 1; 0 is free */
	uint32_t slots_cap;            /* 0 or a power of two */
	uint64_t secret;  /* seeds the order of slots: rules come from untrusted files */
	uint32_t refused; /* puts into a full set */
	uint16_t last;    /* id of the latest put: rows often repeat */
};

/* 0 or -ENOMEM. rule_set_done() also accepts a half-built set. */
int rule_set_init(struct rule_set *set);
void rule_set_done(struct rule_set *set);
/* Full set: *id is RULE_UNSUPPORTED, and it is counted. 0 or -ENOMEM. Padding must be equal in
 * equal rules (struct unwind_rule has none). */
int rule_set_put(struct rule_set *set, const struct unwind_rule *rule, uint16_t *id);
