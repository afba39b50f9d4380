/* SPDX-License-Identifier: Apache-2.0 */
/* test_orders.c - the orders that a process of ours obeys: who may give which, and what becomes of
 * a sender or a server that breaks the rules.
 * LINK: -Wl,--wrap=fd_pass */
#include "unit.h"
#include "ask_order.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/orders.h"
#include "base/own.h"
#include "open_files.h"

static struct child must_start(const struct child_plan *plan)
{
	struct child child;

	assert_int_equal(child_start(plan, &child), 0);
	return child;
}

static bool unsendable; /* all descriptors, of this process and of servers that it starts */

int __real_fd_pass(int socket, const void *data, size_t size, int fd);
int __wrap_fd_pass(int socket, const void *data, size_t size, int fd);

int __wrap_fd_pass(int socket, const void *data, size_t size, int fd)
{
	return fd >= 0 && unsendable ? -ETOOMANYREFS : __real_fd_pass(socket, data, size, fd);
}

enum kind { ADD, ADMIT, FILE_OF, SILENT, FAIL, HOLE, KINDS };

struct order {
	uint32_t kind, number;
};

struct answer {
	uint32_t sum;
	int err;
};

struct server {
	struct orders orders;
	uint32_t sum;
};

static int obey_add(void *ctx, struct orders_call *call)
{
	struct server *s = ctx;
	struct order *order = call->order;
	struct answer *answer = call->answer;

	s->sum += order->number;
	answer->sum = s->sum;
	return 0;
}

static int obey_admit(void *ctx, struct orders_call *call)
{
	struct server *s = ctx;
	struct answer *answer = call->answer;

	answer->err = orders_admit(&s->orders, &call->given);
	return 0;
}

static int obey_file(void *ctx, struct orders_call *call)
{
	(void)ctx;
	call->fd = TAKE_FD(call->given);
	return 0;
}

static int obey_silent(void *ctx, struct orders_call *call)
{
	obey_add(ctx, call);
	return ORDERS_SILENT;
}

static int obey_fail(void *ctx, struct orders_call *call)
{
	(void)ctx;
	(void)call;
	return -EINVAL;
}

static const struct orders_row rows[KINDS] = {
	[ADD] = { ORDERS_OWNER | ORDERS_GUEST, obey_add },
	[ADMIT] = { ORDERS_OWNER, obey_admit },
	[FILE_OF] = { ORDERS_OWNER, obey_file },
	[SILENT] = { ORDERS_OWNER, obey_silent },
	[FAIL] = { ORDERS_OWNER, obey_fail },
};

static void on_unsent(void *ctx, struct orders_call *call)
{
	struct answer *answer = call->answer;

	(void)ctx;
	answer->err = -ETOOMANYREFS;
}

/* Its exit status is how many descriptors it has left. ctx: not NULL: it says what it cannot send.
 */
static int run_server(void *ctx, int fd)
{
	struct server s = { .orders = { .rows = rows,
				    .rows_len = KINDS,
				    .order_bytes = sizeof(struct order),
				    .answer_bytes = sizeof(struct answer),
				    .unsent = ctx ? on_unsent : NULL,
				    .ctx = &s } };

	orders_serve(&s.orders, fd);
	return (int)open_files();
}

static const struct child_plan server = {
	.run = run_server, .fds = child_null, .fds_len = CHILD_STANDARD, .socket = true
};

static int ask(int socket, enum kind kind, uint32_t number, int given, struct answer *answer)
{
	const struct order order = { kind, number };
	_cleanup_fd_ int none = -1;

	return ask_order(socket, &order, sizeof(order), given, answer, sizeof(*answer), &none);
}

static uint32_t add(int socket, uint32_t number)
{
	struct answer answer = { 0 };

	assert_int_equal(ask(socket, ADD, number, -1, &answer), 0);
	return answer.sum;
}

static int end_server(struct child *child)
{
	struct child_end end;

	child_close(child, &end);
	assert_true(WIFEXITED(end.status));
	return WEXITSTATUS(end.status);
}

