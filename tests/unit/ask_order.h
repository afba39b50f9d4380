/* SPDX-License-Identifier: Apache-2.0 */
/* ask_order.h - an order and its answer, in one call. */
#pragma once

#include "base/orders.h"

static inline int ask_order(int socket, const void *order, size_t order_bytes, int given,
	void *answer, size_t answer_bytes, int *fd)
{
	int err = orders_send(socket, order, order_bytes, given);

	return err < 0 ? err : orders_answer(socket, answer, answer_bytes, fd);
}
