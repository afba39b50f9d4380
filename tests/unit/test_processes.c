/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent learns of a process with JIT code from its command line and environment. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jvm_keeps_frame_pointers_if_it_was_asked_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
