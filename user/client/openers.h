/* SPDX-License-Identifier: Apache-2.0 */
/* client/openers.h - opens files of other processes without waiting for them. Two openers
 * (worker/opening.h) make the calls: one for local file systems, one for those whose calls may
 * wait; client/opener_call.h has a third. An opener that does not answer in time is given up and
 * replaced; its requests are refused as OBJECT_HUNG, and so are others of their device and account
 * for a time (client/hung.h). A reply is checked here: the file must be the mapped one, by the
 * kernel's whole key. Requests of one kind of file system and of the same priority are done in
 * their order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/child.h"
#include "bpf/reasons.h"
#include "client/starter.h"
#include "proc/opener.h"

#define OPENERS_QUEUE_MAX 8192
#define OPENERS_COPIES_BYTES_MAX (64UL << 20) /* of all copies that are in use */

struct opener_call;
struct openers;
struct sampler;

struct openers_answer {
	int fd; /* closed after the call; TAKE_FD keeps it. -1: it was refused */
	enum object_reason reason;
	const char *path; /* as the kernel says it; "": unknown */
	uid_t uid;        /* the file's owner */
	uint64_t copied;  /* bytes of memory: it is a copy; openers_drop_copy gives them back */
	uint64_t account; /* of the request */
	bool again;       /* refused because of who asks: for others it may be opened */
};

/* May be called before the request's function returns. */
typedef void (*openers_fn)(void *ctx, uint64_t id, struct openers_answer *answer);

struct openers_options {
	/* Starts an opener: its owner is our parent's child or ours. NULL: starter_opener. */
	int (*start)(struct starter *starter, struct child *child);
	struct starter *starter; /* borrowed */
	uint64_t (*account)(pid_t process); /* as of struct hung */
	uint64_t hang_ns;        /* limit of time for a request; 0: 1.5 s */
	int epoll_fd;            /* where the openers' sockets are watched */
};

int openers_new(const struct openers_options *options, struct openers **out);
/* Does not wait for openers that are stuck. */
void openers_free(struct openers *openers);
/* The sampler compares files; before the first request. */
void openers_compare(struct openers *openers, struct sampler *sampler);
/* An opener whose answers are waited for: client/opener_call.h. */
struct opener_call *openers_call(struct openers *openers);

/* The file of a mapping that BPF met. account: whose time of the opener it takes, and whose place
 * among those that wait (client/asked_queue.h); 0: unknown. Answered once. */
void openers_mapped(struct openers *openers, const struct event_object *event,
	uint64_t account, openers_fn fn, void *ctx, uint64_t id);
/* The root directory of a process, as an O_PATH descriptor. event: of its file that is requested
 * next, so that this comes first; NULL: none. */
void openers_root(struct openers *openers, const struct opener_process *process,
	const struct event_object *event, uint64_t account, openers_fn fn, void *ctx,
	uint64_t id);
/* Raises the priority of the requests with this ctx and id that are not sent yet. Call it once for
 * each deferred sample. */
void openers_want(struct openers *openers, const void *ctx, uint64_t id);
void openers_drop_copy(struct openers *openers, uint64_t account, uint64_t bytes);

/* Does not wait. Call it also when it is due (CLOCK_NEVER_NS: nothing is). */
void openers_poll(struct openers *openers);
uint64_t openers_due_ns(const struct openers *openers);
/* Number of requests that are not answered. */
size_t openers_pending(const struct openers *openers);
/* CPU time of all openers so far. */
double openers_cpu_s(const struct openers *openers);
/* Openers that were given up so far. */
uint64_t openers_given_up(const struct openers *openers);
