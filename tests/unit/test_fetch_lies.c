/* SPDX-License-Identifier: Apache-2.0 */
/* The process that fetches, which the test plays, lies in every field of its answers, about the
 * messages and about what it wrote: each order ends once, the sum of bytes keeps its limit, no
 * descriptor is left.
 * LINK: -Wl,--wrap=starter_start */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "lie_fields.h"
#include "open_files.h"
#include "files/fetch.h"
#include "containers/inquiry.h"
#include "client/starter.h"

#define NO_PROCESS 0x40000000 /* more than PID_MAX_LIMIT */
#define ORDERS 2
#define URLS "http://one.example/ https://two.example"
#define URLS_LEN 2

/* Lies about a message as a whole. */
enum message {
	M_HONEST,
	M_EMPTY,
	M_SHORT,
	M_LONG,
	M_FD,
	M_TWO_FDS,
	M_FD_FOR_NOTHING,
	M_TWICE,
	M_GONE,
	M_SILENT,
	MESSAGES,
};

static int peer = -1; /* the other end, of the latest process */
static int (*process)(int fd); /* NULL: the test plays it */
static pid_t processes;        /* the latest one */
static struct starter ours = STARTER_INIT;

int __wrap_starter_start(struct starter *starter, const char *argument, struct child *child);

