/* SPDX-License-Identifier: Apache-2.0 */
/* elf/exports.c - a chain of either table is followed for as many symbols as there are at most. */
#include "elf/exports.h"

#include <elf.h>
#include <string.h>

#define WORD 4

bool exports_init(struct exports *exports, struct image *image)
{
	const struct image_section *section = image_section_by_type(image, SHT_DYNSYM);
	const struct image_section *hash = image_section_by_type(image, SHT_GNU_HASH);
	struct exports made = { .is_gnu = hash != NULL };

	if (!hash)
		hash = image_section_by_type(image, SHT_HASH);
	if (!section || !hash || symtab_init(&made.symbols, image, section) < 0 ||
		image_section_bytes(image, hash, &made.hash) < 0)
		return false;
	*exports = made;
	return true;
}

/* A word of the table; 0 outside. */
static uint32_t word_at(const struct exports *exports, uint64_t offset)
{
	struct cursor c = cursor_init(exports->hash.data, exports->hash.len);

	cursor_seek(&c, offset);
	return cursor_u32(&c);
}

static bool is_it(const struct exports *exports, uint32_t index, const char *name, size_t len,
	struct symtab_entry *out)
{
	struct symtab_entry entry;
	struct bytes found;

	if (!symtab_get(&exports->symbols, index, &entry) || entry.section == SHN_UNDEF)
		return false;
	found = symtab_name(&exports->symbols, entry.name, len + 1);
	if (found.len != len || memcmp(found.data, name, len) != 0)
		return false;
	*out = entry;
	return true;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Head: number of buckets, first symbol, words of the filter, shift. The filter, of addresses'
 * size, the buckets, and a hash for each symbol, whose lowest bit ends a chain. */
static bool find_gnu(
	const struct exports *exports, const char *name, size_t len, struct symtab_entry *out)
{
	uint32_t buckets = word_at(exports, 0), first = word_at(exports, WORD);
	uint64_t filter = (uint64_t)word_at(exports, 2 * WORD) *
		(exports->symbols.narrow ? sizeof(uint32_t) : sizeof(uint64_t));
	uint64_t at = 4 * WORD + filter, chains = at + (uint64_t)buckets * WORD;
	uint32_t hash = gnu_hash(name), index, found;

	if (buckets == 0)
		return false;
	index = word_at(exports, at + (uint64_t)(hash % buckets) * WORD);
	for (; index >= first && index > 0 && index < exports->symbols.len; index++) {
		found = word_at(exports, chains + (uint64_t)(index - first) * WORD);
		if ((found | 1) == (hash | 1) && is_it(exports, index, name, len, out))
			return true;
		if (found & 1)
			break;
	}
	return false;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (uint8_t)*name;
		hash ^= (hash & 0xf0000000) >> 24;
		hash &= 0x0fffffff;
	}
	return hash;
}

/* Number of buckets and of symbols, the first symbol of each bucket, the next of each symbol. */
static bool find_sysv(
	const struct exports *exports, const char *name, size_t len, struct symtab_entry *out)
{
	uint32_t buckets = word_at(exports, 0), index;
	uint64_t next = 2 * WORD + (uint64_t)buckets * WORD;

	if (buckets == 0)
		return false;
	index = word_at(exports, 2 * WORD + (uint64_t)(sysv_hash(name) % buckets) * WORD);
	for (size_t i = 0; i < exports->symbols.len && index != 0; i++) {
		if (is_it(exports, index, name, len, out))
			return true;
		index = word_at(exports, next + (uint64_t)index * WORD);
	}
	return false;
}

bool exports_find(const struct exports *exports, const char *name, struct symtab_entry *out)
{
	size_t len = strlen(name);

	return exports->is_gnu ? find_gnu(exports, name, len, out)
			       : find_sysv(exports, name, len, out);
}
