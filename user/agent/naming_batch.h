/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming_batch.h - part of agent/naming.h: the places that are named together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/naming.h"

#define UNNAMED(reason) (-1 - (int32_t)(reason))

/* The places of one owner, and what their frames have in common. */
struct naming_batch {
	struct naming *naming;
	struct naming_place *places;
	size_t len;
	struct profile_frame frame;      /* but for its name and address */
	const enum name_source *sources; /* by what an answer says */
	size_t sources_len;
	const struct object *object;
	uint32_t set;      /* of the object's debug files; 0: those for everybody */
	bool own;          /* names are ours from here on, and no program's */
	const char *where; /* the file's name; NULL: it is no file */
	uint32_t first;    /* of the frame ids of the place that is being filled */
};

/* A frame at a place; with its function, which is the last one, the place is named. */
int naming_put_named(struct naming_batch *batch, struct naming_place *place,
	const struct worker_name *name, int32_t source);
/* The same of a name without lines. */
int naming_put_name(
	struct naming_batch *batch, struct naming_place *place, const char *name, int32_t source);
/* Asks for the names of all of them. */
int naming_make_query(struct naming_batch *batch, struct worker_query *query);
/* A worker_name_fn; ctx: the batch. */
int naming_on_name(void *ctx, size_t index, const struct worker_name *name);
/* Names places in code of a JIT's. */
int naming_jit(struct naming_batch *batch, uint64_t process);
/* Names places in code of a language's. process: 0 stands for code that was never sent. */
int naming_codes(struct naming_batch *batch, uint64_t process);
