/* SPDX-License-Identifier: Apache-2.0 */
/* proc/maps.h - /proc/PID/maps (proc(5)): text in, mappings out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MAPS_PATH_MAX 4096

struct maps_entry {
	uint64_t start, end;
	uint64_t file_offset;
	uint64_t ino; /* 0: no file */
	uint32_t dev; /* as the kernel packs it: major << 20 | minor */
	bool executable;
	bool shared;
	char path[MAPS_PATH_MAX]; /* a newline in it reads \012; "" none */
};

/* Calls take for each line that is one, in order; the entry is good during the call. Returns how
 * many lines were none. */
uint32_t maps_parse(
	const char *text, void (*take)(void *ctx, const struct maps_entry *entry), void *ctx);

/* Code in no file that could be opened: anonymous memory, or shared memory without a path (memfd,
 * /dev/zero), which is where JITs keep theirs. Kernel-made mappings such as [vdso] are none. */
bool maps_is_anon_code(const struct maps_entry *entry);
