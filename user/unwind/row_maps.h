/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_maps.h - access to the BPF maps of unwind tables by a table of functions: the kernel's
 * maps (row_maps_bpf_open), or test memory that can fail on purpose.
 * The map of pages is shared memory: a store cannot fail, and BPF sees it at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

#define ROWS_WINDOW_BYTES (64U << 10) /* no kernel has larger pages */

/* Functions return 0 or -errno. */
struct row_maps_ops {
	int (*object_get)(void *ctx, const struct object_key *key, struct object_value *out);
	/* add: create a missing entry; otherwise a missing entry is -ENOENT. */
	int (*object_put)(void *ctx, const struct object_key *key, const struct object_value *value,
		bool add);
	int (*object_del)(void *ctx, const struct object_key *key); /* -ENOENT */
	int (*rule_put)(void *ctx, uint32_t id, const struct unwind_rule *rule);
	int (*language_put)(void *ctx, uint32_t index, const struct language *language);
	/* Bytes of one slab, shared with BPF, until bytes_unmap; at: of all slabs, a multiple of
	 * ROWS_WINDOW_BYTES, as len is. NULL: no memory. */
	uint8_t *(*bytes_map)(void *ctx, uint64_t at, uint64_t len);
	void (*bytes_unmap)(void *ctx, uint8_t *bytes, uint64_t len);
	/* Waits until all ticks that began before the call have ended. */
	void (*wait_for_ticks)(void *ctx);
};

struct row_maps {
	const struct row_maps_ops *ops;
	void *ctx;
	struct rows_page *pages; /* BPF writes requests and times of use here */
	uint32_t pages_len;
	uint32_t slabs_len;
	uint32_t rules_len;    /* size of the map of rules; at most ROWS_RULES_MAX */
	uint64_t kept_max;     /* bytes of rows that user space keeps, to load pages from */
	uint32_t *objects_len; /* entries in the map of objects; decrement for each deleted one */
	uint32_t *epoch;       /* raise it when an object's table appears or disappears */
	uint32_t *rules_epoch; /* raise it before what a table's pages had is used anew */
	uint32_t *second;      /* clock of `used`; never 0 */
};

/* The kernel's maps. The caller owns the descriptors and keeps this alive while the maps are
 * used. */
struct row_maps_bpf {
	int objects, slabs, pages, rules, languages;
	void (*wait_for_ticks)(void *ctx);
	void *ticks_ctx;
	struct rows_page *mapped; /* the map of pages */
	struct unwind_rule *mapped_rules;
};

/* Sets ops, ctx, pages, pages_len, rules_len and kept_max. -errno: a map cannot be mapped;
 * row_maps_bpf_close is still called. */
int row_maps_bpf_open(struct row_maps_bpf *bpf, struct row_maps *out);
void row_maps_bpf_close(struct row_maps_bpf *bpf);
