/* SPDX-License-Identifier: Apache-2.0 */
/* agent/object.h - one mapped file: its descriptors, and what is known of it. */
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
	OBJECT_FAILED, /* reason says why */
};

struct object {
	uint32_t id;
	uint32_t met; /* the second of objects_trim */
	enum object_state state;
	enum object_reason reason;
	struct object_key key;
	int fd;
	int root_fd; /* of the process that was seen to map it, until debug files were looked for;
		      * or for good, if lines are wanted */
	struct debug_files debug_files;
	char *path; /* as the mapping process sees it; "" not known */
	char name[OBJECT_NAME_LEN];
	struct build_id build_id; /* len 0: none, or not known */
	size_t symbols;           /* once names were asked for */
	uint32_t sources;         /* of those: 1 << enum elf_sym_source */
	uint32_t names_status;    /* enum worker_status of the last time names were asked for */
	uint64_t unnamed;         /* frames, weighted by samples */
	uint32_t contents;        /* WORKER_HAS_*, once known */
	bool known;               /* what is in it, by a worker */
	bool wanted;              /* a frame of it was sampled */
	bool fetching;            /* its debug file was asked for */
};

/* Opened, without descriptors yet. NULL: no memory. */
struct object *object_new(uint32_t id, const char *name);
/* Closes what it has open. */
void object_free(struct object *object);
DEFINE_CLEANUP(struct object, object_free)

/* Closes the file, for this reason. */
void object_fail(struct object *object, enum object_reason reason);
/* The file's path as /proc/PID/map_files says it. */
void object_set_path(struct object *object, const char *path);
bool object_is_forgotten(const struct object *object);
/* Could it not be opened because its process was too quick? */
bool object_may_come_again(const struct object *object);
