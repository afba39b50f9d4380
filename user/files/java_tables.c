/* SPDX-License-Identifier: Apache-2.0 */
/* files/java_tables.c - that a code has no table is kept, too, so that it is not read again. */
#include "files/java_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "language/java_table.h"

#define KEPT_BYTES_MAX (16UL << 20)
#define KEPT_MAX 65536
#define IDLE_INTERVALS 6 /* BPF sends a code again within so many */

struct kept {
	uint32_t id, used;
	uint64_t account, bytes;
	struct java_table *table; /* owned; NULL: the code has none */
};

struct java_tables {
	VEC(struct kept) kept;
	struct hash by_id; /* index in kept */
	struct share room;
	uint32_t interval;
};

int java_tables_new(struct java_tables **out)
{
	struct java_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	*out = tables;
	return 0;
}

void java_tables_free(struct java_tables *t)
{
	if (!t)
		return;
	vec_each (&t->kept, kept)
		free(kept->table);
	vec_done(&t->kept);
	hash_done(&t->by_id);
	share_done(&t->room);
	free(t);
}

static void drop(struct java_tables *t, size_t at)
{
	struct kept *kept = &t->kept.data[at];

	share_return(&t->room, kept->account, kept->bytes);
	hash_del(&t->by_id, kept->id);
	free(kept->table);
	*kept = t->kept.data[--t->kept.len];
	if (at < t->kept.len)
		*hash_find(&t->by_id, kept->id) = at;
}

int java_tables_keep(struct java_tables *t, uint32_t id, uint64_t account,
	const struct java_table *table)
{
	_cleanup_(freep) void *copy = NULL;
	uint64_t bytes = sizeof(struct kept) + (table ? table->bytes : 0);
	struct kept *slot;

	if (t->kept.len >= KEPT_MAX ||
		share_refuses(&t->room, account, bytes, KEPT_BYTES_MAX))
		return -ENOSPC;
	if (table) {
		copy = malloc(table->bytes);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, table, table->bytes);
	}
	slot = vec_add(&t->kept);
	if (!slot)
		return -ENOMEM;
	if (share_charge(&t->room, account, bytes) < 0) {
		t->kept.len--;
		return -ENOMEM;
	}
	*slot = (struct kept){ id, t->interval, account, bytes, TAKE_PTR(copy) };
	if (hash_put(&t->by_id, id, t->kept.len - 1) == 0)
		return 0;
	share_return(&t->room, account, bytes);
	free(slot->table);
	t->kept.len--;
	return -ENOMEM;
}

bool java_tables_know(const struct java_tables *t, uint32_t id)
{
	return hash_find(&t->by_id, id) != NULL;
}

const struct java_table *java_tables_find(struct java_tables *t, uint32_t id)
{
	const uint64_t *at = t ? hash_find(&t->by_id, id) : NULL;

	if (!at)
		return NULL;
	t->kept.data[*at].used = t->interval;
	return t->kept.data[*at].table;
}

void java_tables_next(struct java_tables *t)
{
	t->interval++;
	for (size_t i = t->kept.len; i-- > 0;)
		if (t->interval - t->kept.data[i].used > IDLE_INTERVALS)
			drop(t, i);
}
