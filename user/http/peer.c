/* SPDX-License-Identifier: Apache-2.0 */
/* http/peer.c - asks the kernel for the other end of a loopback connection, one socket by its four
 * numbers (sock_diag(7)): that takes no right and no list of all sockets. A socket that its program
 * has closed belongs to nobody, and the kernel shows root in place of its user. */
#include "http/peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_storage room;
};

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

union answer {
	struct nlmsghdr head;
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
	} found;
	char room[1024];
};

int peer_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

bool peer_same(const struct peer *a, const struct peer *b)
{
	return a->kind == b->kind && a->user == b->user && a->address == b->address;
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->six.sin6_addr);
}

/* As the other end has them: its source is our peer. */
static void put_ends(struct inet_diag_sockid *id, const union address *source,
	const union address *destination)
{
	bool six = source->any.sa_family == AF_INET6;

	id->idiag_sport = six ? source->six.sin6_port : source->four.sin_port;
	id->idiag_dport = six ? destination->six.sin6_port : destination->four.sin_port;
	if (six) {
		memcpy(id->idiag_src, &source->six.sin6_addr, sizeof(id->idiag_src));
		memcpy(id->idiag_dst, &destination->six.sin6_addr, sizeof(id->idiag_dst));
	} else {
		id->idiag_src[0] = source->four.sin_addr.s_addr;
		id->idiag_dst[0] = destination->four.sin_addr.s_addr;
	}
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* Discards answers to earlier questions. */
static void drain(int fd)
{
	union answer answer;

	while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
}

static bool ask_user(
	int fd, const union address *source, const union address *destination, uint32_t *user)
{
	struct question question = {
		.head = { .nlmsg_len = sizeof(question),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)source->any.sa_family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = UINT32_MAX },
	};
	union answer answer = { .room = "" };
	ssize_t len;

	put_ends(&question.body.id, source, destination);
	drain(fd);
	if (send(fd, &question, sizeof(question), MSG_DONTWAIT) != sizeof(question))
		return false;
	len = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (len < (ssize_t)sizeof(answer.found) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		answer.found.body.idiag_inode == 0)
		return false;
	*user = answer.found.body.idiag_uid;
	return true;
}

static struct peer of_address(const union address *a)
{
	struct peer peer = { .kind = PEER_ADDRESS };

	if (a->any.sa_family == AF_INET)
		peer.address = a->four.sin_addr.s_addr;
	else
		memcpy(&peer.address, &a->six.sin6_addr, sizeof(peer.address));
	return peer;
}

struct peer peer_of(int fd, int diag_fd)
{
	union address theirs = { 0 }, ours = { 0 };
	socklen_t theirs_len = sizeof(theirs), ours_len = sizeof(ours);
	struct peer peer = { .kind = PEER_UNKNOWN };
	struct ucred who = { 0 };
	socklen_t who_len = sizeof(who);

	if (getpeername(fd, &theirs.any, &theirs_len) < 0 ||
		getsockname(fd, &ours.any, &ours_len) < 0)
		return peer;
	if (theirs.any.sa_family == AF_UNIX) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &who_len) == 0)
			peer = (struct peer){ .kind = PEER_USER, .user = who.uid };
		return peer;
	}
	if (theirs.any.sa_family != AF_INET && theirs.any.sa_family != AF_INET6)
		return peer;
	if (!is_loopback(&ours))
		return of_address(&theirs);
	if (diag_fd >= 0 && ask_user(diag_fd, &theirs, &ours, &peer.user))
		peer.kind = PEER_USER;
	return peer;
}
