/* SPDX-License-Identifier: Apache-2.0 */
/* http/tokens.h - judges a request by what it shows: the token, the metrics' token, or a session,
 * which a browser gets for a ticket. Times are of CLOCK_BOOTTIME. A process that replaces another
 * one does not know which tickets were used: those made before started_ns are not good. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/proto.h"
#include "http/ticket.h"

#define TOKENS_USED_MAX 64     /* tickets a minute */
#define TOKENS_SESSIONS_MAX 32 /* the oldest makes room */
#define TOKENS_SESSION_S (12 * 3600)
#define TOKENS_SESSION_TEXT_MAX 33

enum http_right {
	HTTP_RIGHT_NONE,
	HTTP_RIGHT_METRICS, /* and nothing else */
	HTTP_RIGHT_ALL,
};

struct tokens {
	char token[HTTP_TEXT_MAX]; /* "": everybody may ask for all */
	char metrics[HTTP_TEXT_MAX];
	uint64_t started_ns;
	struct tokens_used {
		char ticket[TICKET_TEXT_MAX];
		uint64_t until_ns; /* 0: a free place */
	} used[TOKENS_USED_MAX];
	struct tokens_session {
		char text[TOKENS_SESSION_TEXT_MAX];
		uint64_t until_ns;
	} sessions[TOKENS_SESSIONS_MAX];
};

/* authorization: that header, or NULL; cookie: the session, or NULL. */
enum http_right tokens_right(const struct tokens *tokens, const char *authorization,
	const char *cookie, uint64_t now_ns);
/* A session for a ticket, which is used up then. False: it is not good, was used, or too many
 * were.
 * bytes: 16 random ones. */
bool tokens_exchange(struct tokens *tokens, const char *ticket, uint64_t now_ns,
	const uint8_t bytes[16], char session[TOKENS_SESSION_TEXT_MAX]);
