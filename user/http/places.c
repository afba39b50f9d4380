/* SPDX-License-Identifier: Apache-2.0 */
/* http/places.c - functions over the table of connections, which peers share by the one rule of
 * base/share.h. A request that is answered is not displaced: where the largest peer has no other
 * connection, a newcomer of a peer that holds much goes. */
#include "http/places.h"

#include "base/own.h"
#include "base/share.h"

static bool is_reading(const struct http_conn *c)
{
	return c->state == HTTP_READING && c->ends_ns != UINT64_MAX;
}

static bool is_busy(const struct http_conn *c)
{
	return c->state > HTTP_READING && !c->quick;
}

/* peer NULL: of all. */
static size_t count(const struct http_server *s, const struct peer *peer,
	bool (*is)(const struct http_conn *conn))
{
	size_t len = 0;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		const struct http_conn *c = &s->conns[i];

		if (c->state != HTTP_FREE && (!is || is(c)) &&
			(!peer || peer_same(&c->peer, peer)))
			len++;
	}
	return len;
}

/* An account is a peer; its number is the place of its first connection. */
static uint64_t account_of(const struct http_server *s, const struct peer *peer)
{
	uint64_t i = 0;

	while (s->conns[i].state == HTTP_FREE || !peer_same(&s->conns[i].peer, peer))
		i++;
	return i;
}

static int charge_all(const struct http_server *s, struct share *share)
{
	int err = 0;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX && err == 0; i++)
		if (s->conns[i].state != HTTP_FREE)
			err = share_charge(share, account_of(s, &s->conns[i].peer), 1);
	return err;
}

/* The oldest that can go, of the account that holds most and more than the level. */
static struct http_conn *find_over(
	struct http_server *s, const struct share *share, uint64_t level)
{
	struct http_conn *found = NULL;
	uint64_t most = level;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct http_conn *c = &s->conns[i];
		uint64_t held = is_reading(c) ? share_held(share, account_of(s, &c->peer)) : 0;

		if (held > most || (found && held == most && c->id < found->id)) {
			most = held;
			found = c;
		}
	}
	return found;
}

static struct http_conn *find_displaced(
	struct http_server *s, struct share *share, struct http_conn *newcomer)
{
	uint64_t account = account_of(s, &newcomer->peer), level;
	struct http_conn *c;

	if (charge_all(s, share) < 0 || share_level(share, HTTP_CONNECTIONS_MAX, &level) < 0)
		return newcomer;
	c = find_over(s, share, level);
	if (c)
		return c;
	share_return(share, account, 1);
	return share_refuses(share, account, 1, HTTP_CONNECTIONS_MAX) ? newcomer : NULL;
}

struct http_conn *http_places_displace(struct http_server *s, struct http_conn *newcomer)
{
	_cleanup_(share_done) struct share share = { 0 };

	if (count(s, NULL, NULL) <= share_room(HTTP_CONNECTIONS_MAX))
		return NULL;
	return find_displaced(s, &share, newcomer);
}

bool http_places_allow(const struct http_server *s, const struct http_conn *c)
{
	return count(s, NULL, is_busy) < HTTP_BUSY_MAX &&
		count(s, &c->peer, is_busy) < HTTP_PEER_BUSY_MAX;
}
