/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/objects.h - the mapped files that BPF has met, each once for all processes.
 * A file is opened at once, while the process that maps it lives, and its symbols are loaded at the
 * first frame that wants a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "sym/elf_sym.h"

#define OBJECTS_OPEN_MAX 8192
#define OBJECT_FILE_BYTES_MAX (4UL << 30)

enum object_state {
	OBJECT_MET,    /* open, or the vDSO */
	OBJECT_LOADED, /* symbols are there, perhaps none */
	OBJECT_FAILED, /* reason says why */
};

struct object {
	uint32_t id;
	enum object_state state;
	enum object_reason reason;
	int fd;
	char *path; /* as the mapping process sees it; "" not known */
	char name[OBJECT_NAME_LEN];
	struct elf_sym *symbols;
	struct object_key key;
	bool table; /* its rows were published, or it has none */
};

struct objects_stats {
	uint64_t known, loaded, symbol_loads, symbol_bytes;
	uint64_t load_ns;
	uint64_t table_ns;       /* spent on compiling rows */
	uint64_t eh_frame_bytes; /* compiled */
	uint64_t failed[OBJECT_REASONS_LEN];
};

struct objects;
struct publish;

/* publish: where rows go. */
int objects_new(struct publish *publish, struct objects **out);
void objects_free(struct objects *objects);
int objects_add(struct objects *objects, const struct event_object *event);
/* Compiles and publishes the object's rows (again, if they are there). */
int objects_publish(struct objects *objects, uint32_t id);
/* NULL: no such object. Loads the symbols if they are not. */
const struct object *objects_get(struct objects *objects, uint32_t id);
void objects_stats(const struct objects *objects, struct objects_stats *out);
