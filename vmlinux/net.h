/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* vmlinux/net.h - the part of vmlinux/vmlinux.h for sockets, which only bpf/resource.bpf.h reads.
 */
#pragma once

#include "vmlinux/vmlinux.h"

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} CORE;

struct sock_common {
	u32 skc_daddr;
	u16 skc_dport; /* in the net's byte order */
	u16 skc_num;   /* the own port */
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
} CORE;

struct wait_queue_head {
	struct list_head head;
} CORE;

struct wait_queue_entry {
	void *private; /* the task that waits, or a poll's struct poll_wqueues */
	struct list_head entry;
} CORE;

struct poll_wqueues {
	struct task_struct *polling_task;
} CORE;

struct socket_wq {
	struct wait_queue_head wait;
} CORE;

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct socket_wq *sk_wq;
} CORE;

struct inet_bind_bucket {
	signed char fastreuse; /* -1: none of its sockets was bound by a call of bind or listen */
} CORE;

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
} CORE;

struct socket {
	struct sock *sk;
} CORE;

/* User ABI: fixed by linux/un.h, so no CO-RE. */
struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[];
} CORE;

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
} CORE;
