/* SPDX-License-Identifier: Apache-2.0 */
/* test_openers.c - openers that open, hang, die and lie.
 * LINK: -Wl,--wrap=file_key_compare,--wrap=file_key_magic,--wrap=file_key_of_child
 * LINK: -Wl,--wrap=file_system_is_local,--wrap=fd_pass */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/opener_call.h"
#include "client/openers.h"
#include "made_openers.h"
#include "sampler/file_key.h"
#include "wire/opening.h"
#include "worker/opening.h"

#define HANG_NS (100 * NSEC_PER_MSEC)
#define NOBODY 5000000 /* no process: there are less pids */

/* ---- what is asked ----------------------------------------------------------------------------
 */

struct got {
	unsigned int times;
	uint64_t id;
	int fd;
	enum object_reason reason;
	bool again;
	uint64_t copied;
	char path[PATH_MAX];
};

static void take(void *ctx, uint64_t id, struct openers_answer *answer)
{
	struct got *got = ctx;

	fd_close(&got->fd);
	got->times++;
	got->id = id;
	got->fd = TAKE_FD(answer->fd);
	got->reason = answer->reason;
	got->again = answer->again;
	got->copied = answer->copied;
	snprintf(got->path, sizeof(got->path), "%s", answer->path);
}

struct world {
	struct starter starter;
	struct openers *openers;
	int epoll;
	struct event_object event; /* of our own program */
	uint64_t account;
	struct got got;
};

static uint64_t each_its_own(pid_t process)
{
	return (uint64_t)process;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	manner = HONEST;
	starts = 0;
	made_openers_program(&w->event);
	assert_true(w->event.vm_end > 0);
	w->got.fd = -1;
	w->starter = (struct starter)STARTER_INIT;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	*state = w;
	return openers_new(&(struct openers_options){ .start = made_openers_start,
				   .starter = &w->starter,
				   .account = each_its_own,
				   .hang_ns = HANG_NS,
				   .epoll_fd = w->epoll },
		&w->openers);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	openers_free(w->openers);
	fd_close(&w->got.fd);
	fd_close(&w->epoll);
	free(w);
	return 0;
}

/* Until nothing is asked any more; at most as long as they say that it is due. */
static void settle(struct world *w)
{
	while (openers_pending(w->openers) > 0) {
		struct epoll_event event;
		uint64_t now = clock_ns(CLOCK_MONOTONIC), due = openers_due_ns(w->openers);

		assert_true(due != CLOCK_NEVER_NS);
		epoll_wait(w->epoll, &event, 1, clock_wait_ms(now, due));
		openers_poll(w->openers);
	}
}

/* Until it was answered so often. */
static void await(struct world *w, const struct got *got, unsigned int times)
{
	while (got->times < times) {
		struct epoll_event event;

		epoll_wait(w->epoll, &event, 1, 10);
		openers_poll(w->openers);
	}
}

static void ask(struct world *w)
{
	unsigned int before = w->got.times;

	openers_mapped(w->openers, &w->event, w->account, take, &w->got, w->event.id);
	settle(w);
	assert_int_equal(w->got.times, before + 1);
	assert_int_equal(w->got.id, w->event.id);
}

