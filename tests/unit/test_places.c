/* SPDX-License-Identifier: Apache-2.0 */
/* test_places.c - whose connections make room for whose, and whose a connection is. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "http/places.h"

static const struct peer one = { .kind = PEER_USER, .user = 1000 };
static const struct peer other = { .kind = PEER_USER, .user = 1001 };
static const struct peer host = { .kind = PEER_ADDRESS, .address = 1000 };

static struct http_server *server_new(void)
{
	struct http_server *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

/* n more of a peer; the last of them. */
static struct http_conn *add(
	struct http_server *s, size_t n, const struct peer *peer, enum http_state state)
{
	struct http_conn *last = NULL;

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX && n > 0; i++) {
		if (s->conns[i].state != HTTP_FREE)
			continue;
		last = &s->conns[i];
		*last = (struct http_conn){ .state = state, .id = ++s->next_id, .peer = *peer };
		n--;
	}
	assert_int_equal(n, 0);
	return last;
}

#define ROOM (HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_MAX / 10)

static void a_peer_that_has_too_many_loses_its_own_oldest(void **state)
{
	struct http_server *s = server_new();
	struct http_conn *first, *next;

	(void)state;
	add(s, 1, &other, HTTP_READING);
	first = add(s, 1, &one, HTTP_READING);
	next = add(s, ROOM - 2, &one, HTTP_READING);
	assert_null(http_places_displace(s, next));
	next = add(s, 1, &one, HTTP_READING);
	assert_ptr_equal(http_places_displace(s, next), first);
	/* Being closed already, it makes no more room. */
	first->ends_ns = UINT64_MAX;
	assert_ptr_equal(http_places_displace(s, next), first + 1);
	free(s);
}

static void where_all_are_many_the_largest_peer_makes_room(void **state)
{
	struct http_server *s = server_new();
	struct http_conn *check, *first;

	(void)state;
	check = add(s, 1, &other, HTTP_READING);
	add(s, HTTP_BUSY_MAX / 2, &host, HTTP_SENDING);
	first = add(s, 1, &one, HTTP_READING);
	add(s, ROOM - HTTP_BUSY_MAX / 2 - 2, &one, HTTP_READING);
	assert_null(http_places_displace(s, check));
	assert_ptr_equal(http_places_displace(s, add(s, 1, &one, HTTP_READING)), first);
	assert_ptr_equal(http_places_displace(s, check), first);
	free(s);
}

/* Those of the two large peers are answered: nothing of them can be taken back. */
static void peers_that_fill_all_places_together_take_none_of_a_small_one(void **state)
{
	struct http_server *s = server_new();
	struct http_conn *check;

	(void)state;
	add(s, ROOM / 2, &one, HTTP_WAITING);
	add(s, ROOM / 2 - 1, &host, HTTP_WAITING);
	check = add(s, 1, &other, HTTP_READING);
	assert_null(http_places_displace(s, check));
	for (int i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++) {
		struct http_conn *next = add(s, 1, i % 2 ? &one : &host, HTTP_READING);
		struct http_conn *out = http_places_displace(s, next);

		assert_ptr_not_equal(out, check);
		if (out)
			out->state = HTTP_FREE;
	}
	check->state = HTTP_WAITING;
	assert_null(http_places_displace(s, add(s, 1, &other, HTTP_READING)));
	free(s);
}

static void what_is_busy_leaves_places_to_new_connections(void **state)
{
	struct http_server *s = server_new();
	struct http_conn *mine, *theirs, *check;

	(void)state;
	mine = add(s, 1, &one, HTTP_READING);
	theirs = add(s, 1, &other, HTTP_READING);
	assert_true(http_places_allow(s, mine));
	check = add(s, HTTP_PEER_BUSY_MAX, &one, HTTP_WAITING);
	assert_false(http_places_allow(s, mine));
	assert_true(http_places_allow(s, theirs));
	check->quick = true;
	assert_true(http_places_allow(s, mine));
	add(s, HTTP_BUSY_MAX - HTTP_PEER_BUSY_MAX + 1, &host, HTTP_SENDING);
	assert_false(http_places_allow(s, theirs));
	free(s);
}

/* Both ends of a connection over the loopback. */
static void connect_both(int family, int *client, int *server)
{
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *at =
		family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
	_cleanup_fd_ int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || bind(listener, at, len) < 0)
		skip();
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, at, &len), 0);
	*client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(*client, at, len), 0);
	*server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*server >= 0);
}

static void a_peer_of_the_loopback_is_a_user(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	const struct peer unknown = { .kind = PEER_UNKNOWN }, me = { .kind = PEER_USER,
									 .user = getuid() };
	_cleanup_fd_ int diag = peer_open();
	struct peer peer;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		_cleanup_fd_ int client = -1, server = -1;

		connect_both(families[i], &client, &server);
		peer = peer_of(server, -1);
		assert_true(peer_same(&peer, &unknown));
		peer = peer_of(server, diag);
		if (diag < 0 || (i == 0 && peer.kind == PEER_UNKNOWN))
			skip(); /* a kernel without sock_diag */
		assert_true(peer_same(&peer, &me));
		/* The kernel calls its user 0 from now on. */
		fd_close(&client);
		peer = peer_of(server, diag);
		assert_true(peer_same(&peer, &unknown));
	}
}

static void a_peer_of_a_unix_socket_is_a_user(void **state)
{
	const struct peer me = { .kind = PEER_USER, .user = getuid() };
	_cleanup_fd_ int ours = -1, theirs = -1;
	struct peer peer;

	(void)state;
	assert_int_equal(fd_pair(&ours, &theirs), 0);
	peer = peer_of(ours, -1);
	assert_true(peer_same(&peer, &me));
	assert_false(peer_same(&me, &host));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_has_too_many_loses_its_own_oldest),
		cmocka_unit_test(where_all_are_many_the_largest_peer_makes_room),
		cmocka_unit_test(peers_that_fill_all_places_together_take_none_of_a_small_one),
		cmocka_unit_test(what_is_busy_leaves_places_to_new_connections),
		cmocka_unit_test(a_peer_of_the_loopback_is_a_user),
		cmocka_unit_test(a_peer_of_a_unix_socket_is_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