static void orders_are_answered_until_the_owner_ends(void **state)
{
	struct child child = must_start(&server);

	(void)state;
	assert_int_equal(add(child.fd, 2), 2);
	assert_int_equal(add(child.fd, 3), 5);
	assert_int_equal(child_wait(&child, 0, NULL), -EAGAIN);
	assert_int_equal(end_server(&child), 4);
}

static void a_silent_order_has_no_answer(void **state)
{
	const struct order silent = { SILENT, 7 };
	struct child child = must_start(&server);

	(void)state;
	assert_int_equal(fd_pass(child.fd, &silent, sizeof(silent), -1), 0);
	assert_int_equal(add(child.fd, 1), 8);
	end_server(&child);
}

static void a_descriptor_goes_with_an_order_and_with_an_answer(void **state)
{
	const struct order order = { .kind = FILE_OF };
	_cleanup_fd_ int file = -1, came = -1;
	struct child child = must_start(&server);
	struct answer answer;
	char byte = 0;

	(void)state;
	assert_int_equal(fd_in_memory("test", "z", 1, &file), 0);
	assert_int_equal(
		ask_order(child.fd, &order, sizeof(order), file, &answer, sizeof(answer), &came),
		0);
	assert_int_equal(pread(came, &byte, 1, 0), 1);
	assert_int_equal(byte, 'z');
	/* What no handler keeps is closed. */
	assert_int_equal(ask(child.fd, ADD, 0, file, &answer), 0);
	assert_int_equal(end_server(&child), 4);
}

static void a_descriptor_that_cannot_be_sent_loses_nobody(void **state)
{
	const struct order order = { .kind = FILE_OF };
	_cleanup_fd_ int file = -1, came = -1;
	struct answer answer = { 0 };
	struct child_plan plan = server;
	struct child child;

	(void)state;
	assert_int_equal(fd_in_memory("test", "z", 1, &file), 0);
	plan.ctx = &plan;
	unsendable = true;
	child = must_start(&plan);
	assert_int_equal(ask(child.fd, ADD, 1, file, &answer), -ETOOMANYREFS);
	unsendable = false; /* here, not there */
	assert_int_equal(
		ask_order(child.fd, &order, sizeof(order), file, &answer, sizeof(answer), &came),
		0);
	assert_int_equal(answer.err, -ETOOMANYREFS);
	assert_int_equal(came, -1);
	assert_int_equal(add(child.fd, 2), 2);
	assert_int_equal(end_server(&child), 4);
}

static void an_owner_that_breaks_a_rule_is_not_served(void **state)
{
	static const struct {
		const char *name;
		uint32_t bytes[4];
		size_t size;
	} lies[] = {
		{ "no such order", { KINDS }, 8 },
		{ "a kind that wraps", { UINT32_MAX }, 8 },
		{ "an order without a handler", { HOLE }, 8 },
		{ "an order that fails", { FAIL }, 8 },
		{ "half an order", { ADD }, 4 },
		{ "an empty message", { 0 }, 0 },
		{ "more than an order", { ADD }, 12 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_fd_ int file = -1;
		struct child child = must_start(&server);
		struct answer answer;

		print_message("%s\n", lies[i].name);
		assert_int_equal(fd_in_memory("test", "z", 1, &file), 0);
		assert_int_equal(fd_pass(child.fd, lies[i].bytes, lies[i].size, file), 0);
		/* It ends while we have the socket. */
		assert_int_equal(child_wait(&child, -1, NULL), 0);
		assert_int_equal(ask(child.fd, ADD, 1, -1, &answer), -EPIPE);
		child_leave(&child);
	}
}

static int admit(struct child *child, int *ours)
{
	_cleanup_fd_ int theirs = -1;
	struct answer answer;

	assert_int_equal(fd_pair(ours, &theirs), 0);
	assert_int_equal(ask(child->fd, ADMIT, 0, theirs, &answer), 0);
	return answer.err;
}

static void a_guest_may_give_its_orders_only(void **state)
{
	static const enum kind forbidden[] = { ADMIT, FILE_OF, SILENT, FAIL, HOLE, KINDS };
	struct child child = must_start(&server);
	_cleanup_fd_ int other = -1;
	struct answer answer;

	(void)state;
	assert_int_equal(admit(&child, &other), 0);
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		_cleanup_fd_ int guest = -1;

		assert_int_equal(admit(&child, &guest), 0);
		add(guest, 1);
		assert_int_equal(ask(guest, forbidden[i], 1, -1, &answer), -EPIPE);
	}
	assert_int_equal(add(other, 1), ARRAY_SIZE(forbidden) + 1);
	assert_int_equal(add(child.fd, 1), ARRAY_SIZE(forbidden) + 2);
	end_server(&child);
}

