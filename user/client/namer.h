/* SPDX-License-Identifier: Apache-2.0 */
/* client/namer.h - the worker that gives names, and the objects that it has loaded. */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "client/blame.h"
#include "client/calls.h"
#include "client/codes.h"
#include "client/client.h"
#include "client/lane.h"
#include "client/mappings.h"
#include "client/methods.h"
#include "client/state.h"

#define NAMER_KNOWN_MAX 65536 /* when full, all are dropped and loaded again */
#define NAMER_DROPS_MAX 65536 /* further ones stay until the worker makes room */

/* An object that the current worker has loaded, or failed to. */
struct namer_known {
	uint64_t id;
	struct worker_symbols symbols;
};

struct namer {
	struct lane lane;
	struct blame *blame;
	VEC(struct namer_known) known;
	struct hash by_id;
	uint32_t sandbox;
	uint64_t requests, late, loads, loads_ns;
	uint64_t lines_given_up; /* names without lines, because time ran out */
	uint64_t kept_bytes, kept_len, evicted;
	VEC(uint64_t) drops; /* queries of PROTO_DROP, for a worker that was busy */
};

void namer_done(struct namer *namer);
/* Takes a late reply, handles a loss, sends what is to be dropped. Does not wait. */
void namer_poll(struct namer *namer);
/* See worker_client_*. */
int namer_names(struct namer *namer, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out);
int namer_map_names(struct namer *namer, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out);
enum worker_status namer_state(
	struct namer *namer, const struct worker_state *state, struct state_facts *out);
enum worker_status namer_calls(
	struct namer *namer, const struct worker_calls *calls, struct elf_call *out);
int namer_codes(struct namer *namer, const struct worker_codes *codes, worker_name_fn fn, void *ctx,
	enum worker_status *status);
enum worker_status namer_mappings(struct namer *namer, const struct worker_mappings *mappings,
	struct mappings_facts *facts, struct buf *list);
enum worker_status namer_methods(
	struct namer *namer, const struct worker_methods *methods, struct buf *reply);
enum worker_status namer_language(
	struct namer *namer, const struct worker_table *table, struct cpython_table *out);
/* Sends lane.out; with WORKER_OK or what else the worker says of it, the reply is in lane.in. */
enum worker_status namer_ask(struct namer *namer, uint64_t until_ns);
/* The reply is a lie: the worker is lost. WORKER_DOWN. */
enum worker_status namer_accuse(struct namer *namer, const char *fault);
/* Passes on the names of the reply; the first one's index is `first`. */
int namer_report(struct namer *namer, size_t first, worker_name_fn fn, void *ctx);
void namer_drop(struct namer *namer, uint64_t id);
void namer_drop_map(struct namer *namer, uint64_t id);
