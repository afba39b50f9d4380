/* SPDX-License-Identifier: Apache-2.0 */
/* wire/codes.h - the queries of PROTO_CODES: codes of languages, and places in each, which are
 * numbered through all codes. A code is a word with its length and its number of places, the event
 * up to its end in whole words, and a word for each place. The reply has a name for each place. */
#pragma once

#include "wire/proto.h"

/* False: no room, unchanged. */
bool proto_put_code(struct proto_message *m, const struct event_code *code, const uint64_t *places,
	uint32_t places_len);
/* Over a request's queries. */
struct cursor proto_codes(const struct proto_message *m);
/* False: none is left, or it is malformed. */
bool proto_next_code(struct cursor *c, struct proto_code *out);
bool proto_codes_valid(const struct proto_message *m);
