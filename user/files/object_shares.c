/* SPDX-License-Identifier: Apache-2.0 */
/* files/object_shares.c - BPF knows when a file was used last, publish.c who uses it. To ask BPF
 * takes a system call for each file, so only those are asked for that may be chosen. */
#include "files/object_shares.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "files/object.h"
#include "unwind/publish.h"

int object_shares_charge(struct share *places, struct object *object, uint64_t account)
{
	int err = share_charge(places, account, 1);

	if (err < 0)
		return err;
	object->payer = account;
	object->placed = true;
	return 0;
}

void object_shares_return(struct share *places, struct object *object)
{
	if (object->placed)
		share_return(places, object->payer, 1);
	object->placed = false;
}

#define REMOVED_PART 10 /* of the time that others are kept */

static int most_idle_first(const void *a, const void *b)
{
	uint32_t x = ((const struct object_idle *)a)->seconds,
		 y = ((const struct object_idle *)b)->seconds;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* A tick may be later than our second. */
static uint32_t idle_seconds(const struct object_list *list, const struct object *object)
{
	uint32_t used = publish_used(list->publish, &object->key);

	used = used < object->met ? object->met : used;
	return used < list->now ? list->now - used : 0;
}

/* Nobody can begin to use it, so it only takes room on a disk. */
static bool is_removed(const struct object *object)
{
	struct stat st;

	return object->fd >= 0 && fstat(object->fd, &st) == 0 && st.st_nlink == 0;
}

static size_t choose_idle(
	const struct object_list *list, uint32_t removed_for, struct object_idle *out)
{
	size_t len = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct object *object = list->all[i];
		uint32_t idle;

		if (object->id == OBJECT_VDSO || object_is_forgotten(object))
			continue;
		idle = idle_seconds(list, object);
		if (idle > list->idle_for || (idle > removed_for && is_removed(object)))
			out[len++] = (struct object_idle){ object, idle };
	}
	qsort(out, len, sizeof(*out), most_idle_first);
	return len;
}

size_t object_shares_idle(const struct object_list *list, struct object_idle *out)
{
	return choose_idle(list, list->idle_for, out);
}

size_t object_shares_unused(const struct object_list *list, struct object_idle *out)
{
	return choose_idle(list, list->idle_for / REMOVED_PART, out);
}

static uint64_t rank_of(const struct object_list *list, const struct object *object)
{
	const uint64_t *accounts;
	uint32_t len = publish_payers(list->publish, object->id, &accounts);
	uint64_t least = len > 0 ? UINT64_MAX : share_held(list->places, object->payer);

	for (uint32_t i = 0; i < len; i++) {
		uint64_t held = share_held(list->places, accounts[i]);

		least = held < least ? held : least;
	}
	return least;
}

size_t object_shares_givers(const struct object_list *list, struct object_idle *out)
{
	uint64_t highest = 0;
	size_t len = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct object *object = list->all[i];
		uint64_t rank = object->placed ? rank_of(list, object) : 0;

		if (!object->placed || rank < highest)
			continue;
		if (rank > highest)
			len = 0;
		highest = rank;
		out[len++] = (struct object_idle){ .object = object };
	}
	for (size_t i = 0; i < len; i++)
		out[i].seconds = idle_seconds(list, out[i].object);
	qsort(out, len, sizeof(*out), most_idle_first);
	return len;
}

size_t object_shares_count(
	struct object *const *all, size_t len, bool (*is)(const struct object *object))
{
	size_t found = 0;

	for (size_t i = 0; i < len; i++)
		found += is(all[i]);
	return found;
}

size_t object_shares_refused(const struct object_list *list, struct object_idle *out)
{
	size_t len = 0;

	for (size_t i = 0; i < list->len; i++)
		if (object_is_due(list->all[i], list->now))
			out[len++] = (struct object_idle){ .object = list->all[i] };
	return len;
}