int __wrap_starter_start(struct starter *starter, const char *argument, struct child *child)
{
	pid_t pid = NO_PROCESS;
	int pair[2];

	(void)starter;
	assert_string_equal(argument, FETCH_ARGUMENT);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fd_close(&peer);
	peer = pair[1];
	if (process && (pid = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		_exit(process(peer));
	}
	processes = pid;
	child_adopt(child, pid, pair[0]);
	return 0;
}

static void send_bytes(const void *bytes, size_t size, unsigned int fds_len)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	int fds[2] = { open("/dev/null", O_RDWR | O_CLOEXEC), -1 };

	fds[1] = fds[0];
	if (fds_len > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(fds_len * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, fds_len * sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(fds_len * sizeof(int));
	}
	/* The agent may have closed its end by now. */
	(void)!sendmsg(peer, &m, MSG_NOSIGNAL);
	close(fds[0]);
}

static void answer(const struct fetch_answer *honest, enum message message)
{
	uint8_t bytes[sizeof(*honest) + 8] = { 0 };
	struct fetch_answer a = *honest;
	unsigned int fds_len = message == M_FD || message == M_FD_FOR_NOTHING;
	size_t size = sizeof(a);

	if (message == M_FD_FOR_NOTHING)
		a.reason = FETCH_NOT_FOUND;
	if (message == M_TWO_FDS)
		fds_len = 2;
	if (message == M_EMPTY)
		size = 0;
	if (message == M_SHORT)
		size -= 4;
	if (message == M_LONG)
		size += 8;
	memcpy(bytes, &a, sizeof(a));
	if (message != M_GONE && message != M_SILENT)
		send_bytes(bytes, size, fds_len);
	if (message == M_TWICE)
		send_bytes(bytes, size, fds_len);
	if (message == M_GONE)
		fd_close(&peer);
}

/* ---- files ---------------------------------------------------------------------------------- */

struct told {
	size_t len, came;
	bool lost;
};

static void on_fetched(void *ctx, uint64_t id, int fd, enum fetch_reason reason, const char *url)
{
	struct told *told = ctx;

	assert_int_equal(id, 7 + told->len);
	assert_true(reason < FETCH_REASONS_LEN);
	assert_int_equal(fd >= 0, reason == FETCH_DONE);
	assert_true(strncmp(url, "http", 4) == 0 && strlen(url) < FETCH_URL_MAX);
	told->len++;
	told->came += fd >= 0;
	told->lost |= reason == FETCH_LOST;
	if (fd >= 0)
		close(fd);
}

/* The order that comes next; false: none is there. */
static bool take_order(struct fetch_order *out)
{
	_cleanup_fd_ int file = -1;

	if (fd_take(peer, MSG_DONTWAIT, out, sizeof(*out), &file) < 0)
		return false;
	assert_int_equal(file >= 0, out->kind == FETCH_INTO);
	return true;
}

/* The first answer is this one, the others are honest. */
static struct told fetch_with(const struct fetch_answer *first, enum message message)
{
	const struct build_id id = { .bytes = { 1, 2, 3 }, .len = 20 };
	struct fetch_answer a = *first;
	struct told told = { 0 };
	struct fetch_stats stats;
	struct fetch_order order;
	struct fetch *fetch;
	struct why why;
	uint64_t ends = 0;

	assert_int_equal(fetch_open(URLS, &ours, &fetch, &why), 0);
	fetch_listen(fetch, on_fetched, &told);
	for (uint64_t i = 0; i < ORDERS; i++)
		assert_int_equal(fetch_ask(fetch, 7 + i, &id), 0);
	while (take_order(&order)) {
		if (order.kind != FETCH_FILE)
			continue;
		answer(&a, message);
		fetch_poll(fetch);
		if (peer < 0)
			break;
		a = (struct fetch_answer){ .id = order.id + 1, .bytes = 4096 };
		message = M_HONEST;
	}
	fetch_await(fetch, 0);
	assert_int_equal(told.len, ORDERS);
	fetch_stats(fetch, &stats);
	for (int reason = 0; reason < FETCH_REASONS_LEN; reason++)
		ends += stats.failed[reason];
	assert_int_equal(ends + stats.fetched, ORDERS);
	assert_int_equal(stats.fetched, told.came);
	assert_true(stats.bytes <= ORDERS * URLS_LEN * FETCH_FILE_BYTES_MAX);
	fetch_free(fetch);
	fd_close(&peer);
	return told;
}

static const struct fetch_answer honest = { .id = 7, .bytes = 4096, .reason = FETCH_DONE };

static void a_fetcher_that_lies_in_a_field_is_refused_or_survived(void **state)
{
	const struct lie_field *fields;
	size_t len = lie_fetch_fields(&fields), files = open_files();

	(void)state;
	assert_int_equal(fetch_with(&honest, M_HONEST).came, ORDERS);
	for (size_t i = 0; i < len * 4 * LIE_VALUES; i++) {
		const struct lie_field *field = &fields[i % len];
		struct fetch_answer a = honest;
		struct told told;

		lie_in_field((uint8_t *)&a, field, (unsigned int)(i / len), (uint32_t)i * 2654435U);
		print_message("%s %zu\n", field->name, i / len);
		told = fetch_with(&a, M_HONEST);
		if (field->certain || a.bytes > URLS_LEN * FETCH_FILE_BYTES_MAX)
			assert_true(told.lost && told.came == 0);
	}
	assert_int_equal(open_files(), files);
}

static void a_fetcher_that_sends_what_is_no_answer_is_lost(void **state)
{
	size_t files = open_files();

	(void)state;
	for (int message = M_HONEST + 1; message < MESSAGES; message++) {
		struct told told;

		print_message("message %d\n", message);
		told = fetch_with(&honest, (enum message)message);
		/* One that is silent is late; of two the first one is an answer, and its last. */
		assert_int_equal(told.lost, message != M_SILENT && message != M_TWICE);
		assert_int_equal(told.came, message == M_TWICE ? ORDERS : 0);
	}
	assert_int_equal(open_files(), files);
}

/* ---- what it writes ------------------------------------------------------------------------- */

#define WRITTEN (1U << 20)

static struct fetch *open_fetch(struct told *told, size_t orders)
{
	const struct build_id id = { .bytes = { 1, 2, 3 }, .len = 20 };
	struct fetch *fetch;
	struct why why;

	*told = (struct told){ 0 };
	assert_int_equal(fetch_open(URLS, &ours, &fetch, &why), 0);
	fetch_listen(fetch, on_fetched, told);
	for (uint64_t i = 0; i < orders; i++)
		assert_int_equal(fetch_ask(fetch, 7 + i, &id), 0);
	return fetch;
}

/* Up to an order for a file. Servers that are left out are counted. */
static int take_file_order(int from, struct fetch_order *order, unsigned int *left_out)
{
	int file = -1;

	*left_out = 0;
	do {
		int given = -1;

		assert_int_equal(fd_take(from, 0, order, sizeof(*order), &given), 0);
		*left_out += order->kind == FETCH_SERVER && order->text[0] == '\0';
		file = given >= 0 ? given : file;
	} while (order->kind != FETCH_FILE);
	return file;
}

static void what_a_fetcher_leaves_on_the_disk_counts_whatever_it_says(void **state)
{
	static char bytes[WRITTEN];
	struct fetch_stats stats;
	struct told told;
	struct fetch *fetch = open_fetch(&told, ORDERS);

	(void)state;
	memset(bytes, 1, sizeof(bytes));
	for (uint64_t i = 0; i < ORDERS; i++) {
		struct fetch_order order;
		unsigned int left_out;
		int file = take_file_order(peer, &order, &left_out);

		assert_int_equal(fd_write_all(file, bytes, sizeof(bytes)), 0);
		close(file);
		answer(&(struct fetch_answer){
			       .id = order.id, .reason = i == 0 ? FETCH_NOT_FOUND : FETCH_DONE },
			M_HONEST);
		fetch_poll(fetch);
	}
	fetch_stats(fetch, &stats);
	assert_int_equal(told.len, ORDERS);
	assert_in_range(stats.bytes, ORDERS * WRITTEN, 2 * ORDERS * WRITTEN);
	fetch_free(fetch);
	fd_close(&peer);
}

static void a_fetcher_that_writes_more_than_a_file_may_have_is_lost(void **state)
{
	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		struct told told;
		struct fetch *fetch = open_fetch(&told, ORDERS);
		uint64_t end = clock_ns(CLOCK_MONOTONIC) + 10 * NSEC_PER_SEC;
		struct fetch_order order;
		unsigned int left_out;
		int file = take_file_order(peer, &order, &left_out);

		assert_int_equal(ftruncate(file, FETCH_FILE_BYTES_MAX + 1), 0);
		close(file);
		if (answers)
			answer(&honest, M_HONEST);
		while (told.len == 0 && clock_ns(CLOCK_MONOTONIC) < end) {
			assert_true(fetch_due_ns(fetch) != CLOCK_NEVER_NS);
			fetch_poll(fetch);
		}
		assert_int_equal(told.len, ORDERS);
		assert_true(told.lost && told.came == 0);
		fetch_free(fetch);
		fd_close(&peer);
	}
}

