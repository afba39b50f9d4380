/* SPDX-License-Identifier: Apache-2.0 */
/* worker/kept.c - a dense table with a hash index. Eviction scans all entries, but only after a
 * load, which costs more. */
#include "worker/kept.h"

#include <errno.h>
#include <stdbool.h>

#include "worker/map_reader.h"
#include "worker/symbols.h"
#include "worker/worker.h"

static uint64_t key_of(enum kept_kind kind, uint64_t id)
{
	return id << 1 | (kind == KEPT_MAP);
}

static void free_what(enum kept_kind kind, void *what)
{
	if (kind == KEPT_MAP)
		map_reader_free(what);
	else
		symbols_free(what);
}

void kept_done(struct kept *kept)
{
	vec_each (&kept->all, entry)
		free_what(entry->kind, entry->what);
	vec_done(&kept->all);
	hash_done(&kept->by_key);
	*kept = (struct kept)KEPT_INIT;
}

struct kept_entry *kept_find(struct kept *kept, enum kept_kind kind, uint64_t id)
{
	uint64_t *at = hash_find(&kept->by_key, key_of(kind, id));
	struct kept_entry *entry = at ? &kept->all.data[*at] : NULL;

	if (!entry || entry->id != id)
		return NULL;
	entry->used = ++kept->clock;
	return entry;
}

static void drop_at(struct kept *kept, size_t i)
{
	struct kept_entry *entry = &kept->all.data[i], *last = &kept->all.data[kept->all.len - 1];

	free_what(entry->kind, entry->what);
	kept->bytes -= entry->bytes;
	hash_del(&kept->by_key, key_of(entry->kind, entry->id));
	if (entry != last) {
		*entry = *last;
		*hash_find(&kept->by_key, key_of(entry->kind, entry->id)) = i;
	}
	kept->all.len--;
}

void kept_drop(struct kept *kept, enum kept_kind kind, uint64_t id)
{
	uint64_t *at = hash_find(&kept->by_key, key_of(kind, id));

	if (at)
		drop_at(kept, *at);
}

int kept_put(struct kept *kept, enum kept_kind kind, uint64_t id, void *what, size_t bytes)
{
	struct kept_entry *entry;

	kept_drop(kept, kind, id);
	entry = vec_add(&kept->all);
	if (!entry || hash_put(&kept->by_key, key_of(kind, id), kept->all.len - 1) < 0) {
		kept->all.len -= entry != NULL;
		free_what(kind, what);
		return -ENOMEM;
	}
	*entry = (struct kept_entry){ kind, id, what, bytes, ++kept->clock };
	kept->bytes += bytes;
	return 0;
}

void kept_resize(struct kept *kept, struct kept_entry *entry, size_t bytes)
{
	kept->bytes += bytes - entry->bytes;
	entry->bytes = bytes;
}

static size_t oldest(const struct kept *kept)
{
	size_t found = 0;

	for (size_t i = 1; i < kept->all.len; i++)
		if (kept->all.data[i].used < kept->all.data[found].used)
			found = i;
	return found;
}

void kept_trim(struct kept *kept, size_t bytes_max)
{
	while (kept->all.len > 1 && (kept->bytes > bytes_max || kept->all.len > WORKER_KEPT_MAX)) {
		drop_at(kept, oldest(kept));
		kept->evicted_len++;
	}
}

void kept_trim_symbols(struct kept *kept, size_t bytes_max)
{
	for (;;) {
		const struct kept_entry *found = NULL;
		size_t bytes = 0;

		vec_each (&kept->all, entry) {
			if (entry->kind != KEPT_SYMBOLS)
				continue;
			bytes += entry->bytes;
			if (!found || entry->used < found->used)
				found = entry;
		}
		if (!found || bytes <= bytes_max || found->used == kept->clock)
			return;
		drop_at(kept, (size_t)(found - kept->all.data));
		kept->evicted_len++;
	}
}
