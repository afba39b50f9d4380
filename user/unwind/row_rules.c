/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_rules.c - shared rules. BPF gets a rule before any page refers to its id, and another
 * rule under that id only when all ticks that may have a page with it have ended. A rule that
 * nobody holds stays known until its id is needed. */
#include "unwind/row_rules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* The key under which this id is known; false: under none. */
static bool find_key(const struct row_rules *rules, uint32_t id, uint64_t *key)
{
	const struct unwind_rule *rule = &rules->list.data[id].rule;
	uint64_t *known;

	for (*key = hash_bytes(rule, sizeof(*rule)); (known = hash_find(&rules->by_hash, *key));
		(*key)++)
		if (*known == id)
			return true;
	return false;
}

/* A new id, or one that nobody holds; -ENOSPC: all are held. */
static int find_room(struct row_rules *rules, uint32_t *id)
{
	uint32_t len = (uint32_t)rules->list.len;

	if (len < rules->maps->rules_len) {
		*id = len;
		return vec_reserve(&rules->list, len + 1);
	}
	for (uint32_t i = 0; i < len && rules->held < len; i++) {
		*id = rules->unheld++ % len;
		if (rules->list.data[*id].holders == 0)
			return 0;
	}
	return -ENOSPC;
}

static int add(struct row_rules *rules, uint64_t key, const struct unwind_rule *rule, uint16_t *id)
{
	uint32_t at = 0;
	uint64_t old;
	int err = find_room(rules, &at);

	if (err == 0)
		err = rules->maps->ops->rule_put(rules->maps->ctx, at, rule);
	if (err < 0)
		return err;
	if (at == rules->list.len)
		vec_add(&rules->list);
	else if (find_key(rules, at, &old))
		hash_del(&rules->by_hash, old);
	rules->list.data[at].rule = *rule;
	*id = (uint16_t)at;
	/* Without memory nobody finds it by its content: then its id is the next one's again. */
	return hash_put(&rules->by_hash, key, at);
}

/* The rule's id; false: *key is free for it. */
static bool find(
	const struct row_rules *rules, const struct unwind_rule *rule, uint64_t *key, uint16_t *id)
{
	const uint64_t *known;

	for (*key = hash_bytes(rule, sizeof(*rule)); (known = hash_find(&rules->by_hash, *key));
		(*key)++) {
		*id = (uint16_t)*known;
		if (memcmp(&rules->list.data[*id].rule, rule, sizeof(*rule)) == 0)
			return true;
	}
	return false;
}

static int put_rule(struct row_rules *rules, const struct unwind_rule *rule, uint16_t *id)
{
	uint64_t key;

	return find(rules, rule, &key, id) ? 0 : add(rules, key, rule, id);
}

uint32_t row_rules_lack(const struct row_rules *rules, const struct unwind_rule *own, uint32_t len)
{
	uint32_t lack = 0;

	for (uint32_t i = 0; i < len; i++) {
		uint64_t key;
		uint16_t id;

		lack += !find(rules, &own[i], &key, &id) || rules->list.data[id].holders == 0;
	}
	return lack;
}

int row_rules_init(struct row_rules *rules, const struct row_maps *maps)
{
	static const struct unwind_rule first[] = {
		[ROW_RULE_NONE] = { .cfa = CFA_NONE },
		[ROW_RULE_UNSUPPORTED] = { .cfa = CFA_UNSUPPORTED },
	};
	int err = 0;

	*rules = (struct row_rules){ .maps = maps };
	for (size_t i = 0; i < ARRAY_SIZE(first) && err == 0; i++) {
		uint16_t id;

		err = put_rule(rules, &first[i], &id);
		if (err == 0)
			row_rules_hold(rules, &id, 1);
	}
	return err;
}

void row_rules_done(struct row_rules *rules)
{
	hash_done(&rules->by_hash);
	vec_done(&rules->list);
}

void row_rules_hold(struct row_rules *rules, const uint16_t *ids, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		rules->held += rules->list.data[ids[i]].holders++ == 0;
}

void row_rules_release(struct row_rules *rules, const uint16_t *ids, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		assert(rules->list.data[ids[i]].holders > 0);
		rules->held -= --rules->list.data[ids[i]].holders == 0;
	}
}

uint16_t *row_rules_share(struct row_rules *rules, const struct unwind_rule *own, uint32_t len)
{
	_cleanup_(freep) uint16_t *ids = calloc(len + 1, sizeof(*ids));

	for (uint32_t i = 0; ids && i < len; i++) {
		int err = put_rule(rules, &own[i], &ids[i]);

		if (err < 0 && err != -ENOSPC) {
			row_rules_release(rules, ids, i);
			return NULL;
		}
		if (err < 0)
			ids[i] = ROW_RULE_UNSUPPORTED;
		rules->refused += err < 0;
		row_rules_hold(rules, &ids[i], 1);
	}
	return TAKE_PTR(ids);
}

const struct unwind_rule *row_rules_get(const struct row_rules *rules, uint32_t id)
{
	return &rules->list.data[id < rules->list.len ? id : ROW_RULE_NONE].rule;
}
