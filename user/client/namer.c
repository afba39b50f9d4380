/* SPDX-License-Identifier: Apache-2.0 */
/* client/namer.c - loads what is not loaded, then queries. The caller waits until its deadline at
 * most: a slower request stays outstanding, its late result is kept (a load) or dropped (names),
 * and other queries are late meanwhile. A worker that has less than we assume, after a loss or an
 * eviction, says so, and the rest is loaded again. */
#include "client/namer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"

/* Loads before there is a name: the first, and one more when the symbols went away before they were
 * used. */
#define LOADS_MAX 2
/* Files that an object's lines may lack, in one call: after that they are done without. */
#define GIVES_MAX 1024

void namer_done(struct namer *namer)
{
	lane_done(&namer->lane);
	vec_done(&namer->known);
	hash_done(&namer->by_id);
	vec_done(&namer->drops);
}

/* ---- what the worker knows ------------------------------------------------------------------ */

static void forget_all(struct namer *namer)
{
	namer->known.len = 0;
	hash_clear(&namer->by_id);
	namer->kept_bytes = namer->kept_len = 0;
}

static struct namer_known *find_known(struct namer *namer, uint64_t id)
{
	uint64_t *at = hash_find(&namer->by_id, id);

	return at ? &namer->known.data[*at] : NULL;
}

static void forget(struct namer *namer, uint64_t id)
{
	struct namer_known *known = find_known(namer, id), *last;

	if (!known)
		return;
	last = &namer->known.data[--namer->known.len];
	*known = *last;
	hash_put(&namer->by_id, last->id, (uint64_t)(known - namer->known.data));
	hash_del(&namer->by_id, id);
}

/* Out of memory: it is loaded again the next time. */
static void note_loaded(struct namer *namer)
{
	const struct proto_symbols *body = proto_body(&namer->lane.in);
	struct namer_known *known;
	uint64_t id = namer->lane.asked.id;

	namer->loads++;
	namer->loads_ns += body->ns;
	forget(namer, id);
	if (namer->known.len >= NAMER_KNOWN_MAX)
		forget_all(namer);
	known = vec_add(&namer->known);
	if (!known || hash_put(&namer->by_id, id, namer->known.len - 1) < 0) {
		namer->known.len -= known != NULL;
		return;
	}
	*known = (struct namer_known){
		.id = id,
		.symbols = {
			.status = (enum worker_status)namer->lane.in.reply.status,
			.symbols = body->symbols,
			.sources = (uint32_t)body->sources,
			.debug_used = -1,
		},
	};
	for (int i = 0; i < WORKER_DEBUG_FILES_MAX; i++) {
		known->symbols.debug[i] = (enum worker_debug)body->debug[i];
		if (body->debug[i] == WORKER_DEBUG_USED)
			known->symbols.debug_used = i;
	}
}

/* ---- the worker ----------------------------------------------------------------------------- */

static enum blame_what what_asked(uint32_t kind)
{
	switch (kind) {
	case PROTO_STATE:
	case PROTO_LANGUAGE:
		return BLAME_STATE;
	case PROTO_MAPPINGS:
	case PROTO_MAP_FEED:
	case PROTO_MAP_NAMES:
		return BLAME_MAP;
	case PROTO_CODES:
	case PROTO_METHODS:
		return BLAME_CODES;
	}
	return BLAME_SYMBOLS;
}

static void on_loss(struct namer *namer)
{
	blame_loss(namer->blame, &namer->lane, what_asked(namer->lane.asked.head.kind));
	forget_all(namer);
	namer->drops.len = 0;
}

static void on_reply(struct namer *namer)
{
	const struct proto_reply *reply = &namer->lane.in.reply;
	const struct proto_hello *hello = proto_body(&namer->lane.in);

	namer->kept_bytes = reply->kept_bytes;
	namer->kept_len = reply->kept_len;
	namer->evicted = reply->evicted_len;
	if (reply->head.kind == PROTO_HELLO)
		namer->sandbox = (uint32_t)hello->sandbox;
	if (reply->head.kind == PROTO_LOAD)
		note_loaded(namer);
	/* Not a load: what loads well and then costs a worker has no end of strikes else. */
	if (reply->head.kind == PROTO_NAMES || reply->head.kind == PROTO_MAP_NAMES ||
		reply->head.kind == PROTO_STATE || reply->head.kind == PROTO_CALLS ||
		reply->head.kind == PROTO_CODES)
		blame_forgive(namer->blame, what_asked(reply->head.kind), namer->lane.asked.id);
}

