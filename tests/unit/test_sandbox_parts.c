/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a sandbox that some processes have alone, each in a child: it is for good. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/sandbox.h"

static int status_of(int (*run)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(run());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static char path[] = "/tmp/stoker-unit-XXXXXX";
static int opened = -1;

static int opens_for_writing(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !sandbox_deny_writing())
		return 1;
	if (open(path, O_RDWR) >= 0 || errno != EACCES)
		return 2;
	if (open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EACCES)
		return 3;
	if (open(path, O_RDONLY) < 0)
		return 4;
	return write(opened, "x", 1) == 1 ? 0 : 5;
}

static void what_denies_writing_leaves_reading_and_open_files(void **state)
{
	int status;

	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip(); /* the kernel has no Landlock */
	opened = mkstemp(path);
	assert_true(opened >= 0);
	status = status_of(opens_for_writing);
	unlink(path);
	close(opened);
	assert_int_equal(status, 0);
}

static int limits_itself(void)
{
	const struct rlimit low = { 1000, 1000 };
	struct rlimit now;

	if (setrlimit(RLIMIT_FSIZE, &low) < 0 || sandbox_limit(20, 5000, 1UL << 30) < 0)
		return 1;
	if (getrlimit(RLIMIT_FSIZE, &now) < 0 || now.rlim_max != 1000)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_max != 20)
		return 3;
	return getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max == 0 ? 0 : 4;
}

static void a_lower_limit_stays(void **state)
{
	(void)state;
	assert_int_equal(status_of(limits_itself), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_denies_writing_leaves_reading_and_open_files),
		cmocka_unit_test(a_lower_limit_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
