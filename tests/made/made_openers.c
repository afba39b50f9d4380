/* SPDX-License-Identifier: Apache-2.0 */
/* made_openers.c - fake openers are forked from the test, and read their manner there. */
#include "made_openers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "bpf/reasons.h"
#include "proc/file_system.h"
#include "sampler/file_key.h"
#include "wire/opening.h"

/* ---- what the kernel would say ----------------------------------------------------------------
 */

struct made_kernel kernel;

int __wrap_file_key_compare(struct sampler *sampler, int fd, const struct object_key *key);
int __wrap_file_key_compare(struct sampler *sampler, int fd, const struct object_key *key)
{
	(void)sampler, (void)fd, (void)key;
	return kernel.compared;
}

int __wrap_file_key_magic(struct sampler *sampler, int fd, uint32_t *magic);
int __wrap_file_key_magic(struct sampler *sampler, int fd, uint32_t *magic)
{
	struct stat st;

	(void)sampler;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		*magic = PIPEFS_MAGIC;
	else
		*magic = kernel.slow ? OVERLAYFS_SUPER_MAGIC : MADE_LOCAL_MAGIC;
	return 0;
}

int __wrap_file_key_of_child(struct sampler *sampler, pid_t child, uint64_t mapped,
	struct object_key *key, uint32_t *magic);
int __wrap_file_key_of_child(struct sampler *sampler, pid_t child, uint64_t mapped,
	struct object_key *key, uint32_t *magic)
{
	(void)sampler, (void)child, (void)mapped;
	*key = kernel.key;
	*magic = kernel.magic;
	return 0;
}

/* Also in the opener. */
bool __wrap_file_system_is_local(uint32_t magic);
bool __wrap_file_system_is_local(uint32_t magic)
{
	if (magic == MADE_LOCAL_MAGIC)
		return true;
	return !kernel.slow && magic != MADE_FUSE_MAGIC && magic != PIPEFS_MAGIC;
}

/* In openers too, which are children: so it is shared. */
unsigned int *unsendable;

int __real_fd_pass(int socket, const void *data, size_t size, int fd);
int __wrap_fd_pass(int socket, const void *data, size_t size, int fd);
int __wrap_fd_pass(int socket, const void *data, size_t size, int fd)
{
	if (fd < 0 || *unsendable == 0)
		return __real_fd_pass(socket, data, size, fd);
	--*unsendable;
	return -ETOOMANYREFS;
}

/* ---- openers ----------------------------------------------------------------------------------
 */

enum manner manner;
unsigned int starts;

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

#define SLOW_MS 60

static int refuse_slowly(int fd)
{
	struct opening_message message;
	int given = -1;

	while (fd_take(fd, 0, &message, sizeof(message), &given) == 0) {
		const struct opening_reply reply = { .seq = message.request.seq, .err = 1 };

		fd_close(&given);
		poll(NULL, 0, SLOW_MS);
		fd_pass(fd, &reply, sizeof(reply), -1);
	}
	return 0;
}

static int run_fake(void *ctx, int fd)
{
	struct opening_message message = { 0 };
	struct opening_reply reply = { 0 };
	_cleanup_fd_ int given = -1;
	int pipes[2], file = open("/proc/self/exe", O_RDONLY), sent = file;
	size_t size = sizeof(reply);

	(void)ctx;
	if (manner == REFUSES_SLOWLY)
		return refuse_slowly(fd);
	if (manner == ANSWERS_UNASKED) {
		fd_pass(fd, &reply, sizeof(reply), file);
		wait_for_ever();
	}
	if (fd_take(fd, 0, &message, sizeof(message), &given) < 0 || pipe(pipes) < 0)
		return 1;
	if (manner == HANGS)
		wait_for_ever();
	if (manner == STOPS)
		raise(SIGSTOP);
	while (manner == STOPS_FOR_EVER)
		raise(SIGSTOP);
	if (manner == IS_KILLED)
		raise(SIGKILL);
	if (manner == DIES)
		return 1;
	reply.seq = message.request.seq + (manner == SAYS_ANOTHER_NUMBER);
	if (manner == SAYS_AN_UNKNOWN_REASON) {
		reply.err = 1;
		reply.reason = OBJECT_REASONS_LEN;
		sent = -1;
	}
	if (manner == SENDS_NOTHING_FOR_A_FILE)
		sent = -1;
	if (manner == SENDS_A_PIPE_FOR_A_FILE)
		sent = pipes[0];
	if (manner == SENDS_A_FOLDER_FOR_A_FILE)
		sent = open("/", O_PATH | O_DIRECTORY);
	if (manner == SENDS_A_FILE_WITH_A_REFUSAL)
		reply.err = 1;
	if (manner == SENDS_A_PATH_WITHOUT_END)
		memset(reply.path, '/', sizeof(reply.path));
	if (manner == SENDS_LESS)
		size--;
	fd_pass(fd, &reply, size, sent);
	wait_for_ever();
	return 0;
}

int made_openers_start(struct starter *starter, struct child *child)
{
	const struct child_plan plan = { .run = run_fake,
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.death_signal = SIGKILL };

	int err;

	starts++;
	err = manner == HONEST ? starter_opener(starter, child) : child_start(&plan, child);
	if (err == 0)
		fcntl(child->fd, F_SETFL, O_NONBLOCK);
	return err;
}

void made_openers_program(struct event_object *event)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, ino;
	char rights[8], line[PATH_MAX];

	if (!unsendable)
		unsendable = mmap(NULL, sizeof(*unsendable), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (unsendable == MAP_FAILED)
		abort();
	*unsendable = 0;
	*event = (struct event_object){ .id = 7, .tgid = (uint32_t)getpid() };
	while (maps && event->vm_end == 0 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, rights, &ino) == 4 &&
			strcmp(rights, "r-xp") == 0 && ino != 0) {
			event->vm_start = start;
			event->vm_end = end;
			event->key.ino = ino;
		}
	if (maps)
		fclose(maps);
	event->key.dev = 5;
	event->magic = MADE_LOCAL_MAGIC;
	kernel = (struct made_kernel){ .magic = MADE_LOCAL_MAGIC, .key = event->key };
}

bool made_openers_is_program(int fd)
{
	struct stat st, own;

	return fstat(fd, &st) == 0 && stat("/proc/self/exe", &own) == 0 &&
		st.st_ino == own.st_ino && st.st_size == own.st_size &&
		st.st_mtim.tv_sec == own.st_mtim.tv_sec;
}
