/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rule_set.c - interns unwind rules.
 * Ids are dense, in the order of first use, and never change; the table of slots is at most half
 * full. After 65536 rules every new one becomes RULE_UNSUPPORTED: a stack then ends with a reason,
 * and never uses a wrong rule. */
#include "unwind/rule_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS_CAP_MIN 64

int rule_set_init(struct rule_set *set)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };
	const struct unwind_rule unsupported = {
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST
	};
	uint16_t id;
	int err;

	*set = (struct rule_set){ .secret = hash_bytes("", 0) };
	err = rule_set_put(set, &none, &id);
	return err < 0 ? err : rule_set_put(set, &unsupported, &id);
}

void rule_set_done(struct rule_set *set)
{
	vec_done(&set->rules);
	free(set->slots);
	set->slots = NULL;
	set->slots_cap = 0;
}

/* hash_bytes() would be a fifth of the time that a file's rows take. */
static uint64_t hash_of(const struct rule_set *set, const struct unwind_rule *rule)
{
	uint64_t words[2];

	_Static_assert(sizeof(words) == sizeof(*rule), "all of it");
	memcpy(words, rule, sizeof(words));
	return hash_mix(hash_mix(words[0] ^ set->secret) ^ words[1]);
}

/* The rule's slot, or the free one where it belongs. */
static uint32_t *place(const struct rule_set *set, const struct unwind_rule *rule)
{
	uint32_t mask = set->slots_cap - 1;
	uint32_t i = (uint32_t)hash_of(set, rule) & mask;

	while (set->slots[i] != 0 &&
		memcmp(&set->rules.data[set->slots[i] - 1], rule, sizeof(*rule)) != 0)
		i = (i + 1) & mask;
	return &set->slots[i];
}

static int grow(struct rule_set *set)
{
	uint32_t cap = set->slots_cap ? set->slots_cap * 2 : SLOTS_CAP_MIN;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(set->slots);
	set->slots = slots;
	set->slots_cap = cap;
	for (uint32_t id = 0; id < set->rules.len; id++)
		*place(set, &set->rules.data[id]) = id + 1;
	return 0;
}

int rule_set_put(struct rule_set *set, const struct unwind_rule *rule, uint16_t *id)
{
	struct unwind_rule *added;
	uint32_t *slot;

	if (set->rules.len > 0 && memcmp(&set->rules.data[set->last], rule, sizeof(*rule)) == 0) {
		*id = set->last;
		return 0;
	}
	if (set->rules.len * 2 >= set->slots_cap && grow(set) < 0)
		return -ENOMEM;
	slot = place(set, rule);
	if (*slot == 0 && set->rules.len == RULE_SET_MAX) {
		set->refused++;
		*id = RULE_UNSUPPORTED;
		return 0;
	}
	if (*slot == 0) {
		added = vec_add(&set->rules);
		if (!added)
			return -ENOMEM;
		*added = *rule;
		*slot = (uint32_t)set->rules.len;
	}
	*id = set->last = (uint16_t)(*slot - 1);
	return 0;
}
