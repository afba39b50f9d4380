/* SPDX-License-Identifier: Apache-2.0 */
/* client/namer_codes.c - asks again for places that a request or a reply had no room for. */
#include "client/namer.h"

#include "base/buf.h"
#include "base/fd.h"
#include "wire/codes.h"

/* Fills the request from place *at of code *code on, and moves both. The number of places in it. */
static size_t put_codes(
	struct proto_message *m, const struct worker_codes *codes, size_t *code, uint32_t *at)
{
	size_t places = 0;

	while (*code < codes->len) {
		const struct proto_code *one = &codes->all[*code];
		uint32_t len = one->places_len - *at;

		len = len < PROTO_PLACES_MAX ? len : PROTO_PLACES_MAX;
		if (!proto_put_code(m, one->code, one->places + *at, len))
			break;
		places += len;
		*at += len;
		if (*at < one->places_len)
			continue;
		*at = 0;
		++*code;
	}
	return places;
}

/* Moves back by so many places, which were not answered. */
static void step_back(const struct worker_codes *codes, size_t places, size_t *code, uint32_t *at)
{
	while (places > *at) {
		places -= *at;
		*at = codes->all[--*code].places_len;
	}
	*at -= (uint32_t)places;
}

int namer_codes(struct namer *namer, const struct worker_codes *codes, worker_name_fn fn, void *ctx,
	enum worker_status *status)
{
	struct proto_message *m = &namer->lane.out;
	size_t code = 0, done = 0, len;
	uint32_t at = 0;
	int err = 0;

	*status = WORKER_OK;
	while (code < codes->len && err == 0) {
		proto_begin_request(m, PROTO_CODES, codes->id);
		m->request.flags = codes->lines ? PROTO_LINES : 0;
		len = put_codes(m, codes, &code, &at);
		*status = namer_ask(namer, codes->until_ns);
		if (*status == WORKER_OK && namer->lane.in.reply.answered - 1ULL >= len)
			*status = namer_accuse(namer, "names of no places, or of too many");
		if (*status != WORKER_OK)
			return 0;
		err = namer_report(namer, done, fn, ctx);
		step_back(codes, len - namer->lane.in.reply.answered, &code, &at);
		done += namer->lane.in.reply.answered;
	}
	return err;
}

/* ---- tables of code -------------------------------------------------------------------------- */

static bool take_reply(
	int memory, uint64_t bytes, const struct worker_methods *methods, struct buf *reply)
{
	_cleanup_fd_ int fd = fd_seal(memory);

	return fd >= 0 && fd_read_all(fd, bytes, reply) == 0 && reply->len == bytes &&
		java_reply_valid(reply->data, reply->len, methods->codes_len);
}

enum worker_status namer_methods(
	struct namer *namer, const struct worker_methods *methods, struct buf *reply)
{
	const struct proto_methods *body = proto_body(&namer->lane.in);
	struct proto_message *m = &namer->lane.out;
	_cleanup_fd_ int memory = fd_memory("methods");
	enum worker_status status;

	if (memory < 0)
		return WORKER_DOWN;
	proto_begin_request(m, PROTO_METHODS, methods->id);
	m->fds[m->fds_len++] = methods->fd;
	m->fds[m->fds_len++] = memory;
	status = namer_ask(namer, methods->until_ns);
	if (status != WORKER_OK)
		return status;
	if (!take_reply(TAKE_FD(memory), body->bytes, methods, reply))
		return namer_accuse(namer, "tables of methods that are not as it says");
	return WORKER_OK;
}

/* ---- tables of runtimes' structs ------------------------------------------------------------- */

#define TABLE_IDS (1ULL << 59) /* apart from those of container runtimes' files */

enum worker_status namer_language(
	struct namer *namer, const struct worker_table *table, struct cpython_table *out)
{
	struct proto_message *m = &namer->lane.out;
	enum worker_status status;

	proto_begin_request(m, PROTO_LANGUAGE, TABLE_IDS | table->id);
	m->fds[m->fds_len++] = table->fd;
	status = namer_ask(namer, table->until_ns);
	if (status == WORKER_OK)
		*out = ((const struct proto_language *)proto_body(&namer->lane.in))->table;
	return status;
}