static void guests_have_a_limit_and_leave_room(void **state)
{
	struct child child = must_start(&server);
	int guests[ORDERS_GUESTS_MAX], one_more = -1, err;
	struct answer answer;

	(void)state;
	for (size_t i = 0; i < ORDERS_GUESTS_MAX; i++)
		assert_int_equal(admit(&child, &guests[i]), 0);
	assert_int_equal(admit(&child, &one_more), -EAGAIN);
	fd_close(&one_more);
	/* Not the last one: the others keep their places. */
	fd_close(&guests[1]);
	do {
		fd_close(&one_more);
		err = admit(&child, &one_more);
	} while (err == -EAGAIN);
	assert_int_equal(err, 0);
	for (size_t i = 0; i < ORDERS_GUESTS_MAX; i++)
		assert_int_equal(ask(i == 1 ? one_more : guests[i], ADD, 1, -1, &answer), 0);
	assert_int_equal(answer.sum, ORDERS_GUESTS_MAX);
	for (size_t i = 0; i < ORDERS_GUESTS_MAX; i++)
		fd_close(&guests[i]);
	fd_close(&one_more);
	end_server(&child);
}

static void no_descriptor_can_be_no_guest(void **state)
{
	struct child child = must_start(&server);
	struct answer answer;

	(void)state;
	assert_int_equal(ask(child.fd, ADMIT, 0, -1, &answer), 0);
	assert_true(answer.err < 0);
	assert_int_equal(end_server(&child), 4);
}

/* It takes no answers: the server drops it and serves the others. */
static void a_guest_that_does_not_read_delays_nobody(void **state)
{
	const struct order order = { ADD, 1 };
	struct child child = must_start(&server);
	_cleanup_fd_ int guest = -1;

	(void)state;
	assert_int_equal(admit(&child, &guest), 0);
	while (fd_pass(guest, &order, sizeof(order), -1) == 0)
		;
	add(child.fd, 1);
	end_server(&child);
}

/* ---- a server that lies --------------------------------------------------------------------- */

static int run_liar(void *ctx, int fd)
{
	const size_t *size = ctx;
	char bytes[64] = "";
	struct order order;
	int none = -1;

	if (fd_take(fd, 0, &order, sizeof(order), &none) < 0)
		return 1;
	return *size > 0 ? fd_pass(fd, bytes, *size, 0) < 0 : 0;
}

static void a_child_that_lies_about_its_answer_is_lost(void **state)
{
	static const size_t sizes[] = { 0, 1, 4, 12, 64 };
	size_t before = open_files();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct answer answer = { 0 };
		struct child child = must_start(&(struct child_plan){ .run = run_liar,
			.ctx = (void *)&sizes[i],
			.fds = child_standard,
			.fds_len = CHILD_STANDARD,
			.socket = true });

		assert_int_equal(ask(child.fd, ADD, 1, -1, &answer), -EPIPE);
		child_close(&child, NULL);
	}
	assert_int_equal(open_files(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_answered_until_the_owner_ends),
		cmocka_unit_test(a_silent_order_has_no_answer),
		cmocka_unit_test(a_descriptor_goes_with_an_order_and_with_an_answer),
		cmocka_unit_test(a_descriptor_that_cannot_be_sent_loses_nobody),
		cmocka_unit_test(an_owner_that_breaks_a_rule_is_not_served),
		cmocka_unit_test(a_guest_may_give_its_orders_only),
		cmocka_unit_test(guests_have_a_limit_and_leave_room),
		cmocka_unit_test(no_descriptor_can_be_no_guest),
		cmocka_unit_test(a_guest_that_does_not_read_delays_nobody),
		cmocka_unit_test(a_child_that_lies_about_its_answer_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
