/* SPDX-License-Identifier: Apache-2.0 */
/* agent/object.h - one mapped file: its descriptors and its known facts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/own.h"
#include "bpf/reasons.h"
#include "agent/debug_files.h"
#include "elf/build_id.h"

enum object_state {
	OBJECT_OPENED,
	OBJECT_FAILED, /* see reason */
};

struct object {
	uint32_t id;
	uint32_t met; /* the second of objects_trim */
	enum object_state state;
	enum object_reason reason;
	struct object_key key;
	int fd;
	/* Root of the process that mapped it; closed when debug files are found, unless lines are
	 * wanted. */
	int root_fd;
	struct debug_files debug_files;
	char *path; /* in the mapping process's view; "": unknown */
	char name[OBJECT_NAME_LEN];
	struct build_id build_id; /* len 0: none or unknown */
	size_t symbols;           /* set by the first query for names */
	uint32_t sources;         /* their sources: 1 << enum elf_sym_source */
	uint32_t names_status;    /* enum worker_status of the latest query for names */
	uint64_t unnamed;         /* frames, weighted by samples */
	uint32_t contents;        /* WORKER_HAS_*, set by a worker */
	bool known;               /* a worker has examined it */
	bool wanted;              /* a frame of it was sampled */
	bool fetching;            /* its debug file is being fetched */
};

/* State OBJECT_OPENED, without descriptors yet. NULL: no memory. */
struct object *object_new(uint32_t id, const char *name);
/* Closes its descriptors. */
void object_free(struct object *object);
DEFINE_CLEANUP(struct object, object_free)

/* Closes the file, for this reason. */
void object_fail(struct object *object, enum object_reason reason);
/* Sets the path that /proc/PID/map_files gives. */
void object_set_path(struct object *object, const char *path);
bool object_is_forgotten(const struct object *object);
/* Was there no room for it, or no descriptor? */
bool object_is_refused(const struct object *object);
/* Did opening fail only because its process ended too soon? */
bool object_may_come_again(const struct object *object);
