/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_maps.h - the BPF maps that hold unwind tables, behind functions: the kernel's maps
 * (row_maps_bpf_open), or memory that fails when a test wants it to.
 * The map of pages is shared memory: a store cannot fail, and BPF sees it at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

/* Functions return 0 or -errno. */
struct row_maps_ops {
	int (*object_get)(void *ctx, const struct object_key *key, struct object_value *out);
	/* add: make an entry that is missing; otherwise a missing entry is -ENOENT. */
	int (*object_put)(void *ctx, const struct object_key *key, const struct object_value *value,
		bool add);
	int (*object_del)(void *ctx, const struct object_key *key); /* -ENOENT */
	int (*rule_put)(void *ctx, uint32_t id, const struct unwind_rule *rule);
	/* The bytes of one slab, shared with BPF, until slab_unmap. NULL: no memory. */
	uint8_t *(*slab_map)(void *ctx, uint32_t slab);
	void (*slab_unmap)(void *ctx, uint8_t *bytes);
	/* Returns when no tick that began before the call still runs. */
	void (*wait_for_ticks)(void *ctx);
};

struct row_maps {
	const struct row_maps_ops *ops;
	void *ctx;
	struct rows_page *pages; /* BPF writes requests and times of use here */
	uint32_t pages_len;
	uint32_t slabs_len;
	uint32_t *objects_len; /* in the map of objects; counted down for each that is taken out */
	uint32_t *epoch;       /* raised when an object's table comes or goes */
	uint32_t *second;      /* by which use is measured; never 0 */
};

/* The kernel's maps: descriptors stay the caller's, and it outlives whoever uses them. */
struct row_maps_bpf {
	int objects, slabs, pages, rules;
	void (*wait_for_ticks)(void);
	struct rows_page *mapped; /* the map of pages */
};

/* Sets ops, ctx, pages and pages_len. -errno: the map of pages cannot be mapped. */
int row_maps_bpf_open(struct row_maps_bpf *bpf, struct row_maps *out);
void row_maps_bpf_close(struct row_maps_bpf *bpf);
