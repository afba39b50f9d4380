/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_rules.h - rule ids that all tables share: equal rules have one id. Whoever refers to
 * an id holds it; an id that nobody holds may be given to another rule. If all are held a new rule
 * becomes ROW_RULE_UNSUPPORTED and is counted. */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "unwind/row_maps.h"

#define ROW_RULE_NONE 0        /* CFA_NONE; this and the next are always held */
#define ROW_RULE_UNSUPPORTED 1 /* CFA_UNSUPPORTED */

struct row_rule {
	struct unwind_rule rule;
	uint32_t holders;
};

struct row_rules {
	const struct row_maps *maps;
	struct hash by_hash; /* hash of a rule, or of the next free number → id */
	VEC(struct row_rule) list;
	uint32_t held;   /* number of ids with holders */
	uint32_t unheld; /* where the search for one without begins */
	uint64_t refused;
};

/* maps must outlive it. */
int row_rules_init(struct row_rules *rules, const struct row_maps *maps);
void row_rules_done(struct row_rules *rules);
/* The shared id of each of a table's rules, held once more; the caller frees the array, after
 * row_rules_release(). NULL: no memory, or the map could not be updated. */
uint16_t *row_rules_share(struct row_rules *rules, const struct unwind_rule *own, uint32_t len);
/* How many of these rules nobody holds. */
uint32_t row_rules_lack(const struct row_rules *rules, const struct unwind_rule *own, uint32_t len);
void row_rules_hold(struct row_rules *rules, const uint16_t *ids, uint32_t len);
/* No tick may come to these ids through what the holder had. */
void row_rules_release(struct row_rules *rules, const uint16_t *ids, uint32_t len);
/* An unused id gives the rule of ROW_RULE_NONE. */
const struct unwind_rule *row_rules_get(const struct row_rules *rules, uint32_t id);
