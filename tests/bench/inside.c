/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c - lanes without workers: what they are asked is answered in the caller's own process, as
 * if there were nothing to fear. Linked in front of libstoker.a it takes the place of
 * client/lane.c and client/starter.c, for tools/bench to measure what the workers cost. Never part
 * of the program. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/lane.h"
#include "service_done.h"
#include "worker/mapping.h"
#include "worker/opening.h"
#include "worker/service.h"
#include "worker/state_reader.h"

/* One of each lane, by its address. */
static struct inside {
	const struct lane *lane;
	struct service *service;
	struct proto_message *replies[LANE_AHEAD_MAX + 1]; /* in order */
	size_t replies_len;
} insides[2];

static struct inside *inside_of(const struct lane *lane)
{
	return insides[0].lane == lane ? &insides[0] : &insides[1];
}

int starter_open(struct starter *starter, const struct starter_duties *duties)
{
	(void)duties;
	*starter = (struct starter)STARTER_INIT;
	return 0;
}

void starter_close(struct starter *starter)
{
	(void)starter;
}

int starter_start(struct starter *starter, const char *argument, struct child *child)
{
	(void)starter;
	(void)argument;
	(void)child;
	return -ENOSYS;
}

/* Files are opened as ever. */
int starter_opener(struct starter *starter, struct child *child)
{
	const struct child_plan plan = { .run = opening_run,
		.fds = child_null,
		.fds_len = CHILD_STANDARD,
		.socket = true,
		.signals = CHILD_SIGNALS_BLOCKED,
		.limited = true,
		.caps = OPENING_CAPS };

	(void)starter;
	return child_start(&plan, child);
}

bool starter_lost(struct starter *starter)
{
	return starter->lost;
}

void starter_kill(struct starter *starter, pid_t pid)
{
	(void)starter;
	kill(pid, SIGKILL);
}

bool starter_wake(struct starter *starter, const struct child *child)
{
	(void)starter;
	(void)child;
	return false;
}

void starter_pace(struct starter *starter, bool normal)
{
	(void)starter;
	(void)normal;
}

int starter_clock(struct starter *starter, const struct cpu_clock *clock, int *fd)
{
	(void)starter;
	(void)clock;
	(void)fd;
	return -ENOSYS;
}

int starter_capture(struct starter *starter, const void *wanted, size_t size, bool maps, int out,
	struct child *child, int *messages)
{
	(void)starter;
	(void)wanted;
	(void)size;
	(void)maps;
	(void)out;
	(void)child;
	(void)messages;
	return -ENOSYS;
}

void lane_init(struct lane *lane, struct starter *starter, const char *argument, uint64_t hang_ns)
{
	*lane = (struct lane){
		.starter = starter, .argument = argument, .hang_ns = hang_ns, .child = CHILD_INIT
	};
	insides[insides[0].lane != NULL].lane = lane;
}

void lane_done(struct lane *lane)
{
	struct inside *in = inside_of(lane);

	if (in->service)
		service_done(in->service);
	free(in->service);
	in->service = NULL;
	fd_close(&lane->child.fd);
}

static void copy(struct proto_message *to, const struct proto_message *from)
{
	memcpy(to->bytes, from->bytes, from->head.size);
	memcpy(to->fds, from->fds, sizeof(to->fds));
	to->fds_len = from->fds_len;
}

static void tell(struct lane *lane)
{
	const uint64_t one = 1;
	struct inside *in = inside_of(lane);
	struct proto_message *reply = malloc(sizeof(*reply));

	if (!reply || in->replies_len == LANE_AHEAD_MAX + 1)
		abort();
	copy(reply, &in->service->out);
	in->service->out.fds_len = 0;
	in->replies[in->replies_len++] = reply;
	lane->busy = true;
	(void)!write(lane->child.fd, &one, sizeof(one));
}

int lane_start(struct lane *lane)
{
	struct inside *in = inside_of(lane);
	struct proto_hello hello = { 0 };

	if (lane->child.pid != 0)
		return 0;
	state_reader_begin();
	in->service = calloc(1, sizeof(*in->service));
	lane->child.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!in->service || lane->child.fd < 0 || mapping_catch_faults() < 0)
		return -ENOMEM;
	lane->child.pid = getpid();
	lane->starts++;
	lane->asked = (struct proto_request){ .head = { .kind = PROTO_HELLO } };
	proto_begin_reply(&in->service->out, &lane->asked.head, WORKER_OK);
	proto_put(&in->service->out, &hello, sizeof(hello));
	tell(lane);
	return 0;
}

int lane_send(struct lane *lane)
{
	struct service *service = inside_of(lane)->service;

	lane->out.head.seq = ++lane->seq;
	lane->asked = lane->out.request;
	copy(&service->in, &lane->out);
	service_answer(service);
	service->in.fds_len = 0; /* they are the caller's */
	tell(lane);
	return 0;
}

enum lane_result lane_wait(struct lane *lane, uint64_t until_ns)
{
	struct inside *in = inside_of(lane);
	uint64_t told;

	(void)until_ns;
	if (in->replies_len == 0)
		return LANE_LATE;
	proto_close_fds(&lane->in);
	copy(&lane->in, in->replies[0]);
	free(in->replies[0]);
	memmove(&in->replies[0], &in->replies[1], --in->replies_len * sizeof(in->replies[0]));
	lane->busy = in->replies_len > 0;
	if (!lane->busy)
		(void)!read(lane->child.fd, &told, sizeof(told));
	return LANE_REPLY;
}

void lane_drop(struct lane *lane)
{
	(void)lane;
}

void lane_accuse(struct lane *lane, const char *fault)
{
	(void)lane;
	fprintf(stderr, "%s\n", fault);
	abort();
}

void lane_rest(struct lane *lane)
{
	(void)lane;
}

bool lane_wait_for_start(const struct lane *lane, uint64_t until_ns)
{
	(void)lane;
	(void)until_ns;
	return false;
}

bool lane_wait_to_send(const struct lane *lane, uint64_t until_ns)
{
	(void)lane;
	(void)until_ns;
	return false;
}

uint64_t lane_due_ns(const struct lane *lane)
{
	(void)lane;
	return CLOCK_NEVER_NS;
}

uint64_t lane_worker_ns(const struct lane *lane)
{
	(void)lane;
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double lane_cpu_s(const struct lane *lane)
{
	(void)lane;
	return 0;
}

void lane_memory(const struct lane *lane, uint64_t *rss_kb, uint64_t *rss_max_kb)
{
	(void)lane;
	*rss_kb = *rss_max_kb = 0;
}