static void a_mapped_file_comes_with_its_path(void **state)
{
	struct world *w = *state;
	char path[PATH_MAX] = "";

	ask(w);
	assert_true(w->got.fd >= 0 && made_openers_is_program(w->got.fd));
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_string_equal(w->got.path, path);
	assert_int_equal(w->got.copied, 0);
	assert_true((fcntl(w->got.fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_true(openers_cpu_s(w->openers) > 0);
}

static void a_file_without_a_descriptor_for_it_is_over_the_limit(void **state)
{
	struct world *w = *state;
	struct rlimit before, none = { 0 };

	ask(w);
	fd_close(&w->got.fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ask(w);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(w->got.fd, -1);
	assert_int_equal(w->got.reason, OBJECT_LIMIT);
	ask(w);
	assert_true(w->got.fd >= 0);
	assert_int_equal(starts, 1);
}

static void a_root_comes_before_the_file(void **state)
{
	struct world *w = *state;
	struct got root = { .fd = -1 };
	const struct opener_process us = { .pid = getpid() };

	openers_root(w->openers, &us, &w->event, 0, take, &root, 1);
	openers_mapped(w->openers, &w->event, 0, take, &w->got, 2);
	while (w->got.times == 0) {
		struct epoll_event event;

		epoll_wait(w->epoll, &event, 1, 1000);
		openers_poll(w->openers);
		assert_true(root.times >= w->got.times);
	}
	assert_true(root.fd >= 0 && (fcntl(root.fd, F_GETFL) & O_PATH) != 0);
	assert_int_equal(starts, 1);
	fd_close(&root.fd);
}

static void a_file_that_samples_wait_for_comes_before_older_ones(void **state)
{
	struct world *w = *state;
	struct got busy = { .fd = -1 };

	for (uint64_t id = 1; id <= 200; id++)
		openers_mapped(w->openers, &w->event, 0, take, &w->got, id);
	openers_mapped(w->openers, &w->event, 0, take, &busy, 201);
	openers_want(w->openers, &busy, 201);
	await(w, &busy, 1);
	/* Those that are with the opener already, and those that were polled with it. */
	assert_true(w->got.times <= 2 * OPENING_IN_FLIGHT_MAX);
	assert_true(busy.fd >= 0);
	settle(w);
	assert_int_equal(w->got.times, 200);
	fd_close(&busy.fd);
}

static void a_file_that_is_not_the_mapped_one_is_refused(void **state)
{
	static const struct {
		int compared;
		enum object_reason reason;
	} rows[] = { { -ESTALE, OBJECT_CHANGED }, { -ENOENT, OBJECT_UNPROVEN } };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		kernel.compared = rows[i].compared;
		ask(w);
		assert_int_equal(w->got.fd, -1);
		assert_int_equal(w->got.reason, rows[i].reason);
	}
	w->event.vm_start = 4096;
	w->event.vm_end = 8192;
	ask(w);
	assert_int_equal(w->got.reason, OBJECT_GONE);
	assert_int_equal(starts, 1);
}

/* ---- file systems whose calls may wait ---------------------------------------------------------
 */

static void a_file_of_an_overlay_comes_after_a_look_at_its_layer(void **state)
{
	struct world *w = *state;

	kernel.slow = true;
	ask(w);
	assert_true(w->got.fd >= 0 && made_openers_is_program(w->got.fd));
	assert_true(w->got.path[0] == '/');
	kernel.key.ino++;
	ask(w);
	assert_int_equal(w->got.fd, -1);
	assert_int_equal(w->got.reason, OBJECT_CHANGED);
	assert_int_equal(starts, 1);
}

static void a_file_of_a_slow_file_system_comes_as_a_copy(void **state)
{
	struct world *w = *state;
	struct stat st, own;
	char here[4096], there[4096];
	_cleanup_fd_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	kernel.slow = true;
	kernel.magic = MADE_FUSE_MAGIC;
	ask(w);
	assert_true(w->got.fd >= 0 && fstat(w->got.fd, &st) == 0 && fstat(fd, &own) == 0);
	assert_true(fd_is_sealed(w->got.fd));
	assert_int_equal(st.st_size, own.st_size);
	assert_int_equal(w->got.copied, own.st_size);
	assert_memory_equal(&st.st_mtim, &own.st_mtim, sizeof(st.st_mtim));
	assert_int_equal(pread(fd, here, sizeof(here), own.st_size / 2), sizeof(here));
	assert_int_equal(pread(w->got.fd, there, sizeof(there), own.st_size / 2), sizeof(there));
	assert_memory_equal(here, there, sizeof(here));
}

static void all_copies_together_have_a_limit(void **state)
{
	struct world *w = *state;
	uint64_t bytes = 0;

	kernel.slow = true;
	kernel.magic = MADE_FUSE_MAGIC;
	for (ask(w); w->got.fd >= 0; ask(w)) {
		bytes += w->got.copied;
		assert_true(bytes <= OPENERS_COPIES_BYTES_MAX);
	}
	assert_int_equal(w->got.reason, OBJECT_LIMIT);
	/* What is left is for an account that has none. */
	w->account++;
	ask(w);
	assert_true(w->got.fd >= 0);
	openers_drop_copy(w->openers, w->account--, w->got.copied);
	ask(w);
	assert_int_equal(w->got.reason, OBJECT_LIMIT);
	openers_drop_copy(w->openers, w->account, bytes);
	ask(w);
	assert_true(w->got.fd >= 0);
}

static void try_twice_in_vain(struct world *w)
{
	uint64_t before = w->starter.unsent;

	*unsendable = 2;
	ask(w);
	assert_true(w->got.fd >= 0);
	assert_int_equal(w->starter.unsent, before + 2);
	assert_int_equal(starts, 1);
}

static void a_file_that_cannot_be_sent_comes_later(void **state)
{
	try_twice_in_vain(*state);
}

static void a_file_that_can_never_be_sent_is_refused_and_the_opener_replaced(void **state)
{
	struct world *w = *state;

	*unsendable = UINT_MAX;
	ask(w);
	*unsendable = 0;
	assert_int_equal(w->got.fd, -1);
	assert_int_equal(w->got.reason, OBJECT_OPEN);
	assert_true(w->starter.unsent > 2);
	ask(w);
	assert_true(w->got.fd >= 0);
	assert_int_equal(starts, 2);
}

static void a_file_that_is_held_and_cannot_be_sent_is_opened_again(void **state)
{
	static const uint32_t magics[] = { MADE_LOCAL_MAGIC, MADE_FUSE_MAGIC };
	struct world *w = *state;

	kernel.slow = true;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		print_message("row %zu\n", i);
		kernel.magic = magics[i];
		try_twice_in_vain(w);
		openers_drop_copy(w->openers, 0, w->got.copied);
	}
	/* The room for copies is whole. */
	all_copies_together_have_a_limit(state);
}

/* ---- hanging -----------------------------------------------------------------------------------
 */

static void the_file_of_an_opener_that_hangs_is_refused_and_others_go_on(void **state)
{
	struct world *w = *state;
	struct got other = { .fd = -1 };

	w->event.magic = MADE_FUSE_MAGIC;
	manner = HANGS;
	openers_mapped(w->openers, &w->event, 0, take, &w->got, 1);
	manner = HONEST;
	/* A local one is not kept waiting. */
	w->event.magic = MADE_LOCAL_MAGIC;
	openers_mapped(w->openers, &w->event, 0, take, &other, 2);
	await(w, &other, 1);
	assert_true(other.fd >= 0);
	settle(w);
	assert_int_equal(w->got.times, 1);
	assert_int_equal(w->got.fd, -1);
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	assert_false(w->got.again);
	assert_int_equal(openers_given_up(w->openers), 1);
	fd_close(&other.fd);
}

/* Each of its files takes more than a turn, and less than a hang. */
static void a_slow_file_system_delays_others_by_one_request(void **state)
{
	struct world *w = *state;
	struct got other = { .fd = -1 };

	w->event.magic = MADE_FUSE_MAGIC;
	manner = REFUSES_SLOWLY;
	for (int i = 0; i < 20; i++)
		openers_mapped(w->openers, &w->event, 1, take, &w->got, 1);
	await(w, &w->got, 2);
	openers_mapped(w->openers, &w->event, 2, take, &other, 2);
	await(w, &other, 1);
	assert_in_range(w->got.times, 2, 3);
}

/* They were asked for before it was known. */
static void what_hung_has_queued_is_refused_with_it(void **state)
{
	struct world *w = *state;
	struct got behind = { .fd = -1 };

	w->event.magic = MADE_FUSE_MAGIC;
	manner = HANGS;
	openers_mapped(w->openers, &w->event, 0, take, &w->got, 1);
	for (int i = 0; i < 40; i++) {
		w->event.key.dev++;
		openers_mapped(w->openers, &w->event, 0, take, &behind, 2);
	}
	settle(w);
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	assert_int_equal(behind.times, 40);
	assert_int_equal(behind.reason, OBJECT_HUNG);
	assert_int_equal(starts, 1);
	assert_int_equal(openers_given_up(w->openers), 1);
}

/* Those behind it are sent to the next opener. */
static void what_waits_behind_a_hung_file_is_opened(void **state)
{
	struct world *w = *state;
	struct got behind = { .fd = -1 };

	manner = HANGS;
	w->event.tgid = NOBODY;
	openers_mapped(w->openers, &w->event, 0, take, &w->got, 1);
	w->event.tgid = (uint32_t)getpid();
	for (int i = 0; i < 40; i++)
		openers_mapped(w->openers, &w->event, 0, take, &behind, 2);
	manner = HONEST;
	settle(w);
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	assert_true(w->got.again);
	assert_int_equal(behind.times, 40);
	assert_true(behind.fd >= 0);
	assert_int_equal(starts, 2);
	fd_close(&behind.fd);
}

/* Of slow file systems; those of the account, which is ours. */
static void who_hung_is_not_asked_again_soon(void **state)
{
	struct world *w = *state;

	w->event.magic = MADE_FUSE_MAGIC;
	manner = HANGS;
	ask(w);
	manner = HONEST;
	starts = 0;
	ask(w); /* the same device */
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	w->event.key.dev++;
	ask(w); /* the same account */
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	assert_int_equal(starts, 0);
	w->event.magic = MADE_LOCAL_MAGIC;
	kernel.key = w->event.key;
	ask(w);
	assert_true(w->got.fd >= 0);
	w->event.magic = MADE_FUSE_MAGIC;
	w->event.tgid = NOBODY; /* another account */
	w->event.key.dev++;
	ask(w);
	assert_int_not_equal(w->got.reason, OBJECT_HUNG);
}

/* Another file in its place had the opener of local files hang: nothing of the account is tried. */
static void a_trap_in_a_local_files_place_costs_the_account_its_files(void **state)
{
	struct world *w = *state;

	manner = HANGS;
	ask(w);
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	manner = HONEST;
	starts = 0;
	ask(w);
	assert_int_equal(w->got.reason, OBJECT_HUNG);
	assert_true(w->got.again);
	assert_int_equal(starts, 0);
	w->event.tgid = NOBODY;
	ask(w);
	assert_int_not_equal(w->got.reason, OBJECT_HUNG);
}

static void slow_file_systems_do_not_take_all_places(void **state)
{
	struct starter starter = STARTER_INIT;
	struct hung hung = { 0 };
	struct child child;
	int used = 0;

	(void)state;
	/* A list of its own: HUNG_SHARE_MAX accounts of one user, and no more. */
	for (uid_t i = 0; i < HUNG_SHARE_MAX + 1; i++) {
		struct hung_file file = { .kind = HUNG_SLOW,
			.dev = 100 + i,
			.identified = true,
			.uid = 1234,
			.account = 1 + i };

		child = (struct child)CHILD_INIT;
		if (hung_refuses(&hung, &file))
			break;
		hung_put(&hung, &starter, HUNG_SLOW, &child, &file);
		used++;
	}
	assert_int_equal(used, HUNG_SHARE_MAX);
	hung_done(&hung);
}

static void an_opener_that_is_stopped_goes_on(void **state)
{
	struct world *w = *state;

	manner = STOPS;
	ask(w);
	assert_true(w->got.fd >= 0);
	assert_true(w->starter.stopped > 0);
	assert_int_equal(openers_given_up(w->openers), 0);
}

static void check_next_one(struct world *w, enum manner first)
{
	manner = first;
	openers_mapped(w->openers, &w->event, 0, take, &w->got, w->event.id);
	assert_int_equal(starts, 1);
	manner = HONEST;
	settle(w);
	assert_true(w->got.fd >= 0);
	assert_int_equal(starts, 2);
}

static void the_file_of_an_opener_that_stays_stopped_comes_from_the_next_one(void **state)
{
	struct world *w = *state;

	check_next_one(w, STOPS_FOR_EVER);
	assert_int_equal(openers_given_up(w->openers), 0);
}

static void the_file_of_an_opener_that_others_kill_comes_from_the_next_one(void **state)
{
	check_next_one(*state, IS_KILLED);
}

/* ---- lying -------------------------------------------------------------------------------------
 */

static void an_opener_that_dies_or_lies_costs_one_file(void **state)
{
	struct world *w = *state;

	for (manner = DIES; manner < MANNERS; manner++) {
		enum manner tried = manner;
		struct got behind = { .fd = -1 };
		const struct opener_process us = { .pid = getpid() };

		tear_down(state);
		set_up(state);
		w = *state;
		manner = tried;
		if (tried == SENDS_A_FILE_FOR_A_ROOT)
			openers_root(w->openers, &us, NULL, 0, take, &w->got, 1);
		else
			openers_mapped(w->openers, &w->event, 0, take, &w->got, 1);
		openers_mapped(w->openers, &w->event, 0, take, &behind, 2);
		manner = HONEST;
		settle(w);
		if (w->got.times != 1 || behind.times != 1 || behind.fd < 0 || starts != 2)
			fail_msg("manner %d: answers %u, %u; starts %u", tried, w->got.times,
				behind.times, starts);
		if (tried != ANSWERS_UNASKED && w->got.fd >= 0)
			fail_msg("manner %d is believed", tried);
		assert_int_equal(openers_given_up(w->openers), 0);
		fd_close(&behind.fd);
		manner = tried;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_mapped_file_comes_with_its_path),
		TEST(a_file_without_a_descriptor_for_it_is_over_the_limit),
		TEST(a_root_comes_before_the_file),
		TEST(a_file_that_samples_wait_for_comes_before_older_ones),
		TEST(a_file_that_is_not_the_mapped_one_is_refused),
		TEST(a_file_of_an_overlay_comes_after_a_look_at_its_layer),
		TEST(a_file_of_a_slow_file_system_comes_as_a_copy),
		TEST(all_copies_together_have_a_limit),
		TEST(a_file_that_cannot_be_sent_comes_later),
		TEST(a_file_that_can_never_be_sent_is_refused_and_the_opener_replaced),
		TEST(a_file_that_is_held_and_cannot_be_sent_is_opened_again),
		TEST(the_file_of_an_opener_that_hangs_is_refused_and_others_go_on),
		TEST(an_opener_that_is_stopped_goes_on),
		TEST(the_file_of_an_opener_that_stays_stopped_comes_from_the_next_one),
		TEST(the_file_of_an_opener_that_others_kill_comes_from_the_next_one),
		TEST(a_slow_file_system_delays_others_by_one_request),
		TEST(what_hung_has_queued_is_refused_with_it),
		TEST(what_waits_behind_a_hung_file_is_opened),
		TEST(who_hung_is_not_asked_again_soon),
		TEST(a_trap_in_a_local_files_place_costs_the_account_its_files),
		TEST(slow_file_systems_do_not_take_all_places),
		TEST(an_opener_that_dies_or_lies_costs_one_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
