/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent learns of a process with JIT code from its command line and environment.
 * LINK: -Wl,--wrap=file_key_magic,--wrap=file_system_is_local,--wrap=jit_files_open_dirs
 * LINK: -Wl,--wrap=worker_client_dump */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/processes.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "files/file_time.h"
#include "jit/jit_files.h"
#include "proc/file_system.h"
#include "proc/status.h"
#include "sampler/file_key.h"
#include "wire/mappings.h"
#include "worker_client.h"

/* ---- who opens their files ------------------------------------------------------------------- */

static struct told opening;

/* Whatever this machine's /tmp is on. */
bool __wrap_file_system_is_local(uint32_t magic);
bool __wrap_file_system_is_local(uint32_t magic)
{
	(void)magic;
	return true;
}

int __wrap_file_key_magic(struct sampler *sampler, int fd, uint32_t *magic);
int __wrap_file_key_magic(struct sampler *sampler, int fd, uint32_t *magic)
{
	(void)sampler;
	*magic = 0;
	return fd >= 0 ? 0 : -1;
}

static int unanswered; /* how many of the next searches for directories */
bool __real_jit_files_open_dirs(const struct jit_files_access *access,
	const struct opener_process *process, struct jit_files_dirs *out);
bool __wrap_jit_files_open_dirs(const struct jit_files_access *access,
	const struct opener_process *process, struct jit_files_dirs *out);
bool __wrap_jit_files_open_dirs(const struct jit_files_access *access,
	const struct opener_process *process, struct jit_files_dirs *out)
{
	if (unanswered-- <= 0)
		return __real_jit_files_open_dirs(access, process, out);
	*out = (struct jit_files_dirs){ 0 };
	return false;
}

static unsigned int dumps; /* searches for a jitdump */
int __real_worker_client_dump(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct opener_found *found, pid_t *number, struct mappings_library *jvm);
int __wrap_worker_client_dump(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct opener_found *found, pid_t *number, struct mappings_library *jvm);
int __wrap_worker_client_dump(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct opener_found *found, pid_t *number, struct mappings_library *jvm)
{
	dumps++;
	return __real_worker_client_dump(client, process, id, found, number, jvm);
}

#define EVERYBODY -1
static pid_t alone; /* the account of all others is another */

static uint64_t account_of(pid_t process)
{
	return process == alone || alone == EVERYBODY ? 2 : 1;
}

static void end_pid(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int set_up(void **state)
{
	(void)state;
	unanswered = 0;
	told_open_with(&opening, (struct worker_client_options){ .account = account_of });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	told_close(&opening);
	return 0;
}

static void ignore_drop(void *ctx, uint64_t id)
{
	(void)ctx, (void)id;
}

static struct processes *open_processes(void)
{
	const struct processes_options options = {
		.drop = ignore_drop, .worker = opening.client, .account = account_of
	};
	struct processes *processes;
	int err = processes_new(&options, &processes);

	assert_int_equal(err, 0);
	return processes;
}

static uint64_t start_of(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t ticks;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	assert_int_equal(fd_read_path(path, 65536, &text), 0);
	assert_int_equal(status_parse_start(text.data, &ticks), 0);
	return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uid_t run_as; /* 0: as this one */

/* A shell with these arguments and this environment, which waits; returns when it was executed. */
static pid_t start(const char *const arguments[], const char *environment)
{
	char *argv[8] = { "sh", "-c", "read x", "java" }, *env[] = { (char *)environment, NULL };
	int executed[2], input[2];
	char byte;
	pid_t pid;

	for (size_t i = 0; arguments[i]; i++)
		argv[4 + i] = (char *)arguments[i];
	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(input[0], STDIN_FILENO);
		if (run_as == 0 || setuid(run_as) == 0)
			execve("/bin/sh", argv, env);
		_exit(127);
	}
	close(executed[1]);
	close(input[0]);
	assert_int_equal(read(executed[0], &byte, 1), 0);
	close(executed[0]);
	return pid;
}

static const struct {
	const char *arguments[3];
	const char *environment;
	bool preserves;
} rows[] = {
	{ { NULL }, "A=b", false },
	{ { "-XX:+PreserveFramePointer", NULL }, "A=b", true },
	{ { "-XX:-PreserveFramePointer", NULL }, "A=b", false },
	{ { "-DPreserveFramePointer", NULL }, "A=b", false },
	{ { "PreserveFramePointer", NULL }, "A=b", false },
	{ { NULL }, "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+PreserveFramePointer -ea", true },
	{ { "-XX:-PreserveFramePointer", NULL }, "JDK_JAVA_OPTIONS=-XX:+PreserveFramePointer",
		false },
	{ { "-XX:-PreserveFramePointer", "-XX:+PreserveFramePointer", NULL }, "A=b", true },
};

static void a_jvm_keeps_frame_pointers_if_it_was_asked_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = start(rows[i].arguments, rows[i].environment);
		struct processes *processes;
		uint64_t id;

		processes = open_processes();
		assert_int_equal(processes_add(processes, (uint32_t)pid, 1), 0);
		id = processes_id(processes, (uint32_t)pid, 1);
		if (processes_preserve_fp(processes, id) != rows[i].preserves)
			fail_msg("row %zu", i);
		assert_false(processes_preserve_fp(processes, id + 1));
		processes_free(processes);
		end_pid(pid);
	}
}

