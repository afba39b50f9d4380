/* SPDX-License-Identifier: Apache-2.0 */
/* http/tokens.c - tables of the sessions and of the tickets that were used, for as long as one
 * could be tried again. Comparisons take the same time for every text. */
#include "http/tokens.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

#define BEARER "Bearer "

static bool is_same(const char *wanted, const char *given)
{
	char a[HTTP_TEXT_MAX] = "", b[HTTP_TEXT_MAX] = "";
	unsigned int differ = 0;

	snprintf(a, sizeof(a), "%s", wanted);
	snprintf(b, sizeof(b), "%s", given);
	for (size_t i = 0; i < sizeof(a); i++)
		differ |= (unsigned int)(unsigned char)(a[i] ^ b[i]);
	return differ == 0 && *wanted && strlen(given) < sizeof(b);
}

static bool has_session(const struct tokens *t, const char *cookie, uint64_t now_ns)
{
	bool found = false;

	for (size_t i = 0; i < TOKENS_SESSIONS_MAX; i++)
		found |= t->sessions[i].until_ns > now_ns && is_same(t->sessions[i].text, cookie);
	return found;
}

enum http_right tokens_right(
	const struct tokens *t, const char *authorization, const char *cookie, uint64_t now_ns)
{
	const char *bearer = NULL;

	if (!t->token[0] || (cookie && has_session(t, cookie, now_ns)))
		return HTTP_RIGHT_ALL;
	if (authorization && strncasecmp(authorization, BEARER, strlen(BEARER)) == 0)
		bearer = authorization + strlen(BEARER);
	if (bearer && is_same(t->token, bearer))
		return HTTP_RIGHT_ALL;
	return bearer && is_same(t->metrics, bearer) ? HTTP_RIGHT_METRICS : HTTP_RIGHT_NONE;
}

/* False: it was used before, or there is no room to remember it. */
static bool use(struct tokens *t, const char *ticket, uint64_t now_ns)
{
	struct tokens_used *room = NULL;

	for (size_t i = 0; i < TOKENS_USED_MAX; i++) {
		struct tokens_used *used = &t->used[i];

		if (used->until_ns >= now_ns && used->until_ns > 0) {
			if (strcmp(used->ticket, ticket) == 0)
				return false;
		} else if (!room) {
			room = used;
		}
	}
	if (!room)
		return false;
	snprintf(room->ticket, sizeof(room->ticket), "%s", ticket);
	room->until_ns = now_ns + TICKET_NS;
	return true;
}

static struct tokens_session *oldest_session(struct tokens *t)
{
	struct tokens_session *oldest = &t->sessions[0];

	for (size_t i = 1; i < TOKENS_SESSIONS_MAX; i++)
		if (t->sessions[i].until_ns < oldest->until_ns)
			oldest = &t->sessions[i];
	return oldest;
}

bool tokens_exchange(struct tokens *t, const char *ticket, uint64_t now_ns, const uint8_t bytes[16],
	char session[TOKENS_SESSION_TEXT_MAX])
{
	struct tokens_session *made;

	if (!t->token[0] || !ticket_is_good(t->token, ticket, t->started_ns, now_ns) ||
		!use(t, ticket, now_ns))
		return false;
	made = oldest_session(t);
	for (int i = 0; i < 16; i++)
		snprintf(made->text + 2 * i, 3, "%02x", bytes[i]);
	made->until_ns = now_ns + TOKENS_SESSION_S * NSEC_PER_SEC;
	memcpy(session, made->text, sizeof(made->text));
	return true;
}
