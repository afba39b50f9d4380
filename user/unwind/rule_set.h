/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rule_set.h - each unwind rule once, known by a number of 16 bits. */
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
	uint64_t secret;               /* of the slots' order: rules are made by strangers */
	uint32_t refused;              /* puts that found it full */
	uint16_t last;                 /* id of the last put: rows repeat */
};

/* 0 or -ENOMEM. rule_set_done() is for a set that is half made, too. */
int rule_set_init(struct rule_set *set);
void rule_set_done(struct rule_set *set);
/* Full: *id is RULE_UNSUPPORTED, and it is counted. 0 or -ENOMEM. Padding must not differ between
 * equal rules (struct unwind_rule has none). */
int rule_set_put(struct rule_set *set, const struct unwind_rule *rule, uint16_t *id);