/* WORKER_OK: it runs and is idle. */
static enum worker_status make_ready(struct namer *namer, uint64_t until_ns)
{
	for (;;) {
		int err = lane_start(&namer->lane);

		if (err == -EAGAIN && lane_wait_for_start(&namer->lane, until_ns))
			continue;
		if (err < 0)
			return WORKER_DOWN;
		if (!namer->lane.busy)
			return WORKER_OK;
		switch (lane_wait(&namer->lane, until_ns)) {
		case LANE_REPLY:
			on_reply(namer);
			break;
		case LANE_LATE:
			return WORKER_LATE;
		case LANE_LOST:
			on_loss(namer);
			break;
		}
	}
}

static enum worker_status send_out(struct namer *namer, uint64_t until_ns)
{
	for (;;) {
		enum worker_status status = make_ready(namer, until_ns);
		int err;

		if (status != WORKER_OK)
			return status;
		err = lane_send(&namer->lane);
		if (err == 0)
			return WORKER_OK;
		if (err == -ENOTCONN)
			on_loss(namer);
		else if (err != -ETOOMANYREFS)
			return WORKER_DOWN;
		else if (!lane_wait_to_send(&namer->lane, until_ns))
			return WORKER_LATE;
	}
}

enum worker_status namer_ask(struct namer *namer, uint64_t until_ns)
{
	const struct proto_request *r = &namer->lane.out.request;
	enum worker_status status;

	if (blame_refuses(namer->blame, what_asked(r->head.kind), r->id))
		return WORKER_REFUSED;
	status = clock_ns(CLOCK_MONOTONIC) < until_ns ? send_out(namer, until_ns) : WORKER_LATE;
	if (status == WORKER_OK) {
		namer->requests++;
		switch (lane_wait(&namer->lane, until_ns)) {
		case LANE_REPLY:
			on_reply(namer);
			return (enum worker_status)namer->lane.in.reply.status;
		case LANE_LATE:
			status = WORKER_LATE;
			break;
		case LANE_LOST:
			on_loss(namer);
			/* Killed through no fault of the file: as if it had not been loaded. */
			return namer->lane.cause == LANE_KILLED ? WORKER_UNKNOWN : WORKER_DOWN;
		}
	}
	namer->late += status == WORKER_LATE;
	return status;
}

enum worker_status namer_accuse(struct namer *namer, const char *fault)
{
	lane_accuse(&namer->lane, fault);
	on_loss(namer);
	return WORKER_DOWN;
}

/* ---- names ---------------------------------------------------------------------------------- */

int namer_report(struct namer *namer, size_t first, worker_name_fn fn, void *ctx)
{
	struct cursor c = proto_answers(&namer->lane.in);
	struct proto_answer answer;
	int err = 0;

	while (err == 0 && proto_next_answer(&c, &answer)) {
		struct worker_name name = {
			.name = answer.name,
			.start = answer.start,
			.source = answer.source,
			.inlined = answer.inlined,
			.path = answer.path,
			.line = answer.line,
		};

		err = fn(ctx, first + answer.index, &name);
	}
	return err;
}

static bool want_lines(const struct worker_query *query, size_t gives)
{
	return query->lines_until_ns && gives < GIVES_MAX &&
		clock_ns(CLOCK_MONOTONIC) < query->lines_until_ns;
}

static enum worker_status give(
	struct namer *namer, uint64_t id, const struct worker_query *query, void *ctx)
{
	struct proto_message *m = &namer->lane.out;
	const struct proto_wanted *body = proto_body(&namer->lane.in);
	_cleanup_fd_ int fd = -1;
	enum worker_status status;

