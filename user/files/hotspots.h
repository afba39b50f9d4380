/* SPDX-License-Identifier: Apache-2.0 */
/* files/hotspots.h - describes to BPF the processes that run HotSpot. An opener reads in the
 * process's memory where the heaps of code are, and the numbers that a libjvm.so fills in when it
 * is loaded. False ones spoil the process's own stacks alone. */
#pragma once

#include <stdint.h>

#include "bpf/abi.h"
#include "language/hotspot.h"
#include "language/java_image.h"
#include "proc/opener.h"
#include "wire/mappings.h"

struct hotspots;
struct objects;
struct opener_call;
struct sampler;

int hotspots_new(struct objects *objects, struct sampler *sampler, struct opener_call *call,
	struct hotspots **out);
void hotspots_free(struct hotspots *hotspots);

/* serial: as processes_id(). The account pays for its place (base/share.h). 0: it is described now;
 * -EAGAIN: not yet, as its library has not been read; -ENOSPC: there is no place; else it is none
 * that can be described. */
int hotspots_meet(struct hotspots *hotspots, uint64_t serial, const struct opener_process *process,
	uint64_t account, const struct mappings_library *jvm);
void hotspots_drop(struct hotspots *hotspots, uint64_t serial);
/* How the tables of its code are read, and who pays. NULL: it is not described. Valid until the
 * next call of another function. */
const struct java_layout *hotspots_layout(
	const struct hotspots *hotspots, uint64_t serial, uint64_t *account);
/* Those that found no place. */
uint64_t hotspots_refused(const struct hotspots *hotspots);

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
