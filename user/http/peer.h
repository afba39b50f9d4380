/* SPDX-License-Identifier: Apache-2.0 */
/* http/peer.h - whose connection it is: on the loopback and on a unix socket a user, else an
 * address. So whoever fills the places of a peer fills no other's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum peer_kind {
	PEER_UNKNOWN, /* all of these are one peer */
	PEER_USER,
	PEER_ADDRESS,
};

struct peer {
	uint32_t kind;
	uint32_t user;
	uint64_t address; /* IPv4; of IPv6 the first half, as a host has the rest to itself */
};

/* For peer_of, and for this network namespace also after it was left. -errno: the kernel has no
 * such sockets, and the users of the loopback are unknown. */
int peer_open(void);
/* fd: a connected socket; diag_fd: of peer_open, or negative. Does not wait. */
struct peer peer_of(int fd, int diag_fd);
bool peer_same(const struct peer *a, const struct peer *b);