	proto_begin_request(m, PROTO_WANTED, id);
	status = namer_ask(namer, query->until_ns);
	if (status != WORKER_OK)
		return status;
	if (query->open_part) {
		struct debug_part part = { .kind = body->kind };

		part.build_id.len = body->build_id_len;
		memcpy(part.build_id.bytes, body->build_id, body->build_id_len);
		memcpy(part.dir, body->dir, sizeof(part.dir));
		memcpy(part.name, body->name, sizeof(part.name));
		fd = query->open_part(ctx, &part);
	}
	proto_begin_request(m, PROTO_GIVE, id);
	if (fd >= 0)
		m->fds[m->fds_len++] = fd;
	return namer_ask(namer, query->until_ns);
}

/* From query->addresses[*done] on; *done moves on with what was answered. */
static int ask_names(struct namer *namer, const struct proto_request *what,
	const struct worker_query *query, size_t *done, worker_name_fn fn, void *ctx,
	enum worker_status *status)
{
	struct proto_message *m = &namer->lane.out;
	size_t gives = 0;

	*status = WORKER_OK;
	while (*done < query->len && *status == WORKER_OK) {
		size_t len = query->len - *done;
		bool lines = want_lines(query, gives);
		int err;

		if (len > PROTO_QUERIES_MAX)
			len = PROTO_QUERIES_MAX;
		proto_begin_request(m, (enum proto_kind)what->head.kind, what->id);
		m->request.at_ns = what->at_ns;
		m->request.flags = query->demangle ? PROTO_DEMANGLE : 0;
		if (lines)
			m->request.flags |= PROTO_LINES;
		m->request.queries_len = (uint32_t)len;
		proto_put(m, query->addresses + *done, len * sizeof(*query->addresses));
		*status = namer_ask(namer, query->until_ns);
		if (*status != WORKER_OK)
			return 0;
		err = namer_report(namer, *done, fn, ctx);
		if (err < 0)
			return err;
		*done += namer->lane.in.reply.answered;
		namer->lines_given_up += namer->lane.in.reply.lines_given_up;
		if (query->lines_until_ns && !lines)
			namer->lines_given_up += namer->lane.in.reply.answered;
		if (namer->lane.in.reply.wants)
			*status = gives++ < GIVES_MAX ? give(namer, what->id, query, ctx)
						      : WORKER_DOWN;
	}
	return 0;
}

/* Near query->addresses[done] and what follows. */
static enum worker_status load(struct namer *namer, const struct worker_object *object,
	const struct worker_query *query, size_t done)
{
	struct proto_message *m = &namer->lane.out;
	size_t len = query->len - done;

	proto_begin_request(m, PROTO_LOAD, object->id);
	m->request.at_ns = object->written_ns;
	m->request.flags = query->lines_until_ns ? PROTO_LINES : query->spare ? PROTO_SPARE : 0;
	m->request.flags |= len > PROTO_QUERIES_MAX ? PROTO_WHOLE : 0;
	len = len > PROTO_QUERIES_MAX ? PROTO_QUERIES_MAX : len;
	m->request.queries_len = (uint32_t)len;
	proto_put(m, query->addresses + done, len * sizeof(*query->addresses));
	m->fds[m->fds_len++] = object->fd;
	for (size_t i = 0; i < object->debug_fds_len && m->fds_len < PROTO_FDS_MAX; i++)
		m->fds[m->fds_len++] = object->debug_fds[i];
	return namer_ask(namer, query->until_ns);
}

/* Loads unless it is known to be. */
static enum worker_status want_loaded(struct namer *namer, const struct worker_object *object,
	const struct worker_query *query, size_t done, struct worker_symbols *out)
{
	struct namer_known *known;
	enum worker_status status = make_ready(namer, query->until_ns);

	if (status != WORKER_OK)
		return status;
	known = find_known(namer, object->id);
	if (!known) {
		status = load(namer, object, query, done);
		known = find_known(namer, object->id);
	}
	if (!known)
		return status;
	*out = known->symbols;
	return known->symbols.status;
}

/* The worker was lost, or has no room for the latest request. */
static enum worker_status given_up(const struct namer *namer)
{
	return namer->lane.child.pid == 0 ? WORKER_DOWN : WORKER_MEMORY;
}

