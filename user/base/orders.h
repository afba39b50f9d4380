/* SPDX-License-Identifier: Apache-2.0 */
/* base/orders.h - one process sends another an order and gets its answer: messages of fixed sizes
 * over a SOCK_SEQPACKET pair, each with a descriptor or none. An order begins with its kind, a
 * uint32_t. The server takes each order for an attacker's: it checks the size, the kind and whether
 * the sender may give this order, and drops a sender that breaks a rule. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ORDERS_BYTES_MAX 8192
#define ORDERS_GUESTS_MAX 8

/* Who may give an order. The server ends with its owner; guests come and go. */
#define ORDERS_OWNER 1U
#define ORDERS_GUEST 2U

/* A handler returns this to send no answer. */
#define ORDERS_SILENT 1

struct orders_call {
	void *order;  /* order_bytes of it */
	int given;    /* the descriptor that came with it, or -1; TAKE_FD keeps it */
	void *answer; /* answer_bytes, all 0 so far */
	int fd;       /* goes with the answer and is closed then; -1: none */
};

struct orders_row {
	unsigned int who; /* ORDERS_OWNER | ORDERS_GUEST */
	/* 0: the answer is sent; ORDERS_SILENT; -errno: the sender is dropped. */
	int (*obey)(void *ctx, struct orders_call *call);
};

struct orders {
	const struct orders_row *rows; /* by kind; who 0: no such order */
	size_t rows_len;
	size_t order_bytes, answer_bytes; /* ORDERS_BYTES_MAX at most */
	void *ctx;
	/* The descriptor of an answer cannot be sent now (fd_pass, -ETOOMANYREFS): puts this into
	 * the answer, which goes without. NULL: the sender is dropped. */
	void (*unsent)(void *ctx, struct orders_call *call);
	int guests[ORDERS_GUESTS_MAX];
	size_t guests_len;
};

/* Obeys one order from this socket. 0; -EAGAIN: there is none; -EPIPE: the sender has gone or sent
 * another size; -EPROTO: it may not give this order; -ENOBUFS: it does not take its answer; others:
 * as its handler returned. With all but the first two, do not serve it any more. */
int orders_obey(const struct orders *orders, int socket, unsigned int who);
/* Obeys the owner and the guests until the owner is dropped. */
void orders_serve(struct orders *orders, int owner);
/* *socket becomes a guest's. -EAGAIN: there are ORDERS_GUESTS_MAX; -errno: it is none. The server
 * never waits for a guest: one that does not take its answer is dropped. */
int orders_admit(struct orders *orders, int *socket);

/* Sends an order. given: goes with it, or -1. -ETOOMANYREFS: given cannot be sent now, as of
 * fd_pass; -EPIPE: the server is lost. */
int orders_send(int socket, const void *order, size_t order_bytes, int given);
/* Waits for its answer. 0, and *fd is the descriptor that came with it, if one did; -EPIPE. */
int orders_answer(int socket, void *answer, size_t answer_bytes, int *fd);
