/* SPDX-License-Identifier: Apache-2.0 */
/* files/object_shares.h - the places of mapped files, and the choice of those that give them up. A
 * place is charged to the account (base/share.h) that was met with the file first. A file ranks by
 * the account with the fewest places of those that have samples in it, so what many use goes only
 * when all of them have many. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/share.h"

struct object;
struct publish;

struct object_list {
	struct object *const *all;
	size_t len;
	uint32_t now; /* the second */
	uint32_t idle_for;
	const struct publish *publish;
	const struct share *places;
};

struct object_idle {
	struct object *object;
	uint32_t seconds; /* since a tick met it */
};

/* -ENOMEM: it was not charged. */
int object_shares_charge(struct share *places, struct object *object, uint64_t account);
/* Nothing happens if it has no place. */
void object_shares_return(struct share *places, struct object *object);

size_t object_shares_count(
	struct object *const *all, size_t len, bool (*is)(const struct object *object));

/* Files that are to be forgotten, the first one first. out: room for all. Their number. */
typedef size_t (*object_choice_fn)(const struct object_list *list, struct object_idle *out);

/* Those that no tick met for more than idle_for seconds, the longest first. */
size_t object_shares_idle(const struct object_list *list, struct object_idle *out);
/* The same, and removed files after a tenth of that time. */
size_t object_shares_unused(const struct object_list *list, struct object_idle *out);
/* Those of the highest rank, the most idle first. */
size_t object_shares_givers(const struct object_list *list, struct object_idle *out);
/* Those that had no place, or hung a while ago: whoever uses them now meets them again. */
size_t object_shares_refused(const struct object_list *list, struct object_idle *out);
