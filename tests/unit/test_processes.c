/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent learns of a process with JIT code from its command line and environment. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes.h"
#include "base/clock.h"
#include "base/own.h"

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

		assert_int_equal(processes_new(NULL, NULL, &processes), 0);
		assert_int_equal(processes_add(processes, (uint32_t)pid, 1), 0);
		id = processes_id(processes, (uint32_t)pid, 1);
		if (processes_preserve_fp(processes, id) != rows[i].preserves)
			fail_msg("row %zu", i);
		assert_false(processes_preserve_fp(processes, id + 1));
		processes_free(processes);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
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
	assert_int_equal(processes_new(NULL, NULL, &processes), 0);
	assert_true(processes_due_ns(processes) == CLOCK_NEVER_NS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(processes_add(processes, (uint32_t)pids[i], 1), 0);
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
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jvm_keeps_frame_pointers_if_it_was_asked_to),
		cmocka_unit_test(files_that_are_missing_are_searched_for_less_and_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
