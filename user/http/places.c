/* SPDX-License-Identifier: Apache-2.0 */
/* http/places.c - functions over the table of connections. A request that is answered is not
 * displaced: there are so few of these that places for new ones remain. */
#include "http/places.h"

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

static struct http_conn *find_oldest(struct http_server *s, const struct peer *peer)
{
	struct http_conn *oldest = NULL;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct http_conn *c = &s->conns[i];

		if (is_reading(c) && peer_same(&c->peer, peer) && (!oldest || c->id < oldest->id))
			oldest = c;
	}
	return oldest;
}

static struct http_conn *find_largest(struct http_server *s)
{
	const struct http_conn *largest = NULL;
	size_t most = 0;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		const struct http_conn *c = &s->conns[i];
		size_t len = is_reading(c) ? count(s, &c->peer, is_reading) : 0;

		/* Among equals, the first to come. */
		if (len > most || (len == most && len > 0 && c->id < largest->id)) {
			most = len;
			largest = c;
		}
	}
	return largest ? find_oldest(s, &largest->peer) : NULL;
}

struct http_conn *http_places_displace(struct http_server *s, const struct http_conn *newcomer)
{
	if (count(s, &newcomer->peer, NULL) > HTTP_PEER_MAX)
		return find_oldest(s, &newcomer->peer);
	if (count(s, NULL, NULL) + HTTP_CONNECTIONS_FREE > HTTP_CONNECTIONS_MAX)
		return find_largest(s);
	return NULL;
}

bool http_places_allow(const struct http_server *s, const struct http_conn *c)
{
	return count(s, NULL, is_busy) < HTTP_BUSY_MAX &&
		count(s, &c->peer, is_busy) < HTTP_PEER_BUSY_MAX;
}