static void answer_as_process(int fd, const struct fetch_order *order)
{
	const struct fetch_answer a = { .id = order->id, .bytes = 1, .reason = FETCH_DONE };

	if (write(fd, &a, sizeof(a)) != sizeof(a))
		_exit(1);
}

/* It has the file, and would go on writing. */
static int stay(int fd)
{
	struct fetch_order order;
	unsigned int left_out;

	take_file_order(fd, &order, &left_out);
	answer_as_process(fd, &order);
	for (;;)
		pause();
	return 0;
}

static int be_stopped(int fd)
{
	struct fetch_order order;
	unsigned int left_out;

	take_file_order(fd, &order, &left_out);
	raise(SIGSTOP);
	answer_as_process(fd, &order);
	return 0;
}

static struct told fetch_from(int (*run)(int fd))
{
	struct told told;
	struct fetch *fetch;

	process = run;
	fetch = open_fetch(&told, 1);
	fetch_await(fetch, clock_ns(CLOCK_MONOTONIC) + 10 * NSEC_PER_SEC);
	process = NULL;
	assert_true(kill(processes, 0) < 0 && errno == ESRCH);
	fetch_free(fetch);
	fd_close(&peer);
	return told;
}

static void a_process_ends_with_its_answer_so_nobody_writes_the_file_later(void **state)
{
	(void)state;
	assert_int_equal(fetch_from(stay).came, 1);
}

static void a_process_that_is_stopped_goes_on(void **state)
{
	(void)state;
	ours.stopped = 0;
	assert_int_equal(fetch_from(be_stopped).came, 1);
	assert_true(ours.stopped > 0);
}

#define TRIES 5

