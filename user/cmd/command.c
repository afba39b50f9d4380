/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/command.c - one socket pair both ways: we write a byte to let the child go, and its exec
 * closes the other end (or it sends the errno of the exec that failed). */
#include "cmd/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define CANNOT_EXEC 127

static void child(int gate, char **argv) __attribute__((noreturn));
static void child(int gate, char **argv)
{
	sigset_t none;
	char byte;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (read(gate, &byte, 1) != 1)
		_exit(CANNOT_EXEC);
	execvp(argv[0], argv);
	err = errno;
	fd_write_all(gate, &err, sizeof(err));
	_exit(CANNOT_EXEC);
}

int command_start(struct command *command, char **argv, struct why *why)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return why_set(why, -errno, "cannot start %s: %s", argv[0], err_text(errno));
	pid = fork();
	if (pid == 0)
		child(ends[1], argv);
	close(ends[1]);
	command->gate = ends[0];
	if (pid < 0)
		return why_set(why, -errno, "cannot start %s: %s", argv[0], err_text(errno));
	command->pid = pid;
	command->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (command->pidfd < 0)
		return why_set(why, -errno, "cannot watch %s: %s", argv[0], err_text(errno));
	return 0;
}

int command_go(struct command *command, const char *name, struct why *why)
{
	char byte = 0;
	int child_errno = 0;

	if (write(command->gate, &byte, 1) != 1)
		return why_set(why, -EIO, "cannot start %s: it has ended", name);
	if (read(command->gate, &child_errno, sizeof(child_errno)) == sizeof(child_errno))
		return why_set(why, -child_errno, "cannot run %s: %s", name, err_text(child_errno));
	return 0;
}

bool command_ended(struct command *command)
{
	return command->pid > 0 && waitpid(command->pid, &command->status, WNOHANG) == command->pid;
}

void command_done(struct command *command)
{
	fd_close(&command->pidfd);
	fd_close(&command->gate);
}
