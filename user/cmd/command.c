/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/command.c - the child waits on its socket pair: we send a byte to let it execute the command.
 * That closes the child's end, or the child sends the errno of the exec that failed. A command that
 * outlasts the capture has some time to end after SIGTERM; what it started itself is left to it. */
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "daemon/signals.h"

#define GRACE_NS (10 * NSEC_PER_SEC)
#define KILL_MS 1000
#define SOON_MS 200

static int run_command(void *ctx, int fd)
{
	char **argv = ctx, byte;
	int err;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	for (int standard = 0; standard < CHILD_STANDARD; standard++)
		if (fcntl(standard, F_GETFL) & O_PATH)
			close(standard); /* the caller had it closed, main.c filled it */
	if (read(fd, &byte, 1) != 1)
		return CHILD_EXIT;
	execvp(argv[0], argv);
	err = errno;
	fd_write_all(fd, &err, sizeof(err));
	return CHILD_EXIT;
}

int command_start(struct command *command, char **argv, struct why *why)
{
	const struct child_plan plan = {
		.run = run_command, .ctx = argv, .socket = true, .signals = CHILD_SIGNALS_OPEN
	};
	int err = child_start(&plan, &command->child);

	if (err < 0)
		return why_set(why, err, "cannot start %s: %s", argv[0], err_text(err));
	return command->child.pidfd < 0
		? why_set(why, -ENOSYS, "cannot watch %s: the system gave no pidfd", argv[0])
		: 0;
}

int command_go(struct command *command, const char *name, struct why *why)
{
	char byte = 0;
	int child_errno = 0;

	if (write(command->child.fd, &byte, 1) != 1)
		return why_set(why, -EIO, "cannot start %s: it has ended", name);
	if (read(command->child.fd, &child_errno, sizeof(child_errno)) == sizeof(child_errno))
		command->exec_errno = child_errno;
	if (child_errno > 0)
		return why_set(why, -child_errno, "cannot run %s: %s", name, err_text(child_errno));
	return 0;
}

bool command_ended(struct command *command, int wait_ms)
{
	struct child_end end;

	if (child_wait(&command->child, wait_ms, &end) < 0)
		return false;
	command->end = end;
	command->ended = true;
	return true;
}

bool command_stop(struct command *command)
{
	if (command->child.pid == 0 || command_ended(command, 0))
		return false;
	child_signal(&command->child, SIGTERM);
	command->stopped = true;
	return true;
}

int command_close(struct command *command, int stop_fd)
{
	struct pollfd fds[] = {
		{ .fd = command->child.pidfd, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
	};
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + GRACE_NS, now;

	if (command->child.pid == 0)
		return 0;
	do {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now < until_ns)
			poll(fds, ARRAY_SIZE(fds), (int)((until_ns - now) / NSEC_PER_MSEC) + 1);
		if (command_ended(command, 0))
			return 0;
	} while (now < until_ns && !signals_take(stop_fd));
	child_signal(&command->child, SIGKILL);
	return child_wait(&command->child, KILL_MS, NULL) == -EAGAIN ? -EPERM : -ETIMEDOUT;
}

void command_finish(
	struct command *command, const char *name, bool killed, int stop_fd, struct log *log)
{
	if (command_ended(command, SOON_MS))
		return;
	if (killed) {
		log_warn(log, "%s goes on: end it yourself", name);
		return;
	}
	log_note(log, "waiting for %s to end; Ctrl-C kills it", name);
	switch (command_close(command, stop_fd)) {
	case -ETIMEDOUT:
		log_warn(log, "%s did not end at SIGTERM: killed it", name);
		return;
	case -EPERM:
		log_warn(log, "%s goes on: it runs as another user, end it yourself", name);
		return;
	}
}

int command_exit(
	const struct command *command, const char *name, enum exit_status own, struct log *log)
{
	int status = command->end.status;

	if (name && command->exec_errno > 0)
		return command->exec_errno == ENOENT ? EXIT_NO_COMMAND : EXIT_COMMAND_REFUSED;
	if (name && own != EXIT_OK)
		return EXIT_NOT_OF_COMMAND;
	if (!command->ended || command->stopped)
		return own;
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGINT) /* the user's Ctrl-C needs no word */
		log_warn(log, "%s was ended by signal %d (%s)", name, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

enum exit_status command_exit_usage(char **argv)
{
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return argv[0] && argv[1] ? EXIT_NOT_OF_COMMAND : EXIT_USAGE;
}

void command_done(struct command *command)
{
	child_leave(&command->child);
}