/* The first failure is forgotten with the answer after it. */
static void a_server_that_fails_twice_in_a_row_is_left_out(void **state)
{
	static const uint64_t failed[TRIES] = { 2, 0, 2, 2, 0 };
	static const unsigned int expected[TRIES] = { 0, 0, 0, 0, 1 };
	struct told told;
	struct fetch *fetch = open_fetch(&told, TRIES);

	(void)state;
	for (size_t i = 0; i < TRIES; i++) {
		struct fetch_order order;
		unsigned int left_out;

		close(take_file_order(peer, &order, &left_out));
		assert_int_equal(left_out, expected[i]);
		answer(&(struct fetch_answer){ .id = order.id,
			       .reason = FETCH_NOT_FOUND,
			       .failed = failed[i] },
			M_HONEST);
		fetch_poll(fetch);
	}
	assert_int_equal(told.len, TRIES);
	fetch_free(fetch);
	fd_close(&peer);
}

/* ---- what a container runtime says ---------------------------------------------------------- */

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static int runtime = -1;

static int listen_as_runtime(void **state)
{
	char *folder = address.sun_path;

	(void)state;
	strcpy(folder, "/tmp/test_fetch_lies.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	strcat(folder, "/socket");
	runtime = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(runtime, (void *)&address, sizeof(address)) < 0 ? -1 : listen(runtime, 64);
}

static int stop_runtime(void **state)
{
	(void)state;
	fd_close(&runtime);
	unlink(address.sun_path);
	*strrchr(address.sun_path, '/') = '\0';
	rmdir(address.sun_path);
	return 0;
}

/* Answers are there before they are asked for. True: the answer was taken. */
static bool inquire_with(const struct fetch_answer *a, enum message message)
{
	struct inquiry *inquiry;
	struct why why;
	int fd = -1, next = -1, err, again;

	assert_int_equal(inquiry_open(address.sun_path, &ours, &inquiry, &why), 0);
	answer(a, message);
	err = inquiry_ask(inquiry, "0123456789abcdef", 0, &fd);
	assert_int_equal(err == 0, fd >= 0);
	assert_true(err <= 0);
	again = inquiry_ask(inquiry, "0123456789abcdef", 0, &next);
	/* One that was caught is never asked again. */
	if (err < 0 && err != -ENOENT)
		assert_int_equal(again, -EPIPE);
	assert_true(again < 0 && next < 0);
	fd_close(&fd);
	fd_close(&peer);
	inquiry_free(inquiry);
	close(accept(runtime, NULL, NULL));
	if (again != -EPIPE)
		close(accept(runtime, NULL, NULL));
	return err == 0;
}

static void a_fetcher_that_lies_about_a_runtime_is_refused_or_survived(void **state)
{
	const struct fetch_answer right = { .id = 1, .bytes = 4096, .reason = FETCH_DONE };
	const struct lie_field *fields;
	size_t len = lie_fetch_fields(&fields), files = open_files();

	(void)state;
	assert_true(inquire_with(&right, M_HONEST));
	for (size_t i = 0; i < len * LIE_VALUES; i++) {
		struct fetch_answer a = right;

		lie_in_field((uint8_t *)&a, &fields[i % len], (unsigned int)(i / len), (uint32_t)i);
		print_message("%s %zu\n", fields[i % len].name, i / len);
		if (fields[i % len].certain)
			assert_false(inquire_with(&a, M_HONEST));
		else
			inquire_with(&a, M_HONEST);
	}
	for (int message = M_HONEST + 1; message < MESSAGES; message++)
		if (message != M_TWICE)
			assert_false(inquire_with(&right, (enum message)message));
	assert_int_equal(open_files(), files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fetcher_that_lies_in_a_field_is_refused_or_survived),
		cmocka_unit_test(a_fetcher_that_sends_what_is_no_answer_is_lost),
		cmocka_unit_test(what_a_fetcher_leaves_on_the_disk_counts_whatever_it_says),
		cmocka_unit_test(a_fetcher_that_writes_more_than_a_file_may_have_is_lost),
		cmocka_unit_test(
			a_process_ends_with_its_answer_so_nobody_writes_the_file_later),
		cmocka_unit_test(a_process_that_is_stopped_goes_on),
		cmocka_unit_test(a_server_that_fails_twice_in_a_row_is_left_out),
		cmocka_unit_test_setup_teardown(
			a_fetcher_that_lies_about_a_runtime_is_refused_or_survived,
			listen_as_runtime, stop_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
