/* SPDX-License-Identifier: Apache-2.0 */
/* files/hotspots.h - describes to BPF the processes that run HotSpot. An opener reads in the
 * process's memory where the heaps of code are, and the numbers that a libjvm.so fills in when it
 * is loaded. False ones spoil the process's own stacks alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
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

/* serial: as processes_id(). The account pays for its place (base/share.h). If the library has not
 * been read, or the process is only starting, hotspots_retry tries again, less and less often. */
void hotspots_meet(struct hotspots *hotspots, uint64_t serial, const struct opener_process *process,
	uint64_t account, const struct mappings_library *jvm);
void hotspots_retry(struct hotspots *hotspots, uint64_t now_ns);
/* CLOCK_NEVER_NS: none waits. */
uint64_t hotspots_due_ns(const struct hotspots *hotspots);
/* Its next sample of code without a file is an event again. */
void hotspots_drop(struct hotspots *hotspots, uint64_t serial, uint32_t tgid);
bool hotspots_has(const struct hotspots *hotspots, uint64_t serial);
/* How the tables of its code are read, and who pays. NULL: it is not described. Valid until the
 * next call of another function. */
const struct java_layout *hotspots_layout(
	const struct hotspots *hotspots, uint64_t serial, uint64_t *account);
/* Those that found no place. */
uint64_t hotspots_refused(const struct hotspots *hotspots);
