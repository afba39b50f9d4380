/* SPDX-License-Identifier: Apache-2.0 */
/* http/listener.c - addresses are numbers, or localhost: at the start of a host no name server
 * answers. (getaddrinfo() takes numbers too, but a static file cannot have it.) */
#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "output/place.h"

#define BACKLOG 128
/* A daemon that was killed may not be quite gone. */
#define BUSY_WAIT_NS NSEC_PER_SEC
#define BUSY_POLL_MS 50
#define UNIX_PREFIX "unix:"
#define HOST_MAX 64

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
}

static int explain(const char *text, int err, struct why *why)
{
	struct stat st;

	if (err == -EADDRINUSE && text[0] == '/' && lstat(text, &st) == 0 && !S_ISSOCK(st.st_mode))
		return why_set(why, err,
			"cannot listen on %s: it is no socket; remove it or choose another path",
			text);
	if (err == -EADDRINUSE)
		return why_set(
			why, err, "cannot listen on %s: it is in use by another process", text);
	if (err == -ENOENT)
		return why_set(why, err,
			"cannot listen on %s: there is no such directory; make it first", text);
	return why_set(why, err, "cannot listen on %s: %s", text, err_text(err));
}

/* "HOST:PORT" or "[HOST]:PORT" → the two. */
static bool split(const char *text, char host[HOST_MAX], const char **port)
{
	const char *colon = strrchr(text, ':'), *first = text;
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (!colon || len == 0 || colon[1] == '\0')
		return false;
	if (*first == '[' && first[len - 1] == ']') {
		first++;
		len -= 2;
	} else if (memchr(first, ':', len)) {
		return false;
	}
	*port = colon + 1;
	if (len == 0 || len >= HOST_MAX || strspn(*port, "0123456789") != strlen(*port))
		return false;
	memcpy(host, first, len);
	host[len] = '\0';
	return true;
}

static bool parse_port(const char *text, in_port_t *out)
{
	unsigned long port = strtoul(text, NULL, 10);

	if (port > UINT16_MAX)
		return false;
	*out = htons((uint16_t)port);
	return true;
}

/* A link-local address is of one interface: fe80::1%eth0. */
static bool parse_six(char *host, struct sockaddr_in6 *out)
{
	char *zone = strchr(host, '%');

	if (zone) {
		*zone++ = '\0';
		out->sin6_scope_id = if_nametoindex(zone);
		if (out->sin6_scope_id == 0)
			return false;
	}
	return inet_pton(AF_INET6, host, &out->sin6_addr) == 1;
}

static bool parse_address(const char *text, union address *out)
{
	union address four = { .four.sin_family = AF_INET }, six = { .six.sin6_family = AF_INET6 };
	char host[HOST_MAX];
	const char *port;

	if (!split(text, host, &port) || !parse_port(port, &four.four.sin_port))
		return false;
	six.six.sin6_port = four.four.sin_port;
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
		    &four.four.sin_addr) == 1)
		*out = four;
	else if (parse_six(host, &six.six))
		*out = six;
	else
		return false;
	return true;
}

static int open_address(const union address *a, int *out)
{
	_cleanup_fd_ int fd =
		socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + BUSY_WAIT_NS;
	int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	while (bind(fd, &a->any, sizeof(*a)) < 0 || listen(fd, BACKLOG) < 0) {
		if (errno != EADDRINUSE || clock_ns(CLOCK_MONOTONIC) >= until)
			return -errno;
		poll(NULL, 0, BUSY_POLL_MS);
	}
	*out = TAKE_FD(fd);
	return 0;
}

static int open_inet(const char *text, struct listener *out, struct why *why)
{
	union address address;
	int err;

	if (!parse_address(text, &address))
		return why_set(why, -EINVAL,
			"it takes ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH or off, and not %s",
			text);
	err = open_address(&address, &out->fd);
	out->reach = is_loopback(&address) ? LISTENER_LOOPBACK : LISTENER_ANY;
	return err < 0 ? explain(text, err, why) : 0;
}

/* Nobody listens on it: a killed daemon left it. */
static bool is_left(const struct sockaddr_un *address)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		errno == ECONNREFUSED;
}

/* For its owner and group. Waits if a process of a killed daemon still has the socket. */
static int bind_unix(int fd, const struct sockaddr_un *address)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + BUSY_WAIT_NS;
	mode_t mask = umask(0117);
	int err;

	for (;;) {
		if (is_left(address))
			unlink(address->sun_path);
		err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
				listen(fd, BACKLOG) < 0
			? -errno
			: 0;
		if (err != -EADDRINUSE || clock_ns(CLOCK_MONOTONIC) >= until)
			break;
		poll(NULL, 0, BUSY_POLL_MS);
	}
	umask(mask);
	return err;
}

static int open_unix(const char *path, struct listener *out, struct why *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path))
		return why_set(why, -EINVAL,
			"unix:PATH takes a path from / on, of less than %zu bytes, and not %s",
			sizeof(address.sun_path), path);
	err = place_check(path, why);
	if (err < 0)
		return err;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	err = fd < 0 ? -errno : bind_unix(fd, &address);
	if (err < 0)
		return explain(path, err, why);
	out->fd = TAKE_FD(fd);
	out->reach = LISTENER_UNIX;
	snprintf(out->path, sizeof(out->path), "%s", path);
	return 0;
}

int listener_open(const char *text, struct listener *out, struct why *why)
{
	size_t len = strlen(UNIX_PREFIX);
	struct listener l = LISTENER_INIT;
	int err = strncmp(text, UNIX_PREFIX, len) == 0 ? open_unix(text + len, &l, why)
						       : open_inet(text, &l, why);

	if (err == 0)
		*out = l;
	return err;
}

int listener_address(const char *text, char *out, size_t size, struct why *why)
{
	union address address;
	char host[INET6_ADDRSTRLEN];

	if (!parse_address(text, &address))
		return why_set(why, -EINVAL,
			"a browser cannot open %s: the daemon must listen on ADDRESS:PORT", text);
	if (address.any.sa_family == AF_INET) {
		/* As a number: another user may listen where a name leads first, on [::1]. */
		if (address.four.sin_addr.s_addr == htonl(INADDR_ANY))
			address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		inet_ntop(AF_INET, &address.four.sin_addr, host, sizeof(host));
		snprintf(out, size, "http://%s:%u", host, ntohs(address.four.sin_port));
		return 0;
	}
	if (IN6_IS_ADDR_UNSPECIFIED(&address.six.sin6_addr))
		address.six.sin6_addr = in6addr_loopback;
	inet_ntop(AF_INET6, &address.six.sin6_addr, host, sizeof(host));
	snprintf(out, size, "http://[%s]:%u", host, ntohs(address.six.sin6_port));
	return 0;
}

void listener_close(struct listener *listener)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct why why;

	fd_close(&listener->fd);
	if (listener->path[0] && place_check(listener->path, &why) == 0) {
		snprintf(address.sun_path, sizeof(address.sun_path), "%s", listener->path);
		if (is_left(&address))
			unlink(address.sun_path);
	}
	listener->path[0] = '\0';
}
