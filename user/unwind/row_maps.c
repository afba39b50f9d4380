/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_maps.c - the kernel's maps. Few windows of the slabs are mapped at a time, because
 * mappings count as stoker's memory; the maps of pages and of rules are small and stay mapped. A
 * table may have ten thousand rules, and a system call for each took most of the time to publish
 * it. */
#include "unwind/row_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

static int object_get(void *ctx, const struct object_key *key, struct object_value *out)
{
	const struct row_maps_bpf *maps = ctx;

	return bpf_map_lookup_elem(maps->objects, key, out);
}

static int object_put(
	void *ctx, const struct object_key *key, const struct object_value *value, bool add)
{
	const struct row_maps_bpf *maps = ctx;

	return bpf_map_update_elem(maps->objects, key, value, add ? BPF_ANY : BPF_EXIST);
}

static int object_del(void *ctx, const struct object_key *key)
{
	const struct row_maps_bpf *maps = ctx;

	return bpf_map_delete_elem(maps->objects, key);
}

static int rule_put(void *ctx, uint32_t id, const struct unwind_rule *rule)
{
	const struct row_maps_bpf *maps = ctx;

	maps->mapped_rules[id] = *rule;
	return 0;
}

static int language_put(void *ctx, uint32_t index, const struct language *language)
{
	const struct row_maps_bpf *maps = ctx;

	return bpf_map_update_elem(maps->languages, &index, language, BPF_ANY);
}

/* The kernel enters each page of the range at once, so a whole slab would take its time. */
static uint8_t *bytes_map(void *ctx, uint64_t at, uint64_t len)
{
	const struct row_maps_bpf *maps = ctx;
	void *bytes = mmap(
		NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, maps->slabs, (off_t)at);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static void bytes_unmap(void *ctx, uint8_t *bytes, uint64_t len)
{
	(void)ctx;
	munmap(bytes, len);
}

static void wait_for_ticks(void *ctx)
{
	const struct row_maps_bpf *maps = ctx;

	maps->wait_for_ticks(maps->ticks_ctx);
}

static const struct row_maps_ops bpf_ops = {
	.object_get = object_get,
	.object_put = object_put,
	.object_del = object_del,
	.rule_put = rule_put,
	.language_put = language_put,
	.bytes_map = bytes_map,
	.bytes_unmap = bytes_unmap,
	.wait_for_ticks = wait_for_ticks,
};

#define KEPT_BYTES_MAX (16U << 20)
#define PAGES_BYTES (ROWS_PAGES_MAX * sizeof(struct rows_page))
#define RULES_BYTES (ROWS_RULES_MAX * sizeof(struct unwind_rule))

/* NULL: see errno. */
static void *map_all(int map, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

	return at == MAP_FAILED ? NULL : at;
}

int row_maps_bpf_open(struct row_maps_bpf *bpf, struct row_maps *out)
{
	bpf->mapped = map_all(bpf->pages, PAGES_BYTES);
	bpf->mapped_rules = bpf->mapped ? map_all(bpf->rules, RULES_BYTES) : NULL;
	if (!bpf->mapped_rules)
		return -errno;
	out->ops = &bpf_ops;
	out->ctx = bpf;
	out->pages = bpf->mapped;
	out->pages_len = ROWS_PAGES_MAX;
	out->rules_len = ROWS_RULES_MAX;
	out->kept_max = KEPT_BYTES_MAX;
	return 0;
}

void row_maps_bpf_close(struct row_maps_bpf *bpf)
{
	if (bpf->mapped)
		munmap(bpf->mapped, PAGES_BYTES);
	if (bpf->mapped_rules)
		munmap(bpf->mapped_rules, RULES_BYTES);
	bpf->mapped = NULL;
	bpf->mapped_rules = NULL;
}
