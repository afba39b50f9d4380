/* SPDX-License-Identifier: Apache-2.0 */
/* visits.c - stoker whose profile has the threads that have no CPU, each with the stack in which it
 * waits, in the place of those that run: at the end of each interval all are visited, and one is
 * counted for each thread and visit. Linked with --wrap, it takes the place of the functions below
 * and calls the real ones.
 *     VISITS         visits at the end of an interval, default 1
 *     VISITS_AGAIN   if set, each walks all threads, also those that have not switched
 * A line for each visit goes to stderr: `visit NS run NS threads N same N walked N unread N refused
 * N`, where run is 0 without kernel.bpf_stats_enabled; before the first one `lacks WHY` if user
 * halves are not walked. */
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sampler/sampler.h"
#include "sampler/tally.h"
#include "waiting/visitor.h"

#define THREADS 65536

struct half {
	struct event_stack head;
	uint64_t frames[STACK_USER_FRAMES_MAX];
};

struct thread {
	uint64_t start_ns;
	uint32_t task;
	struct half user, kernel;
};

static struct visitor *visitor;
static struct tally *counts;
static struct thread *threads[THREADS];

int __real_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
void __real_sampler_free(struct sampler *sampler);
void __wrap_sampler_free(struct sampler *sampler);
int __real_sampler_drain(struct sampler *sampler, bool last);
int __wrap_sampler_drain(struct sampler *sampler, bool last);
int __real_tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
int __wrap_tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
void __wrap_tally_took(struct tally *tally, uint64_t ns);

int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why)
{
	int err = __real_sampler_open(options, events, ctx, tally, out, why);

	counts = tally;
	if (err == 0)
		err = visitor_open(*out, &visitor, why);
	if (err == 0 && visitor_lacks(visitor))
		fprintf(stderr, "lacks %s\n", visitor_lacks(visitor));
	return err;
}

void __wrap_sampler_free(struct sampler *sampler)
{
	visitor_free(visitor);
	visitor = NULL;
	__real_sampler_free(sampler);
}

/* The ticks of threads that run are left out. */
int __wrap_tally_count(struct tally *tally, const struct count_key *key, uint64_t count)
{
	(void)tally, (void)key, (void)count;
	return 0;
}

void __wrap_tally_took(struct tally *tally, uint64_t ns)
{
	(void)tally, (void)ns;
}

static void set_half(
	struct half *half, const uint64_t *frames, uint16_t len, uint8_t end, bool anon)
{
	uint64_t hash = 14695981039346656037ULL ^ end;

	for (size_t i = len; i-- > 0;)
		hash = (hash ^ frames[i]) * 1099511628211ULL;
	memcpy(half->frames, frames, len * sizeof(*frames));
	half->head = (struct event_stack){ .kind = EVENT_STACK, .frames_len = len, .end = end,
		.anon = anon, .hash = len || end ? hash | 1 : 0 };
}

static int count_thread(void *ctx, const struct visit_record *r, const uint64_t *kernel,
	const uint64_t *user, const struct visit_resource *waits_for)
{
	struct thread **at = &threads[r->tid % THREADS];
	struct count_key key;
	int err = 0;

	(void)ctx, (void)waits_for;
	if (r->class == THREAD_RUNNING)
		return 0;
	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (!*at)
		return -ENOMEM;
	if (!(r->flags & VISIT_SAME)) {
		if (!r->task)
			return 0;
		(*at)->start_ns = r->start_ns;
		(*at)->task = r->task;
		set_half(&(*at)->user, user, r->user_len, r->user_end, r->anon);
		set_half(&(*at)->kernel, kernel, r->kernel_len, END_NONE, false);
	} else if ((*at)->start_ns != r->start_ns) {
		fprintf(stderr, "thread %u is the same as an unknown one\n", r->tid);
		return -EPROTO;
	}
	key = (struct count_key){ .user_stack = (*at)->user.head.hash,
		.kernel_stack = (*at)->kernel.head.hash,
		.task = (*at)->task };
	if (key.user_stack)
		err = tally_stack(counts, &(*at)->user.head, (*at)->user.frames);
	if (err == 0 && key.kernel_stack)
		err = tally_stack(counts, &(*at)->kernel.head, (*at)->kernel.frames);
	if (err == 0)
		err = __real_tally_count(counts, &key, 1);
	return err == -ENOENT ? 0 : err;
}

static int visit_all(void)
{
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct visitor_stats was, is;
	int err;

	visitor_stats(visitor, &was);
	err = visitor_pass(visitor, count_thread, NULL);
	visitor_stats(visitor, &is);
#define SINCE(field) (unsigned long long)(is.field - was.field)
	fprintf(stderr,
		"visit %llu run %llu threads %llu same %llu walked %llu unread %llu refused %llu\n",
		(unsigned long long)(clock_ns(CLOCK_MONOTONIC) - began_ns), SINCE(run_ns),
		SINCE(threads), SINCE(same), SINCE(walked), SINCE(unread), SINCE(refused));
	return err;
}

int __wrap_sampler_drain(struct sampler *sampler, bool last)
{
	const char *visits = getenv("VISITS");
	long left = visits ? atol(visits) : 1;
	int err = __real_sampler_drain(sampler, last);

	while (err == 0 && left-- > 0) {
		if (getenv("VISITS_AGAIN"))
			visitor_again(visitor);
		err = visit_all();
	}
	return err;
}
