/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_rules.c - shared rules. BPF gets a rule before any page refers to its id. */
#include "unwind/row_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static int add(struct row_rules *rules, uint64_t key, const struct unwind_rule *rule, uint16_t *id)
{
	size_t at = rules->list.len;
	int err;

	if (at >= ROWS_RULES_MAX)
		return -ENOSPC;
	if (vec_reserve(&rules->list, at + 1) < 0)
		return -ENOMEM;
	err = rules->maps->ops->rule_put(rules->maps->ctx, (uint32_t)at, rule);
	if (err == 0)
		err = hash_put(&rules->by_hash, key, at);
	if (err < 0)
		return err;
	*(struct unwind_rule *)vec_add(&rules->list) = *rule;
	*id = (uint16_t)at;
	return 0;
}

static int put_rule(struct row_rules *rules, const struct unwind_rule *rule, uint16_t *id)
{
	uint64_t key = hash_bytes(rule, sizeof(*rule)), *known;

	for (; (known = hash_find(&rules->by_hash, key)); key++) {
		if (memcmp(&rules->list.data[*known], rule, sizeof(*rule)) == 0) {
			*id = (uint16_t)*known;
			return 0;
		}
	}
	return add(rules, key, rule, id);
}

int row_rules_init(struct row_rules *rules, const struct row_maps *maps)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };
	const struct unwind_rule unsupported = { .cfa = CFA_UNSUPPORTED };
	uint16_t id;
	int err;

	*rules = (struct row_rules){ .maps = maps };
	err = put_rule(rules, &none, &id);
	return err < 0 ? err : put_rule(rules, &unsupported, &id);
}

void row_rules_done(struct row_rules *rules)
{
	hash_done(&rules->by_hash);
	vec_done(&rules->list);
}

uint16_t *row_rules_share(struct row_rules *rules, const struct unwind_rule *own, uint32_t len)
{
	_cleanup_(freep) uint16_t *ids = calloc(len, sizeof(*ids));

	for (uint32_t i = 0; ids && i < len; i++) {
		int err = put_rule(rules, &own[i], &ids[i]);

		if (err < 0 && err != -ENOSPC)
			return NULL;
		if (err < 0)
			ids[i] = ROW_RULE_UNSUPPORTED;
		rules->refused += err < 0;
	}
	return TAKE_PTR(ids);
}

const struct unwind_rule *row_rules_get(const struct row_rules *rules, uint32_t id)
{
	return &rules->list.data[id < rules->list.len ? id : ROW_RULE_NONE];
}