/* Neither has a map. The clock is the test's own. */
static void files_that_are_missing_are_searched_for_less_and_less_often(void **state)
{
	static const char *const none[] = { NULL };
	pid_t pids[2] = { start(none, "A=b"), start(none, "A=b") };
	uint64_t now, due, searches = 0, end;
	struct processes *processes;

	(void)state;
	processes = open_processes();
	assert_true(processes_due_ns(processes) == CLOCK_NEVER_NS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(processes_add(processes, (uint32_t)pids[i],
					 start_of(pids[i])),
			0);
	now = clock_ns(CLOCK_MONOTONIC);
	assert_in_range(processes_due_ns(processes), now - NSEC_PER_SEC, now + NSEC_PER_SEC / 4);
	for (end = now + 600 * NSEC_PER_SEC; now < end; now = due) {
		processes_retry(processes, now);
		due = processes_due_ns(processes);
		assert_true(due > now);
		searches++;
	}
	/* Some at first, and one in 12.8 seconds. */
	assert_in_range(searches, 30, 70);
	processes_free(processes);
	for (int i = 0; i < 2; i++)
		end_pid(pids[i]);
}

static void mappings_are_not_read_at_the_end_of_each_interval_for_ever(void **state)
{
	static const char *const none[] = { NULL };
	pid_t pid = start(none, "A=b");
	struct processes *processes = open_processes();

	(void)state;
	dumps = 0;
	assert_int_equal(processes_add(processes, (uint32_t)pid, start_of(pid)), 0);
	for (int i = 0; i < 200; i++)
		processes_refresh(processes);
	assert_in_range(dumps, 5, 10);
	processes_free(processes);
	end_pid(pid);
}

/* ---- shared maps ----------------------------------------------------------------------------- */

#define SHARERS 3

struct sharer {
	pid_t pid;
	uint64_t start_ns, id;
	char path[96];
};

static void end_all(
	struct processes *processes, struct sharer *all, size_t len, const char *dir)
{
	processes_free(processes);
	for (size_t i = 0; i < len; i++) {
		end_pid(all[i].pid);
		unlink(all[i].path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static uint64_t refused(const struct processes *processes, enum file_reason reason)
{
	uint64_t all[FILE_REASONS_LEN];

	processes_refused(processes, all);
	return all[reason];
}

static void expect_map(struct processes *processes, const struct sharer *s, bool has_map)
{
	struct processes_files files = processes_files(processes, s->id);

	assert_int_equal(files.map_fd >= 0, has_map);
	assert_int_equal(files.shared, !has_map);
}

/* with: whose map it has, too; NULL: it has its own. */
static void add_sharer(struct processes *processes, const char *dir, const struct sharer *with,
	struct sharer *s)
{
	static const char *const none[] = { NULL };
	char environment[64];

	snprintf(environment, sizeof(environment), "TMPDIR=%s", dir);
	s->pid = start(none, environment);
	s->start_ns = start_of(s->pid);
	snprintf(s->path, sizeof(s->path), "%s/perf-%d.map", dir, s->pid);
	if (with)
		assert_int_equal(link(with->path, s->path), 0);
	else
		close(open(s->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(processes_add(processes, (uint32_t)s->pid, s->start_ns), 0);
	s->id = processes_id(processes, (uint32_t)s->pid, s->start_ns);
}

/* Two of the three have one map, as process 1 of two containers with one /tmp has. */
static void a_map_that_two_living_processes_have_is_neithers(void **state)
{
	char dir[] = "/tmp/stoker-shared-XXXXXX";
	struct sharer all[SHARERS];
	struct processes *processes;

	(void)state;
	assert_non_null(mkdtemp(dir));
	processes = open_processes();
	for (int i = 0; i < SHARERS; i++)
		add_sharer(processes, dir, i == 1 ? &all[0] : NULL, &all[i]);
	expect_map(processes, &all[0], false);
	expect_map(processes, &all[1], false);
	expect_map(processes, &all[2], true);
	assert_int_equal(refused(processes, FILE_SHARED), 2);
	/* The one that lives has it alone; its names are not those of the one that has ended. */
	end_pid(all[0].pid);
	expect_map(processes, &all[1], true);
	expect_map(processes, &all[0], false);
	processes_free(processes);
	end_pid(all[1].pid);
	end_pid(all[2].pid);
	for (int i = 0; i < SHARERS; i++)
		unlink(all[i].path);
	assert_int_equal(rmdir(dir), 0);
}

#define USER 65432

/* Any user may mount root's file under the name of a map of his own. */
static void a_users_claim_to_roots_map_takes_it_from_nobody(void **state)
{
	char dir[] = "/tmp/stoker-claimed-XXXXXX";
	struct processes *processes;
	struct sharer all[3];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	processes = open_processes();
	add_sharer(processes, dir, NULL, &all[0]);
	assert_int_equal(chmod(all[0].path, 0644), 0);
	run_as = USER;
	add_sharer(processes, dir, &all[0], &all[1]);
	expect_map(processes, &all[0], true);
	expect_map(processes, &all[1], false);
	assert_int_equal(refused(processes, FILE_SHARED), 1);
	/* Nor is one for others that only root may read. */
	assert_int_equal(chmod(all[0].path, 0600), 0);
	add_sharer(processes, dir, &all[0], &all[2]);
	assert_int_equal(processes_files(processes, all[2].id).map_fd, -1);
	assert_false(processes_files(processes, all[2].id).shared);
	run_as = 0;
	end_all(processes, all, 3, dir);
}

/* Each search takes an opener, and a container may have thousands of processes to search for. */
static void searches_take_the_time_of_their_account(void **state)
{
	char dir[] = "/tmp/stoker-searched-XXXXXX";
	uint64_t held;
	struct processes *processes;
	struct sharer all[2];
	struct file_time *time;

	(void)state;
	assert_non_null(mkdtemp(dir));
	processes = open_processes();
	time = processes_time(processes);
	file_time_limit(time, 10);
	add_sharer(processes, dir, NULL, &all[0]);
	expect_map(processes, &all[0], true);
	held = share_held(&time->spent.held, 1);
	assert_true(held > 0);
	processes_refresh(processes);
	assert_true(share_held(&time->spent.held, 1) > held);
	/* Who owes finds no more, and has what there is. */
	file_time_charge(time, 1, 10 * FILE_TIME_MAX_NS);
	add_sharer(processes, dir, NULL, &all[1]);
	processes_refresh(processes);
	assert_int_equal(processes_files(processes, all[1].id).map_fd, -1);
	expect_map(processes, &all[0], true);
	assert_int_equal(refused(processes, FILE_LATE), 2);
	file_time_done(time);
	*time = (struct file_time){ .part = 0 };
	processes_refresh(processes);
	expect_map(processes, &all[1], true);
	end_all(processes, all, 2, dir);
}

/* A map may be written anew all the time. A capture, which has no limit, reads all of it. */
static void what_a_map_takes_to_read_is_its_accounts(void **state)
{
	char dir[] = "/tmp/stoker-read-XXXXXX";
	struct processes *processes;
	struct sharer all[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	processes = open_processes();
	add_sharer(processes, dir, NULL, &all[0]);
	alone = EVERYBODY;
	add_sharer(processes, dir, NULL, &all[1]);
	alone = 0;
	processes_charge(processes, all[0].id, 2 * PROCESSES_READ_NS);
	assert_false(processes_files(processes, all[0].id).unread);
	file_time_limit(processes_time(processes), 10);
	assert_true(processes_files(processes, all[0].id).unread);
	assert_false(processes_files(processes, all[1].id).unread);
	assert_int_equal(refused(processes, FILE_LATE), 1);
	end_all(processes, all, 2, dir);
}

/* A map whose folder nobody had the time to open is found later, and shared then. */
static void what_was_not_answered_is_asked_again(void **state)
{
	char dir[] = "/tmp/stoker-late-XXXXXX";
	struct sharer all[2];
	struct processes *processes;

	(void)state;
	assert_non_null(mkdtemp(dir));
	processes = open_processes();
	add_sharer(processes, dir, NULL, &all[0]);
	unanswered = 1;
	add_sharer(processes, dir, &all[0], &all[1]);
	assert_true(processes_files(processes, all[1].id).map_fd < 0);
	assert_int_equal(refused(processes, FILE_SHARED), 0);
	processes_refresh(processes);
	expect_map(processes, &all[0], false);
	expect_map(processes, &all[1], false);
	end_all(processes, all, 2, dir);
}

/* ---- mappings -------------------------------------------------------------------------------- */

#define MANY 60000 /* mappings of one process; the kernel allows 65,530 */
#define CROWD 24
#define REFRESHES 4

/* A process with a mapped jitdump, or with many mappings and none. */
static pid_t start_mapped(const char *dump)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = dump ? open(dump, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
		char *at = mmap(NULL, (dump ? 1 : MANY) * page,
			dump ? PROT_READ | PROT_EXEC : PROT_NONE,
			dump ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (size_t i = 0; !dump && i < MANY; i += 2)
			mprotect(at + i * page, page, PROT_READ);
		if (at != MAP_FAILED && write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* What 24 processes with 60,000 mappings each take may be seconds; an interval must not wait. */
static void a_crowd_of_mappings_takes_a_part_of_our_time_and_no_ones_jitdump(void **state)
{
	char dir[] = "/tmp/stoker-crowd-XXXXXX", path[96];
	uint64_t cpu_ns, ids[CROWD + 1];
	struct processes *processes;
	pid_t pids[CROWD + 1];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/jit-17.dump", dir);
	processes = open_processes();
	for (int i = 0; i <= CROWD; i++)
		pids[i] = start_mapped(i == CROWD ? path : NULL);
	alone = pids[CROWD];
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i <= CROWD; i++) {
		uint64_t start_ns = start_of(pids[i]);

		assert_int_equal(processes_add(processes, (uint32_t)pids[i], start_ns), 0);
		ids[i] = processes_id(processes, (uint32_t)pids[i], start_ns);
	}
	for (int i = 0; i < REFRESHES; i++)
		processes_refresh(processes);
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	print_message("%llu ms\n", (unsigned long long)(cpu_ns / NSEC_PER_MSEC));
	/* A copy of each is made, and read, elsewhere. */
	assert_in_range(cpu_ns, 0, 100 * NSEC_PER_MSEC);
	assert_true(processes_files(processes, ids[CROWD]).dump_fd >= 0);
	assert_true(refused(processes, FILE_LATE) > 0);
	processes_free(processes);
	for (int i = 0; i <= CROWD; i++)
		end_pid(pids[i]);
	unlink(path);
	rmdir(dir);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_known(struct processes *processes, const struct sharer *s)
{
	return processes_id(processes, (uint32_t)s->pid, s->start_ns) > 0;
}

/* Their maps may be large. */
static void what_ended_stays_until_its_ticks_are_named(void **state)
{
	char dir[] = "/tmp/stoker-ended-XXXXXX";
	struct sharer early, late;
	struct processes *processes;
	uint64_t due_ns = clock_ns(CLOCK_MONOTONIC) + 10 * NSEC_PER_SEC;

	(void)state;
	assert_non_null(mkdtemp(dir));
	processes = open_processes();
	add_sharer(processes, dir, NULL, &early);
	add_sharer(processes, dir, NULL, &late);
	end_pid(early.pid);
	processes_retry(processes, due_ns);
	end_pid(late.pid);
	processes_refresh(processes);
	assert_true(processes_files(processes, early.id).last);
	assert_false(processes_files(processes, late.id).last);
	processes_retry(processes, due_ns + 60 * NSEC_PER_SEC);
	assert_true(processes_due_ns(processes) == CLOCK_NEVER_NS);
	processes_next(processes);
	assert_true(is_known(processes, &early) && is_known(processes, &late));
	assert_true(processes_files(processes, late.id).last);
	processes_next(processes);
	assert_true(!is_known(processes, &early) && is_known(processes, &late));
	processes_next(processes);
	assert_false(is_known(processes, &late));
	processes_free(processes);
	unlink(early.path);
	unlink(late.path);
	assert_int_equal(rmdir(dir), 0);
}

#define NOBODY 5000000 /* no process: there are less pids */
#define ASKED 5000

/* They have ended, so nothing is opened. */
static void an_account_with_thousands_of_processes_leaves_places_to_others(void **state)
{
	struct processes *processes;
	struct processes_met next;
	uint64_t after = 0, taken = 0, met = 0;

	(void)state;
	processes = open_processes();
	alone = NOBODY + ASKED;
	for (uint32_t i = 0; i < ASKED; i++)
		taken += processes_add(processes, NOBODY + i, 1) == 0;
	assert_in_range(taken, PROCESSES_MAX - PROCESSES_MAX / 10, PROCESSES_MAX - 2);
	assert_int_equal(processes_add(processes, (uint32_t)alone, 1), 0);
	assert_true(processes_id(processes, (uint32_t)alone, 1) > 0);
	for (; processes_met(processes, &after, &next); met++) {}
	assert_int_equal(next.account, 2);
	assert_int_equal(met, taken + 1);
	/* They give the places back. */
	for (int i = 0; i < 6; i++)
		processes_next(processes);
	assert_int_equal(processes_id(processes, (uint32_t)alone, 1), 0);
	assert_int_equal(processes_add(processes, NOBODY + ASKED - 1, 1), 0);
	processes_free(processes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jvm_keeps_frame_pointers_if_it_was_asked_to),
		cmocka_unit_test(files_that_are_missing_are_searched_for_less_and_less_often),
		cmocka_unit_test(mappings_are_not_read_at_the_end_of_each_interval_for_ever),
		cmocka_unit_test(a_map_that_two_living_processes_have_is_neithers),
		cmocka_unit_test(what_ended_stays_until_its_ticks_are_named),
		cmocka_unit_test(a_users_claim_to_roots_map_takes_it_from_nobody),
		cmocka_unit_test(searches_take_the_time_of_their_account),
		cmocka_unit_test(what_a_map_takes_to_read_is_its_accounts),
		cmocka_unit_test(what_was_not_answered_is_asked_again),
		cmocka_unit_test(a_crowd_of_mappings_takes_a_part_of_our_time_and_no_ones_jitdump),
		cmocka_unit_test(an_account_with_thousands_of_processes_leaves_places_to_others),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
