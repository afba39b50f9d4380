/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_rules.h - rule ids that all tables share: equal rules have one id. Ids are never
 * freed; after ROWS_RULES_MAX a new rule becomes ROW_RULE_UNSUPPORTED and is counted. */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "unwind/row_maps.h"

#define ROW_RULE_NONE 0        /* CFA_NONE */
#define ROW_RULE_UNSUPPORTED 1 /* CFA_UNSUPPORTED */

struct row_rules {
	const struct row_maps *maps;
	struct hash by_hash; /* hash of a rule, or of the next free number → id */
	VEC(struct unwind_rule) list;
	uint64_t refused;
};

/* maps must outlive it. */
int row_rules_init(struct row_rules *rules, const struct row_maps *maps);
void row_rules_done(struct row_rules *rules);
/* The shared id of each of a table's rules; the caller frees the array. NULL: no memory, or the map
 * could not be updated. */
uint16_t *row_rules_share(struct row_rules *rules, const struct unwind_rule *own, uint32_t len);
/* An unused id gives the rule of ROW_RULE_NONE. */
const struct unwind_rule *row_rules_get(const struct row_rules *rules, uint32_t id);