int namer_names(struct namer *namer, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out)
{
	const struct proto_request what = {
		.head.kind = PROTO_NAMES,
		.id = object->id,
	};
	struct worker_symbols symbols = { .debug_used = -1 };
	enum worker_status status = WORKER_UNKNOWN;
	size_t done = 0, before;

	for (int i = 0; i < LOADS_MAX && status == WORKER_UNKNOWN; i++) {
		int err = 0;

		status = want_loaded(namer, object, query, done, &symbols);
		before = done;
		if (status == WORKER_OK)
			err = ask_names(namer, &what, query, &done, fn, ctx, &status);
		if (err < 0)
			return err;
		if (status == WORKER_UNKNOWN)
			forget(namer, object->id);
		if (done > before)
			i = -1;
	}
	symbols.status = status == WORKER_UNKNOWN ? given_up(namer) : status;
	*out = symbols;
	return 0;
}

/* ---- maps ----------------------------------------------------------------------------------- */

static enum worker_status feed(
	struct namer *namer, uint64_t id, int fd, uint32_t flags, uint64_t until_ns)
{
	struct proto_message *m = &namer->lane.out;
	const struct proto_map *body = proto_body(&namer->lane.in);
	enum worker_status status;

	do {
		proto_begin_request(m, PROTO_MAP_FEED, id);
		m->request.flags = flags;
		m->fds[m->fds_len++] = fd;
		status = namer_ask(namer, until_ns);
	} while (status == WORKER_OK && body->more);
	return status;
}

/* One of the two is enough to ask for names. */
static struct worker_map_status feed_both(
	struct namer *namer, const struct worker_map *map, uint64_t until_ns)
{
	struct worker_map_status out = { WORKER_OK, WORKER_OK, 0 };

	if (map->fd >= 0 && !map->unread)
		out.status = feed(namer, map->id, map->fd, 0, until_ns);
	if (map->dump_fd >= 0 && !map->unread)
		out.dump = feed(namer, map->id, map->dump_fd, PROTO_DUMP, until_ns);
	if (map->dump_fd >= 0 && (map->fd < 0 || out.dump == WORKER_OK))
		out.status = out.dump;
	return out;
}

/* The part of a jitdump that was read before it became unreadable still has names. */
static bool may_ask(const struct worker_map_status *status)
{
	return status->status == WORKER_OK || status->status == WORKER_DAMAGED ||
		status->status == WORKER_BYTE_ORDER;
}

int namer_map_names(struct namer *namer, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out)
{
	const struct proto_request what = {
		.head.kind = PROTO_MAP_NAMES,
		.id = map->id,
		.at_ns = map->at_ns,
	};
	struct worker_query plain = *query;
	struct worker_map_status status = { WORKER_UNKNOWN, WORKER_OK, 0 };
	size_t done = 0;

	plain.demangle = false;
	plain.open_part = NULL;
	for (int i = 0; i < LOADS_MAX && status.status == WORKER_UNKNOWN; i++) {
		enum worker_status asked = WORKER_OK;
		int err = 0;

		status = feed_both(namer, map, query->until_ns);
		if (may_ask(&status))
			err = ask_names(namer, &what, &plain, &done, fn, ctx, &asked);
		if (err < 0)
			return err;
		if (asked != WORKER_OK)
			status.status = asked;
	}
	if (status.status == WORKER_UNKNOWN)
		status.status = given_up(namer);
	*out = status;
	return 0;
}

/* ---- container runtimes' files -------------------------------------------------------------- */

enum worker_status namer_state(
	struct namer *namer, const struct worker_state *state, struct state_facts *out)
{
	struct proto_message *m = &namer->lane.out;
	enum worker_status status;

	proto_begin_request(m, PROTO_STATE, state->id);
	if (!proto_put_state(m, state->query))
		return WORKER_UNKNOWN;
	m->fds[m->fds_len++] = state->fd;
	status = namer_ask(namer, state->until_ns);
	if (status == WORKER_OK)
		*out = ((const struct proto_state *)proto_body(&namer->lane.in))->facts;
	return status;
}

/* ---- calls ---------------------------------------------------------------------------------- */

