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
	uint32_t dev; /* in kernel encoding: major << 20 | minor */
	bool readable, writable, executable;
	bool shared;
	char path[MAPS_PATH_MAX]; /* newlines are written \012; "": none */
};

/* Calls take for each well-formed line, in order; the entry is valid during the call. Returns the
 * number of malformed lines. */
uint32_t maps_parse(
	const char *text, void (*take)(void *ctx, const struct maps_entry *entry), void *ctx);

/* Executable memory without a file that can be opened: anonymous, or shared without a path (memfd,
 * /dev/zero, huge pages). JITs keep code there. Kernel mappings such as [vdso] do not count. */
bool maps_is_anon_code(const struct maps_entry *entry);

/* Is anonymous code the text of a file, copied there by the program? As bpf/mapping.bpf.h decides
 * it: the mappings before and after are of that file, and nothing of it is missing or twice. */
bool maps_is_moved_text(const struct maps_entry *before, const struct maps_entry *code,
	const struct maps_entry *after);
