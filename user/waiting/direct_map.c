/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/direct_map.c - the first table of our own pages lies in physical memory, and its kernel
 * address is known. So the direct map begins at most a memory's size below that address, at a whole
 * GiB (the kernel shifts it by those). Each such place is tried, the lowest first: BPF reads a page
 * of ours, with random content, as if the map began there. No place above the true one is tried,
 * so all that is read is memory or nothing. Tables of another format (a hypervisor's frame numbers,
 * encrypted memory, pages of another size) lead nowhere, or to other content. */
#include "waiting/direct_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"

#define PLACE_SHIFT 30
#define PLACES_MAX (1U << 16) /* 64 TiB */
#define PAGE_4K 4096
#define PROOF_BYTES 64
#define ZONEINFO_MAX (4U << 20)
#define HALF (1ULL << 47)

/* The number after this word of a line; false: the line has another word first. */
static bool number_after(const char *line, const char *end, const char *word, uint64_t *out)
{
	size_t len = strlen(word);

	while (line < end && *line == ' ')
		line++;
	if ((size_t)(end - line) <= len || memcmp(line, word, len) != 0)
		return false;
	for (line += len; line < end && *line == ' '; line++)
		;
	*out = 0;
	for (; line < end && *line >= '0' && *line <= '9'; line++)
		*out = *out * 10 + (uint64_t)(*line - '0');
	return true;
}

uint64_t direct_map_pages(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	uint64_t spanned = 0, number, most = 0;

	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		next = next ? next : end;
		if (number_after(at, next, "spanned", &number))
			spanned = number;
		else if (number_after(at, next, "start_pfn:", &number) && number + spanned > most)
			most = number + spanned;
		at = next + (next < end);
	}
	return most;
}

static int read_pages(uint64_t *pages)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_path("/proc/zoneinfo", ZONEINFO_MAX, &text);

	if (err < 0)
		return err;
	*pages = direct_map_pages((const char *)text.data, text.len);
	return *pages ? 0 : -ENODATA;
}

/* The levels of tables that may be unused: by how high the first table is, or to be tried. */
static void unused_levels(uint64_t root, uint32_t *first, uint32_t *last)
{
#if defined(__x86_64__)
	*first = *last = root >= 0 - HALF; /* with 57 bits of address the map is below that */
#else
	(void)root;
	*first = 0;
	*last = 1;
#endif
}

static int try_places(const struct direct_map_asker *asker, const uint8_t *page, uint64_t pages,
	struct direct_map *map)
{
	uint64_t bytes = pages * PAGE_4K, root, place;
	uint8_t out[PROOF_BYTES];
	uint32_t last;
	int err = asker->ask(asker->ctx, 0, 0, page, out, &root);

	if (err < 0 || root < bytes || bytes >> PLACE_SHIFT > PLACES_MAX)
		return err < 0 ? err : -EOPNOTSUPP;
	map->memory_end = bytes;
	for (unused_levels(root, &map->top, &last); map->top <= last; map->top++) {
		for (place = (root - bytes) >> PLACE_SHIFT; place <= root >> PLACE_SHIFT; place++) {
			map->base = place << PLACE_SHIFT;
			err = asker->ask(asker->ctx, map->base, map->top, page, out, &root);
			if (err < 0)
				return err;
			if (err > 0 && memcmp(out, page, sizeof(out)) == 0)
				return 0;
		}
	}
	return -EOPNOTSUPP;
}

int direct_map_find(
	const struct direct_map_asker *asker, struct direct_map *out, struct why *why)
{
	uint64_t pages;
	uint8_t *page;
	int err = read_pages(&pages);

	if (err < 0)
		return why_set(why, -EOPNOTSUPP,
			"/proc/zoneinfo does not say how much memory there is: %s", err_text(err));
	if (sysconf(_SC_PAGESIZE) != PAGE_4K)
		return why_set(why, -EOPNOTSUPP, "page tables are read with pages of 4 KiB only");
	page = mmap(NULL, PAGE_4K, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return why_set(why, -errno, "out of memory");
	err = getrandom(page, PROOF_BYTES, 0) == PROOF_BYTES
		? try_places(asker, page, pages, out)
		: -EIO;
	munmap(page, PAGE_4K);
	if (err < 0)
		return why_set(why, -EOPNOTSUPP,
			"the page tables of this machine have another format: encrypted memory, or "
			"a hypervisor that has its own numbers of pages");
	return 0;
}