enum worker_status namer_calls(
	struct namer *namer, const struct worker_calls *calls, struct elf_call *out)
{
	struct proto_message *m = &namer->lane.out;
	enum worker_status status = WORKER_OK;

	for (size_t done = 0, len; done < calls->len && status == WORKER_OK; done += len) {
		len = calls->len - done < PROTO_CALLS_MAX ? calls->len - done : PROTO_CALLS_MAX;
		proto_begin_request(m, PROTO_CALLS, calls->id);
		m->request.queries_len = (uint32_t)(len * PROTO_CALL_QUERIES);
		proto_put(m, calls->queries + done, len * sizeof(*calls->queries));
		m->fds[m->fds_len++] = calls->fd;
		status = namer_ask(namer, calls->until_ns);
		if (status == WORKER_OK)
			memcpy(out + done, proto_body(&namer->lane.in), len * sizeof(*out));
	}
	return status;
}

/* ---- mappings ------------------------------------------------------------------------------- */

enum worker_status namer_mappings(struct namer *namer, const struct worker_mappings *mappings,
	struct mappings_facts *facts, struct buf *list)
{
	const struct proto_mappings *body = proto_body(&namer->lane.in);
	struct proto_message *m = &namer->lane.out;
	_cleanup_fd_ int memory = list ? fd_memory("mappings") : -1;
	enum worker_status status;

	if (list && memory < 0)
		return WORKER_DOWN;
	proto_begin_request(m, PROTO_MAPPINGS, mappings->id);
	m->request.flags = list ? PROTO_WHOLE : 0;
	m->fds[m->fds_len++] = mappings->fd;
	if (list)
		m->fds[m->fds_len++] = memory;
	status = namer_ask(namer, mappings->until_ns);
	if (status != WORKER_OK)
		return status;
	if (list && !mappings_take(TAKE_FD(memory), body->list_bytes, list))
		return namer_accuse(namer, "a list of mappings that is not as it says");
	*facts = body->facts;
	return WORKER_OK;
}

/* ---- drop ----------------------------------------------------------------------------------- */

/* A worker that is busy now is asked when it is not. To wait for it may lose it, and the list. */
static void send_drops(struct namer *namer)
{
	struct proto_message *m = &namer->lane.out;
	size_t len;
	int err;

	if (namer->drops.len == 0 || make_ready(namer, 0) != WORKER_OK || namer->drops.len == 0)
		return;
	len = namer->drops.len < PROTO_QUERIES_MAX ? namer->drops.len : PROTO_QUERIES_MAX;
	proto_begin_request(m, PROTO_DROP, 0);
	m->request.queries_len = (uint32_t)len;
	proto_put(m, namer->drops.data + namer->drops.len - len, len * sizeof(*namer->drops.data));
	err = lane_send(&namer->lane);
	if (err == 0)
		namer->drops.len -= len;
	else if (err == -ENOTCONN)
		on_loss(namer);
}

static void say_drop(struct namer *namer, uint64_t query)
{
	/* Without a worker there is nothing to drop. */
	bool kept = namer->lane.child.pid != 0 && namer->drops.len < NAMER_DROPS_MAX;
	uint64_t *slot = kept ? vec_add(&namer->drops) : NULL;

	if (slot)
		*slot = query;
	send_drops(namer);
}

void namer_drop(struct namer *namer, uint64_t id)
{
	bool was_known = find_known(namer, id) != NULL;

	blame_forgive(namer->blame, BLAME_SYMBOLS, id);
	forget(namer, id);
	if (was_known)
		say_drop(namer, id);
}

void namer_drop_map(struct namer *namer, uint64_t id)
{
	blame_forgive(namer->blame, BLAME_MAP, id);
	say_drop(namer, id | PROTO_DROP_MAP);
}

void namer_poll(struct namer *namer)
{
	while (lane_start(&namer->lane) == 0) {
		switch (lane_wait(&namer->lane, 0)) {
		case LANE_REPLY:
			on_reply(namer);
			break;
		case LANE_LOST:
			on_loss(namer);
			break;
		case LANE_LATE:
			send_drops(namer);
			return;
		}
	}
}
