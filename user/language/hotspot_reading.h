/* SPDX-License-Identifier: Apache-2.0 */
/* language/hotspot_reading.h - a process's description for BPF, and the layout of the tables of its
 * code, from words in its memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "language/hotspot.h"
#include "language/java_image.h"

/* A process that is read in rounds: the words of each have the addresses of the next. */
struct hotspot_reading {
	const struct hotspot_facts *facts;
	uint64_t base; /* where the file's offset 0 is or would be mapped */
	uint32_t round;
	uint64_t offsets[HOTSPOT_FIELDS_LEN];
	uint64_t heaps[HOTSPOT_HEAPS_MAX];
	struct hotspot made;
	struct java_layout layout;
};

#define HOTSPOT_WORDS_MAX 64

/* The addresses of the words of the next round. 0: all is read, and `made` is whole. */
uint32_t hotspot_wants(const struct hotspot_reading *r, uint64_t addresses[HOTSPOT_WORDS_MAX]);
/* False: it is no HotSpot that can be described. */
bool hotspot_takes(struct hotspot_reading *r, const uint64_t *words, uint32_t len);
