/* SPDX-License-Identifier: Apache-2.0 */
/* lying_worker.c - what the linker puts in place of the starter, of sending and of time. A process
 * number that no process can have stands for each worker. Replies are made honestly, as bytes; then
 * the lie is put into the bytes; then they are sent, whatever they are. */
#include "lying_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/starter.h"

#define PEERS 4
#define NO_PROCESS 0x40000000 /* and above: more than PID_MAX_LIMIT */
#define CALL_NS 1000          /* that a look at the clock takes */
#define EXCHANGE_NS 100000    /* that a request and its reply take */

struct peer {
	int fd, agent_fd; /* -1: ended; there is none */
	pid_t pid;        /* 0: none */
};

static struct world {
	struct peer peers[PEERS];
	uint64_t now_ns;
	struct lying_stats stats;
	struct lie lie;
	bool lied;
	unsigned int wants, unsendable;
	bool blind;
	struct made_shape shape;
	struct proto_message in;
	struct lie_draft draft;
	void *kept; /* of memory, mapped */
} world = {
	.now_ns = 1000 * NSEC_PER_SEC,
	.shape = { .pages = 2, .apart = 1, .rows_len = LIE_PAGE_ROWS, .rules_len = 8 },
};

static void must(bool holds, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "lying_worker: %s\n", text);
	abort();
}

/* ---- sending ------------------------------------------------------------------------------- */

static void lie_if_set(struct lie_draft *d)
{
	struct lie *lie = &world.lie;

	if (!lie->target || lie->target->kind != d->m.head.kind || (world.lied && !lie->repeated))
		return;
	/* There is nothing yet in a reply that answers nothing. */
	if (lie->target->part == LIE_ANSWER && d->answers_len == 0)
		return;
	/* First what is within: a message as a whole may become another one. */
	if (lie->second && lie->second->part != LIE_MESSAGE)
		lie_draft_tell(d, lie->second, lie->second_value, lie->any >> 3);
	lie_draft_tell(d, lie->target, lie->value, lie->any);
	world.stats.lies++;
	world.lied = true;
}

/* Not proto_send: it would not send what no message can be. */
static void send_bytes(int fd, const struct lie_draft *d, const int *fds, size_t fds_len)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(LIE_FDS_MAX * sizeof(int))];
	} control = { 0 };
	uint8_t behind[64] = { 0 };
	uint32_t inside = d->len < PROTO_BYTES_MAX ? d->len : PROTO_BYTES_MAX;
	struct iovec parts[] = { { (void *)d->m.bytes, inside }, { behind, d->len - inside } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

	if (fds_len > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(fds_len * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, fds_len * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fds_len * sizeof(int));
	}
	if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)d->len)
		must(false, "a reply cannot be sent");
}

static void say_hello(struct peer *peer)
{
	static const struct proto_message nothing;
	const struct proto_head to = { .kind = PROTO_HELLO };

	lie_draft_make(&world.draft, &to, &nothing, &world.shape, &world.wants);
	if (peer->fd >= 0)
		send_bytes(peer->fd, &world.draft, NULL, 0);
}

static void send_draft(struct peer *peer, const struct lie_draft *d)
{
	int fds[LIE_FDS_MAX];
	size_t len = 0;

	for (uint32_t i = 0; i < d->extra_fds; i++)
		fds[len++] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 1 + d->twice && !d->silent && !d->gone; i++)
		send_bytes(peer->fd, d, fds, len);
	while (len > 0)
		fd_close(&fds[--len]);
}

static void unmap(void)
{
	if (world.kept)
		munmap(world.kept, 1);
	world.kept = NULL;
}

static void answer(struct peer *peer, const struct proto_message *in)
{
	struct lie_draft *d = &world.draft;
	bool unasked, ends;

	lie_draft_make(d, &in->head, in, &world.shape, &world.wants);
	lie_if_set(d);
	world.stats.replies++;
	unmap();
	if (in->fds_len > 1 && in->head.kind != PROTO_LOAD)
		world.kept = lie_draft_write(d, in->fds[1]);
	send_draft(peer, d);
	unasked = d->unasked;
	ends = d->gone || d->ends;
	lie_draft_done(d);
	if (unasked)
		say_hello(peer);
	if (ends)
		fd_close(&peer->fd);
}

/* ---- in place of what the agent calls -------------------------------------------------------- */

/* The linker's names. */
int __wrap_starter_open(struct starter *starter, const struct starter_duties *duties);
int __wrap_starter_start(struct starter *starter, const char *argument, struct child *child);
void __wrap_starter_kill(struct starter *starter, pid_t pid);
int __real_proto_send(int fd, int flags, const struct proto_message *m);
int __wrap_proto_send(int fd, int flags, const struct proto_message *m);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_poll(struct pollfd *fds, nfds_t len, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t len, int timeout);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);

