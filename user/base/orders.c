/* SPDX-License-Identifier: Apache-2.0 */
/* base/orders.c - the only loop that serves orders. A handler sees an order only after its size,
 * its kind and its sender's right to it were checked. Descriptors that no handler keeps are closed
 * here. Answers that come later than their order are the caller's to send. */
#include "base/orders.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/fd.h"

union message {
	uint32_t kind;
	uint64_t bytes[ORDERS_BYTES_MAX / sizeof(uint64_t)];
};

int orders_obey(const struct orders *orders, int socket, unsigned int who)
{
	_cleanup_fd_ int given = -1, fd = -1;
	union message order = { 0 }, answer = { 0 };
	struct orders_call call = { .order = &order, .given = -1, .answer = &answer, .fd = -1 };
	const struct orders_row *row;
	int err;

	assert(orders->order_bytes >= sizeof(order.kind) && orders->order_bytes <= sizeof(order));
	assert(orders->answer_bytes <= sizeof(answer));
	err = fd_take(socket, MSG_DONTWAIT, &order, orders->order_bytes, &given);
	if (err < 0)
		return err;
	row = order.kind < orders->rows_len ? &orders->rows[order.kind] : NULL;
	if (!row || !(row->who & who))
		return -EPROTO;
	call.given = TAKE_FD(given);
	err = row->obey(orders->ctx, &call);
	given = call.given;
	fd = call.fd;
	if (err == 0)
		err = fd_pass(socket, &answer, orders->answer_bytes, fd);
	if (err == -ETOOMANYREFS && orders->unsent) {
		orders->unsent(orders->ctx, &call);
		err = fd_pass(socket, &answer, orders->answer_bytes, -1);
	}
	if (err == -EAGAIN)
		return -ENOBUFS;
	return err < 0 ? err : 0;
}

static bool is_served(const struct orders *orders, const struct pollfd *ready, unsigned int who)
{
	int err = ready->revents ? orders_obey(orders, ready->fd, who) : 0;

	return err == 0 || err == -EAGAIN;
}

void orders_serve(struct orders *orders, int owner)
{
	for (;;) {
		struct pollfd ready[1 + ORDERS_GUESTS_MAX] = { { .fd = owner, .events = POLLIN } };
		size_t len = orders->guests_len;

		for (size_t i = 0; i < len; i++)
			ready[1 + i] = (struct pollfd){ .fd = orders->guests[i], .events = POLLIN };
		if (poll(ready, 1 + len, -1) < 0)
			continue;
		/* The last guest takes the place of one that is dropped. */
		while (len-- > 0) {
			if (is_served(orders, &ready[1 + len], ORDERS_GUEST))
				continue;
			fd_close(&orders->guests[len]);
			orders->guests[len] = orders->guests[--orders->guests_len];
		}
		if (!is_served(orders, &ready[0], ORDERS_OWNER))
			return;
	}
}

int orders_admit(struct orders *orders, int *socket)
{
	if (orders->guests_len == ORDERS_GUESTS_MAX)
		return -EAGAIN;
	if (fcntl(*socket, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	orders->guests[orders->guests_len++] = *socket;
	*socket = -1;
	return 0;
}

int orders_send(int socket, const void *order, size_t order_bytes, int given)
{
	int err = fd_pass(socket, order, order_bytes, given);

	return err < 0 && err != -ETOOMANYREFS ? -EPIPE : err;
}

int orders_answer(int socket, void *answer, size_t answer_bytes, int *fd)
{
	_cleanup_fd_ int came = -1;
	int err;

	do
		err = fd_take(socket, 0, answer, answer_bytes, &came);
	while (err == -EAGAIN);
	if (err < 0)
		return -EPIPE;
	*fd = TAKE_FD(came);
	return 0;
}
