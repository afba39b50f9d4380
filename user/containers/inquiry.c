/* SPDX-License-Identifier: Apache-2.0 */
/* containers/inquiry.c - one question at a time. A process that does not answer in time, or lies,
 * is not asked again: the capture goes on without it. */
#include "containers/inquiry.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"
#include "bpf/reasons.h"
#include "wire/fetch_proto.h"
#include "client/starter.h"

#define END_MS 100
#define ANSWER_BYTES_MAX (4UL << 20)

struct inquiry {
	struct sockaddr_un address;
	struct starter *starter; /* borrowed */
	struct child child;      /* none: given up */
	uint64_t last_id;
};

int inquiry_open(
	const char *path, struct starter *starter, struct inquiry **out, struct why *why)
{
	struct inquiry *inquiry;
	int err;

	if (strlen(path) >= sizeof(inquiry->address.sun_path))
		return why_set(why, -ENAMETOOLONG, "--runtime-socket %s: too long", path);
	if (access(path, F_OK) < 0)
		return why_set(why, -errno,
			"--runtime-socket %s: %s; give the socket of Docker or Podman, such as "
			"/run/docker.sock, or leave the option out",
			path, err_text(errno));
	inquiry = calloc(1, sizeof(*inquiry));
	if (!inquiry)
		return why_set(why, -ENOMEM, "out of memory");
	inquiry->starter = starter;
	inquiry->child = (struct child)CHILD_INIT;
	inquiry->address.sun_family = AF_UNIX;
	memccpy(inquiry->address.sun_path, path, 0, sizeof(inquiry->address.sun_path));
	err = starter_start(starter, FETCH_ARGUMENT, &inquiry->child);
	if (err < 0) {
		inquiry_free(inquiry);
		return why_set(why, err, "--runtime-socket: %s", err_text(err));
	}
	*out = inquiry;
	return 0;
}

static int give_up(struct inquiry *inquiry, int err)
{
	if (inquiry->child.pid > 0)
		starter_kill(inquiry->starter, inquiry->child.pid);
	child_wait(&inquiry->child, END_MS, NULL);
	child_leave(&inquiry->child);
	return err;
}

void inquiry_free(struct inquiry *inquiry)
{
	if (!inquiry)
		return;
	give_up(inquiry, 0);
	free(inquiry);
}

static int open_connection(const struct inquiry *inquiry, int *out)
{
	_as_user_ uint64_t rights = caps_pause(); /* the caller named the path */
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const void *)&inquiry->address, sizeof(inquiry->address)) < 0)
		return -errno;
	*out = TAKE_FD(fd);
	return 0;
}

static bool is_too_large(int file)
{
	struct stat st;

	return fstat(file, &st) < 0 || (uint64_t)st.st_size > ANSWER_BYTES_MAX;
}

static void wait_for_answer(struct inquiry *inquiry, uint64_t until_ns)
{
	struct pollfd ready = { .fd = inquiry->child.fd, .events = POLLIN };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	while (now_ns < until_ns &&
		poll(&ready, 1,
			clock_wait_ms(now_ns, clock_sooner(until_ns, now_ns + STARTER_WAKE_NS))) <
			1) {
		starter_wake(inquiry->starter, &inquiry->child);
		now_ns = clock_ns(CLOCK_MONOTONIC);
	}
}

/* Takes the file that the answer is in, and seals it: nobody writes it any more, whatever the
 * answer says. */
static int await_answer(struct inquiry *inquiry, uint64_t until_ns, int into, int *fd)
{
	_cleanup_fd_ int file = into;
	struct fetch_answer answer;

	wait_for_answer(inquiry, until_ns);
	if (fd_take(inquiry->child.fd, MSG_DONTWAIT, &answer, sizeof(answer), NULL) < 0)
		return give_up(inquiry, -ETIMEDOUT);
	if (answer.id != inquiry->last_id)
		return give_up(inquiry, -EPROTO);
	file = fd_seal(TAKE_FD(file));
	if (file < 0 || is_too_large(file))
		return give_up(inquiry, -EPROTO);
	if (answer.reason != FETCH_DONE)
		return -ENOENT;
	*fd = TAKE_FD(file);
	return 0;
}

int inquiry_ask(struct inquiry *inquiry, const char *id, uint64_t until_ns, int *fd)
{
	struct fetch_order order = { .kind = FETCH_INQUIRY, .id = ++inquiry->last_id };
	const struct fetch_order before = { .kind = FETCH_INTO };
	_cleanup_fd_ int connection = -1, into = fd_memory("container");
	int err;

	if (inquiry->child.fd < 0)
		return -EPIPE;
	if (strlen(id) >= sizeof(order.text))
		return -ENOENT;
	memccpy(order.text, id, 0, sizeof(order.text));
	err = into < 0 ? into : open_connection(inquiry, &connection);
	if (err < 0)
		return err;
	err = fd_pass(inquiry->child.fd, &before, sizeof(before), into);
	if (err == 0)
		err = fd_pass(inquiry->child.fd, &order, sizeof(order), connection);
	if (err < 0)
		return err == -ETOOMANYREFS ? err : give_up(inquiry, err);
	return await_answer(inquiry, until_ns, TAKE_FD(into), fd);
}
