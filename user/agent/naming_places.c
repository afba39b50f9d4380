/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming_places.c - the owner of a frame in a file is the object, with the set of debug files
 * that are for the view of the process. */
#include "agent/naming_places.h"

#include <errno.h>
#include <stdlib.h>

#include "containers/containers.h"

static uint64_t file_owner(uint32_t id, uint32_t set)
{
	return OWNER(FRAME_FILE, (uint64_t)set << OWNER_SET_SHIFT | id);
}

uint32_t naming_view(struct naming *n, const struct tally_task *task)
{
	if (n->task != task->id) {
		n->view = objects_view(n->objects, &task->view);
		n->account = containers_account(n->containers, task->key.cgroup);
	}
	n->task = task->id;
	return n->view;
}

static uint64_t set_key(uint32_t id, uint32_t view)
{
	return (uint64_t)view << 32 | id;
}

/* Sets are chosen while frames are collected, once an interval. */
static int want_set(struct naming *n, const struct tally_task *task, uint32_t id)
{
	struct object *object = objects_find(n->objects, id);
	uint32_t view = naming_view(n, task), set;

	if (!object || object->state == OBJECT_FAILED || !objects_by_view(n->objects, object))
		return 0;
	n->by_view = true;
	if (hash_find(&n->sets, set_key(id, view)))
		return 0;
	set = objects_set(n->objects, object, view);
	return hash_put(&n->sets, set_key(id, view), set);
}

/* The owner of a frame and the address in it. */
static struct naming_place place_of(
	struct naming *n, const struct tally_task *task, uint64_t raw, bool caller)
{
	uint64_t kind = FRAME_KIND(raw), payload = raw & FRAME_PAYLOAD_MASK;

	if (kind == FRAME_FILE) {
		uint32_t id = (uint32_t)(payload >> FRAME_OBJECT_SHIFT);
		uint64_t *set = hash_find(&n->sets, set_key(id, naming_view(n, task)));

		return (struct naming_place){
			.owner = file_owner(id, set ? (uint32_t)*set : 0),
			.address = (raw & FRAME_OFFSET_MASK) | (caller ? ELF_SYM_CALLER : 0),
		};
	}
	if (kind == FRAME_CODE) {
		const struct event_code *code =
			tally_find_code(n->tally, (uint32_t)(payload >> FRAME_PLACE_BITS));

		/* As long as it has such frames it stays described to BPF. */
		if (code && code->language == LANGUAGE_HOTSPOT)
			(void)processes_id(n->processes, task->key.tgid, task->key.start_ns);
		return (struct naming_place){
			.owner = OWNER(FRAME_CODE, code ? code->tgid : 0),
			.address = payload,
		};
	}
	/* Kernel addresses are negative: the four bits that the kind took were ones. */
	if (kind == FRAME_KERNEL)
		return (struct naming_place){
			.owner = OWNER(kind, 0),
			.address = payload | ~FRAME_PAYLOAD_MASK,
		};
	return (struct naming_place){
		.owner = OWNER(
			FRAME_ANON, processes_id(n->processes, task->key.tgid, task->key.start_ns)),
		.address = payload,
	};
}

/* Who took least pays for what many have samples in. */
static void pay(const struct naming *n, uint64_t *payer, uint64_t account)
{
	if (account != *payer && share_turns(&n->turns, account) < share_turns(&n->turns, *payer))
		*payer = account;
}

bool naming_pays(const struct naming *n, uint64_t account)
{
	uint64_t payer = account;

	pay(n, &payer, n->account);
	return payer != account;
}

/* The id of the place, which is added if it is new. */
static int place_id(struct naming *n, const struct naming_place *place, uint32_t *id)
{
	const uint64_t both[] = { place->owner, place->address };
	uint64_t key = hash_bytes(both, sizeof(both)), *have;
	struct naming_place *slot;
	uint32_t *at;

	for (; (have = hash_find(&n->place_ids, key)); key++) {
		slot = &n->places.data[n->place_at.data[*have]];
		if (slot->owner != place->owner || slot->address != place->address)
			continue;
		pay(n, &slot->account, place->account);
		*id = (uint32_t)*have;
		return 0;
	}
	slot = vec_add(&n->places);
	at = vec_add(&n->place_at);
	if (!slot || !at || hash_put(&n->place_ids, key, n->places.len - 1) < 0)
		return -ENOMEM;
	*slot = *place;
	*id = *at = slot->id = (uint32_t)n->places.len - 1;
	return 0;
}

int naming_want(
	struct naming *n, const struct tally_task *task, uint64_t raw, bool caller, uint32_t *id)
{
	struct naming_place place;
	int err = 0;

	n->by_view = false;
	if (FRAME_KIND(raw) == FRAME_FILE)
		err = want_set(
			n, task, (uint32_t)((raw & FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT));
	if (err < 0)
		return err;
	place = place_of(n, task, raw, caller);
	place.account = n->account;
	objects_sampled(n->objects, &raw, 1);
	return place_id(n, &place, id);
}

static int by_place(const void *a, const void *b)
{
	const struct naming_place *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (naming_address(x) != naming_address(y))
		return naming_address(x) < naming_address(y) ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void sort_places(struct naming *n)
{
	if (n->places.len > 0)
		qsort(n->places.data, n->places.len, sizeof(*n->places.data), by_place);
	for (size_t i = 0; i < n->places.len; i++)
		n->place_at.data[n->places.data[i].id] = (uint32_t)i;
}

int naming_make_runs(struct naming *n)
{
	struct naming_run *run = NULL;

	sort_places(n);
	n->runs.len = 0;
	for (size_t i = 0; i < n->places.len; i++) {
		const struct naming_place *place = &n->places.data[i];

		if (i == 0 || place->owner != place[-1].owner) {
			run = vec_add(&n->runs);
			if (!run)
				return -ENOMEM;
			*run = (struct naming_run){ .first = i, .account = place->account };
		}
		run->len++;
		pay(n, &run->account, place->account);
	}
	return 0;
}
