/* SPDX-License-Identifier: Apache-2.0 */
/* base/strtab.c - one block of bytes, one array of offsets, one table of slots: three allocations
 * for any number of strings. */
#include "base/strtab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS_MIN 64

static int grow_bytes(struct strtab *tab, size_t need)
{
	size_t cap = tab->bytes_cap ? tab->bytes_cap : 1024;
	char *bytes;

	if (need <= tab->bytes_cap)
		return 0;
	if (need > UINT32_MAX)
		return -ENOMEM;
	while (cap < need)
		cap *= 2;
	bytes = realloc(tab->bytes, cap);
	if (!bytes)
		return -ENOMEM;
	tab->bytes = bytes;
	tab->bytes_cap = cap;
	return 0;
}

static int grow_ids(struct strtab *tab)
{
	uint32_t cap = tab->cap ? tab->cap * 2 : SLOTS_MIN;
	uint32_t *offsets;

	if (tab->len < tab->cap)
		return 0;
	offsets = reallocarray(tab->offsets, cap, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	tab->offsets = offsets;
	tab->cap = cap;
	return 0;
}

/* The slot of this string, or the free one where it belongs. */
static uint32_t *find_slot(const struct strtab *tab, const char *text, size_t len)
{
	uint32_t mask = tab->slots_cap - 1, i = (uint32_t)hash_bytes(text, len) & mask;

	while (tab->slots[i]) {
		size_t at = tab->offsets[tab->slots[i] - 1];

		if (len < tab->bytes_len - at && memcmp(tab->bytes + at, text, len) == 0 &&
			tab->bytes[at + len] == '\0')
			break;
		i = (i + 1) & mask;
	}
	return &tab->slots[i];
}

static int grow_slots(struct strtab *tab)
{
	uint32_t cap = tab->slots_cap ? tab->slots_cap * 2 : SLOTS_MIN;
	uint32_t *slots;

	if (tab->len * 2 < tab->slots_cap)
		return 0;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(tab->slots);
	tab->slots = slots;
	tab->slots_cap = cap;
	for (uint32_t id = 0; id < tab->len; id++) {
		const char *text = strtab_get(tab, id);

		*find_slot(tab, text, strlen(text)) = id + 1;
	}
	return 0;
}

int strtab_init(struct strtab *tab)
{
	uint32_t id;

	*tab = (struct strtab){ 0 };
	return strtab_put(tab, "", 0, &id);
}

void strtab_done(struct strtab *tab)
{
	free(tab->bytes);
	free(tab->offsets);
	free(tab->slots);
	*tab = (struct strtab){ 0 };
}

int strtab_put(struct strtab *tab, const char *text, size_t len, uint32_t *id)
{
	uint32_t *slot;
	int err;

	/* No text may have no place: it is the empty string. */
	len = len > 0 ? strnlen(text, len) : 0;
	if (len == 0)
		text = "";
	err = grow_slots(tab);
	if (err < 0)
		return err;
	slot = find_slot(tab, text, len);
	if (!*slot) {
		err = grow_ids(tab);
		if (err == 0)
			err = grow_bytes(tab, tab->bytes_len + len + 1);
		if (err < 0)
			return err;
		tab->offsets[tab->len] = (uint32_t)tab->bytes_len;
		memcpy(tab->bytes + tab->bytes_len, text, len);
		tab->bytes[tab->bytes_len + len] = '\0';
		tab->bytes_len += len + 1;
		*slot = ++tab->len;
	}
	*id = *slot - 1;
	return 0;
}

int strtab_puts(struct strtab *tab, const char *text, uint32_t *id)
{
	return strtab_put(tab, text, strlen(text), id);
}

const char *strtab_get(const struct strtab *tab, uint32_t id)
{
	assert(id < tab->len);
	return tab->bytes + tab->offsets[id];
}

uint32_t strtab_cut(struct strtab *tab, size_t max, const bool *which)
{
	uint32_t cut = 0;

	for (uint32_t id = 0; id < tab->len; id++) {
		char *text = tab->bytes + tab->offsets[id];
		size_t at = max - 3;

		if (!which[id] || strnlen(text, max + 1) <= max)
			continue;
		while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
			at--;
		memcpy(text + at, "...", 4);
		cut++;
	}
	return cut;
}

size_t strtab_memory(const struct strtab *tab)
{
	return tab->bytes_cap + (tab->cap + (size_t)tab->slots_cap) * sizeof(uint32_t);
}