int __wrap_starter_open(struct starter *starter, const struct starter_duties *duties)
{
	(void)starter;
	(void)duties;
	return 0;
}

int __wrap_starter_start(struct starter *starter, const char *argument, struct child *child)
{
	struct peer *peer = world.peers;
	int pair[2];

	(void)starter;
	(void)argument;
	while (peer->pid != 0)
		must(++peer < world.peers + PEERS, "the agent has more workers than lanes");
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "no sockets");
	*peer = (struct peer){
		.fd = pair[1],
		.agent_fd = pair[0],
		.pid = NO_PROCESS + (pid_t)world.stats.starts++,
	};
	world.stats.running++;
	*child = (struct child){ .pid = peer->pid, .pidfd = -1, .fd = pair[0] };
	world.in.head = (struct proto_head){ .kind = PROTO_HELLO };
	answer(peer, &world.in);
	return 0;
}

void __wrap_starter_kill(struct starter *starter, pid_t pid)
{
	(void)starter;
	for (struct peer *peer = world.peers; peer < world.peers + PEERS; peer++) {
		if (peer->pid != pid)
			continue;
		fd_close(&peer->fd);
		peer->pid = 0;
		world.stats.running--;
		return;
	}
	must(false, "the agent kills a process that it did not start");
}

int __wrap_proto_send(int fd, int flags, const struct proto_message *m)
{
	struct peer *peer = world.peers;
	bool unsendable = m->fds_len > 0 && world.unsendable > 0;
	int err = unsendable ? -ETOOMANYREFS : __real_proto_send(fd, flags, m);

	world.unsendable -= unsendable;
	if (err < 0)
		return err;
	while (peer->pid == 0 || peer->agent_fd != fd)
		must(++peer < world.peers + PEERS, "the agent asks nobody");
	world.now_ns += EXCHANGE_NS;
	if (world.blind) {
		answer(peer, m);
		return 0;
	}
	must(proto_receive(peer->fd, MSG_DONTWAIT, &world.in) == 0, "a request does not come");
	must(proto_request_valid(&world.in), "the agent sends a request that is none");
	answer(peer, &world.in);
	proto_close_fds(&world.in);
	return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	world.now_ns += CALL_NS;
	ts->tv_sec = (time_t)(world.now_ns / NSEC_PER_SEC);
	ts->tv_nsec = (long)(world.now_ns % NSEC_PER_SEC);
	return 0;
}

/* What is not there now will not come by waiting: only time does. */
int __wrap_poll(struct pollfd *fds, nfds_t len, int timeout)
{
	int ready = __real_poll(fds, len, 0);

	must(timeout >= 0, "the agent waits for ever");
	if (ready == 0)
		world.now_ns += (uint64_t)timeout * NSEC_PER_MSEC;
	return ready;
}

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)left;
	world.now_ns += (uint64_t)pause->tv_sec * NSEC_PER_SEC + (uint64_t)pause->tv_nsec;
	return 0;
}

/* ---- for the test --------------------------------------------------------------------------- */

void lying_worker_set(const struct lie *lie)
{
	world.lie = lie ? *lie : (struct lie){ 0 };
	world.lied = false;
}

bool lying_worker_lied(void)
{
	return world.lied;
}

void lying_worker_be_blind(bool blind)
{
	world.blind = blind;
	for (struct peer *peer = world.peers; !blind && peer < world.peers + PEERS; peer++)
		while (peer->pid != 0 && peer->fd >= 0 &&
			proto_receive(peer->fd, MSG_DONTWAIT, &world.in) == 0)
			proto_close_fds(&world.in);
}

void lying_worker_unsendable(unsigned int requests)
{
	world.unsendable = requests;
}

void lying_worker_want_files(unsigned int files)
{
	world.wants = files;
}

void lying_worker_shape(uint32_t pages, uint32_t apart, uint32_t flavour)
{
	world.shape.pages = pages;
	world.shape.apart = apart;
	world.shape.flavour = flavour;
}

void lying_worker_end(unsigned int i)
{
	for (struct peer *peer = world.peers; peer < world.peers + PEERS; peer++)
		if (peer->pid != 0 && i-- == 0)
			fd_close(&peer->fd);
}

void lying_worker_pass(uint64_t ns)
{
	world.now_ns += ns;
}

struct lying_stats lying_worker_stats(void)
{
	return world.stats;
}
