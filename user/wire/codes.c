/* SPDX-License-Identifier: Apache-2.0 */
/* wire/codes.c - both ends: the agent writes a request, a worker reads it. */
#include "wire/codes.h"

#include <stddef.h>

/* Length of an event up to its end, in whole words. */
static uint32_t code_words(const struct event_code *code)
{
	return (uint32_t)((offsetof(struct event_code, lines) + code->lines_bytes + 7) / 8);
}

bool proto_put_code(struct proto_message *m, const struct event_code *code, const uint64_t *places,
	uint32_t places_len)
{
	const uint32_t words = code_words(code), size = m->head.size;
	const uint64_t head = (uint64_t)words << 32 | places_len;
	const uint64_t added = 1ULL + words + places_len;

	if (m->request.queries_len + added > PROTO_QUERIES_MAX)
		return false;
	/* sizeof(*code) is in whole words. */
	if (!proto_put(m, &head, sizeof(head)) ||
		!proto_put(m, code, words * sizeof(uint64_t)) ||
		!proto_put(m, places, places_len * sizeof(*places))) {
		m->head.size = size;
		return false;
	}
	m->request.queries_len += (uint32_t)added;
	return true;
}

struct cursor proto_codes(const struct proto_message *m)
{
	return cursor_init(proto_queries(m), m->request.queries_len * sizeof(uint64_t));
}

bool proto_next_code(struct cursor *c, struct proto_code *out)
{
	uint64_t head = cursor_left(c) > 0 ? cursor_u64(c) : 0;
	size_t words = head >> 32;

	out->places_len = (uint32_t)head;
	out->code = (const struct event_code *)cursor_take(c, words * sizeof(uint64_t));
	out->places = (const uint64_t *)cursor_take(c, out->places_len * sizeof(uint64_t));
	return out->code && out->places && words > 0 &&
		code_valid(out->code, words * sizeof(uint64_t));
}

bool proto_codes_valid(const struct proto_message *m)
{
	struct cursor c = proto_codes(m);
	struct proto_code code;

	while (cursor_left(&c) > 0)
		if (!proto_next_code(&c, &code) || code.places_len == 0 ||
			code.places_len > PROTO_PLACES_MAX)
			return false;
	return !c.bad;
}
