/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_split.c - invariant: the shares' sum is the wall time. Differences are taken
 * modulo 2^64, so a counter that wraps is one that grows; what cannot have grown so far has
 * stepped. */
#include "waiting/thread_split.h"

/* Time from a moment of the scheduler's clock to the visit. */
static uint64_t since(const struct thread_record *r, uint64_t moment_ns, uint64_t scheduler_ns)
{
	int64_t age_ns = (int64_t)(r->now_ns - moment_ns - scheduler_ns);

	return moment_ns > 0 && age_ns > 0 ? (uint64_t)age_ns : 0;
}

static bool wants_cpu(uint8_t class)
{
	return class == THREAD_RUNNABLE || class == THREAD_THROTTLED;
}

struct thread_point thread_point_of(const struct thread_record *r, uint64_t scheduler_ns)
{
	struct thread_point p = {
		.now_ns = r->now_ns,
		.run_ns = r->run_ns,
		.delay_ns = r->delay_ns,
		.voluntary = r->voluntary,
		.involuntary = r->involuntary,
		.class = r->class,
		.delay_known = r->flags & THREAD_DELAY_KNOWN,
		.quota = r->quota,
		.throttled_ns = r->throttled_ns,
	};
	uint64_t updated_ns = r->updated_ns;

	/* It may have got the CPU after that update. */
	if (updated_ns > 0 && (int64_t)(r->arrived_ns - updated_ns) > 0)
		updated_ns = r->arrived_ns;
	if (r->class == THREAD_RUNNING)
		p.run_ns += since(r, updated_ns, scheduler_ns);
	if (wants_cpu(r->class))
		p.delay_ns += since(r, r->queued_ns, scheduler_ns);
	return p;
}

static bool is_wait(uint8_t class)
{
	return class != THREAD_RUNNING && !wants_cpu(class);
}

/* That of another cgroup's quota is not known from its begin on. */
static uint64_t throttled_of(const struct thread_point *before, const struct thread_point *after)
{
	if (before->quota != after->quota || after->throttled_ns < before->throttled_ns)
		return 0;
	return after->throttled_ns - before->throttled_ns;
}

/* True: *out is the growth of a counter of ns, which cannot be more than the wall time. */
static bool grew(uint64_t before, uint64_t after, uint64_t wall_ns, uint64_t *out)
{
	int64_t by = (int64_t)(after - before);
	int64_t slack = THREAD_SPLIT_SLACK_NS + (int64_t)(wall_ns / 50);

	if (by < -slack || by > (int64_t)wall_ns + slack)
		return false;
	*out = by > 0 ? (uint64_t)by : 0;
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The part of the rest that is not blocked. */
static uint64_t other_of(const struct thread_point *before, const struct thread_point *after,
	uint64_t running_ns, uint64_t rest_ns, double taken)
{
	bool switched = after->voluntary != before->voluntary ||
		after->involuntary != before->involuntary;
	bool waited = after->voluntary != before->voluntary || is_wait(before->class) ||
		is_wait(after->class);

	if (!waited || (switched && !after->delay_known))
		return rest_ns;
	return least(rest_ns, (uint64_t)((double)running_ns * taken));
}

enum thread_split_result thread_split(const struct thread_point *before,
	const struct thread_point *after, double taken, struct thread_split *out)
{
	int64_t wall_ns = (int64_t)(after->now_ns - before->now_ns);
	struct thread_split split;
	uint64_t rest_ns;

	if (wall_ns <= 0 || (int64_t)(after->voluntary - before->voluntary) < 0 ||
		(int64_t)(after->involuntary - before->involuntary) < 0)
		return THREAD_SPLIT_STEPPED;
	split.wall_ns = (uint64_t)wall_ns;
	if (!grew(before->run_ns, after->run_ns, split.wall_ns, &split.running_ns) ||
		!grew(before->delay_ns, after->delay_ns, split.wall_ns, &split.runnable_ns))
		return THREAD_SPLIT_STEPPED;
	split.running_ns = least(split.running_ns, split.wall_ns);
	split.runnable_ns = least(split.runnable_ns, split.wall_ns - split.running_ns);
	rest_ns = split.wall_ns - split.running_ns - split.runnable_ns;
	split.other_ns = other_of(before, after, split.running_ns, rest_ns, taken);
	split.blocked_ns = rest_ns - split.other_ns;
	split.throttled_ns = throttled_of(before, after);
	*out = split;
	return THREAD_SPLIT_OK;
}

void thread_split_add(struct thread_split *sum, const struct thread_split *split)
{
	sum->wall_ns += split->wall_ns;
	sum->running_ns += split->running_ns;
	sum->runnable_ns += split->runnable_ns;
	sum->blocked_ns += split->blocked_ns;
	sum->other_ns += split->other_ns;
}

void thread_split_throttle(struct thread_split *sum, struct thread_split *last, uint64_t ns)
{
	if (ns <= last->throttled_ns)
		return;
	sum->throttled_ns += ns - last->throttled_ns;
	last->throttled_ns = ns;
}

double thread_split_starved_percent(const struct thread_split *s)
{
	uint64_t wanted_ns = s->running_ns + s->runnable_ns + s->other_ns;

	return wanted_ns > 0 ? 100.0 * (double)s->runnable_ns / (double)wanted_ns : 0;
}
