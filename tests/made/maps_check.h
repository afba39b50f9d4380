/* SPDX-License-Identifier: Apache-2.0 */
/* maps_check.h - do the maps of unwind tables agree with each other? As BPF reads them: by what
 * objects are told to have, and by what pages are told to be. It knows nothing of how they were
 * made, so it serves for maps in memory and for those of a running stoker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

struct maps_object {
	struct object_key key;
	struct object_value value;
};

struct maps_seen {
	const struct maps_object *objects;
	size_t objects_len;
	const struct rows_page *pages;
	uint32_t pages_len;
	const uint8_t *slabs; /* all of them, one behind the other */
	uint64_t slabs_bytes;
	uint32_t rules_len; /* ids that BPF has */
	bool shallow;       /* the rules of each row are not looked at: there are many */
	bool between;       /* tables are made that no object is told to have, yet */
	/* What is wrong, one call each; NULL: nobody asks. */
	void (*complain)(void *ctx, const char *text);
	void *ctx;
	size_t wrong;
};

/* True: nothing is wrong. */
bool maps_check(struct maps_seen *seen);
