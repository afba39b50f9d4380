/* SPDX-License-Identifier: Apache-2.0 */
/* containers/payers.c - a stack is looked at once an interval and account, however many counts it
 * has. */
#include "containers/payers.h"

#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "containers/containers.h"
#include "containers/tick_shares.h"
#include "sampler/tally.h"
#include "sampler/warnings.h"
#include "unwind/publish.h"

struct payers {
	struct publish *publish;
	struct hash charged; /* stacks, with an account */
};

static void payers_done(struct payers *p)
{
	hash_done(&p->charged);
}

void payers_warn(struct containers *containers, uint64_t cgroup, const char *what,
	struct warnings *warnings)
{
	struct containers_labels labels;
	struct why text;
	const char *namespace_end, *pod_end;
	size_t len;

	containers_labels(containers, cgroup, &labels);
	len = strcspn(labels.container, "/");
	namespace_end = labels.namespace_[0] ? "/" : "";
	pod_end = labels.pod[0] ? "/" : "";
	why_set(&text, 0, "%s%s%s%s%.*s: %s", labels.namespace_, namespace_end, labels.pod, pod_end,
		len > 0 ? (int)len : (int)sizeof(text.text), labels.container, what);
	warnings_add(warnings, text.text);
}

static void charge_stack(
	struct payers *p, const struct tally_stack *stack, uint64_t account, bool waits)
{
	uint32_t last = OBJECT_NONE;

	for (uint32_t i = 0; i < stack->frames_len; i++) {
		uint64_t frame = stack->frames[i] & FRAME_PAYLOAD_MASK;
		uint32_t object = (uint32_t)(frame >> FRAME_OBJECT_SHIFT);

		if (FRAME_KIND(stack->frames[i]) != FRAME_FILE || object == last)
			continue;
		publish_charge(p->publish, object, account);
		if (waits)
			publish_waited(p->publish, object);
		last = object;
	}
}

void payers_charge(struct containers *containers, const struct tally *tally,
	struct publish *publish, struct tick_shares *ticks)
{
	_cleanup_(payers_done) struct payers p = { .publish = publish };

	publish_charges_begin(publish);
	vec_each (&tally->counts, c) {
		uint64_t cgroup = tally->tasks.data[c->task].key.cgroup;
		uint64_t account = containers_account(containers, cgroup);
		uint64_t key = hash_mix(account * 2 + (c->wait_ns > 0)) ^ c->user;

		if (ticks)
			(void)tick_shares_charge(ticks, account, cgroup,
				c->wait_ns ? 0 : c->count, c->took_ns);
		if (c->count == 0 || c->user == 0 || hash_find(&p.charged, key))
			continue;
		(void)hash_put(&p.charged, key, 0);
		charge_stack(&p, &tally->stacks.data[c->user - 1], account,
			c->wait_ns > 0);
	}
}
