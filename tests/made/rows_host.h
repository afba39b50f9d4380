/* SPDX-License-Identifier: Apache-2.0 */
/* rows_host.h - what an agent does with the rows that workers give it, on maps in memory: publishes
 * them for a few objects in turn, loads pages, searches and walks by them as BPF and walk.c do,
 * drops objects. After each step the maps must be consistent. */
#pragma once

#include "made_maps.h"
#include "unwind/publish.h"
#include "client/client.h"

#define ROWS_HOST_OBJECTS 24

struct rows_object {
	struct object_key key;
	uint32_t id; /* 0: not met */
};

struct rows_host {
	struct made_maps *made;
	struct publish *publish;
	struct rows_object objects[ROWS_HOST_OBJECTS];
	uint32_t next_object;
	uint32_t any;
	uint64_t walked; /* frames */
	struct event_deferred deferred;
	void (*wrong)(void *ctx, const char *text); /* does not return */
};

void rows_host_init(
	struct rows_host *host, uint32_t seed, void (*wrong)(void *ctx, const char *text));
void rows_host_done(struct rows_host *host);
/* 0; 1: the file has no rows, which is published; -ENOSPC: they span more than there is room for.
 */
int rows_host_take(struct rows_host *host, const struct worker_rows *rows);
