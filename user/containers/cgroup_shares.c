/* SPDX-License-Identifier: Apache-2.0 */
/* containers/cgroup_shares.c - many go at once, because the choice looks at all entries. */
#include "containers/cgroup_shares.h"

#include <stdlib.h>
#include <string.h>

#include "containers/container.h"
#include "containers/containers.h"
#include "sampler/places.h"

#define GIVEN_AT_ONCE (CONTAINERS_CGROUPS_MAX / 64)

/* A path of up to so many bytes has one place. */
#define PLACE_BYTES 256

static uint64_t places_of(const struct cgroup_entry *entry)
{
	return 1 + strlen(entry->path) / PLACE_BYTES;
}

int cgroup_shares_charge(
	struct share *places, struct cgroup_entry *entry, const struct sampler *sampler)
{
	int err;

	entry->account = container_account(entry->path);
	err = share_charge(places, entry->account, places_of(entry));
	entry->placed = err == 0;
	entry->outermost = container_is_outermost(entry->path);
	if (err == 0 && sampler && entry->outermost)
		places_add_account(sampler, entry->id);
	return err;
}

void cgroup_shares_return(
	struct share *places, struct cgroup_entry *entry, const struct sampler *sampler)
{
	if (!entry->placed)
		return;
	share_return(places, entry->account, places_of(entry));
	if (sampler && entry->outermost)
		places_remove_account(sampler, entry->id);
	entry->placed = false;
}

static uint64_t value_of(const struct cgroup_entry *entry)
{
	uint64_t class = entry->outermost ? 3 : entry->gone ? 0 : entry->sampled ? 2 : 1;

	return class << 32 | entry->used;
}

static int least_first(const void *a, const void *b)
{
	uint64_t x = value_of(*(struct cgroup_entry *const *)a),
		 y = value_of(*(struct cgroup_entry *const *)b);

	return x < y ? -1 : x > y;
}

size_t cgroup_shares_givers(
	const struct hash *by_id, const struct share *places, struct cgroup_entry **out)
{
	const struct share_account *largest = share_largest(places);
	size_t len = 0;

	hash_each (by_id, slot) {
		struct cgroup_entry *entry = (struct cgroup_entry *)(uintptr_t)slot->value;

		if (largest && entry->placed && entry->account == largest->number)
			out[len++] = entry;
	}
	qsort(out, len, sizeof(struct cgroup_entry *), least_first);
	return len < GIVEN_AT_ONCE ? len : GIVEN_AT_ONCE;
}
