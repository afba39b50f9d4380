/* SPDX-License-Identifier: Apache-2.0 */
/* made_maps.h - the maps of unwind tables in memory, with the kernel's manners: calls that fail
 * when they are told to, ticks that still search what they found before the last grace period, and
 * BPF that meets files and asks for pages. Slabs are few, so that room is short. */
#pragma once

#include "unwind/row_maps.h"
#include "maps_check.h"

#define MADE_OBJECTS_MAX 64
#define MADE_PAGES 4096
#define MADE_SLABS 1
#define MADE_KEPT_BYTES (16U << 20)
#define MADE_RULES_FEW 1024 /* for maps.rules_len, where room for rules is to be short, too */
#define MADE_LINGERING_MAX 16384

/* What a tick that began before the last grace period may still be in. */
struct made_lingering {
	uint64_t start, end; /* bytes in the slabs, or page numbers */
};

struct made_maps {
	struct row_maps maps;
	struct rows_page pages[MADE_PAGES], seen[MADE_PAGES]; /* seen: as they were */
	_Alignas(8) uint8_t slabs[MADE_SLABS * ROWS_SLAB_BYTES];
	struct maps_object objects[MADE_OBJECTS_MAX];
	size_t len;
	struct unwind_rule rules[ROWS_RULES_MAX];
	uint32_t rules_len; /* number of those that were put */
	struct language languages[LANGUAGES_MAX];
	uint32_t objects_len, epoch, rules_epoch, second;
	struct made_lingering bytes[MADE_LINGERING_MAX], numbers[MADE_LINGERING_MAX];
	size_t bytes_len, numbers_len;
	uint64_t mapped;   /* bytes */
	uint32_t mappings; /* that were made */
	uint64_t failing; /* bit i: the i-th call from now fails */
	bool broken;      /* something was given away too soon */
	const char *what;
};

/* To be freed. */
struct made_maps *made_maps_new(void);
/* As BPF meets a file: its object, a new one under this id if it is not known. NULL: no room. */
struct object_value *made_meet(struct made_maps *maps, const struct object_key *key, uint32_t id);
/* The object of this file that BPF knows, or NULL. */
struct maps_object *made_find(struct made_maps *maps, const struct object_key *key);
/* As BPF needs a page: true when user space is to be asked. */
bool made_ask(struct made_maps *maps, uint32_t page);
/* maps_check, and whether anything was given away that a tick could be in. Flags as there. */
bool made_is_consistent(struct made_maps *maps, bool between, bool shallow,
	void (*complain)(void *ctx, const char *text), void *ctx);
