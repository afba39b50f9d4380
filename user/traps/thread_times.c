/* SPDX-License-Identifier: Apache-2.0 */
/* traps/thread_times.c - rows and processes have the time between the latest two visits. Whoever
 * the latest one did not see is gone, and has no value. */
#include "traps/thread_times.h"

#include <string.h>

#include "base/clock.h"
#include "containers/containers.h"
#include "waiting/waiting.h"

uint32_t thread_times_latest(const struct wait_sum *all, size_t len)
{
	uint32_t visit = 0;

	for (size_t i = 0; i < len; i++)
		visit = all[i].visit > visit ? all[i].visit : visit;
	return visit;
}

bool thread_times_visit(struct thread_times *t, struct waiting *waiting,
	struct containers *containers, uint64_t now_ns)
{
	uint64_t began_ns, took_ns, before_ns = waiting_visited_ns(waiting);
	bool good;

	if (!waiting || now_ns < t->due_ns)
		return false;
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	good = waiting_visit(waiting, containers) == 0;
	took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	/* Others visit, too. */
	t->past_ns = good && t->visited_ns ? waiting_visited_ns(waiting) - before_ns : 0;
	t->visited_ns = good ? now_ns : 0;
	t->due_ns = now_ns + took_ns * THREAD_TIMES_PART;
	return true;
}

static bool fits(const char *wanted, const char *text)
{
	return !wanted || strcmp(wanted, text) == 0;
}

static void add(struct thread_time *out, const struct thread_split *split, uint32_t threads)
{
	thread_split_add(&out->split, split);
	thread_split_throttle(&out->split, &out->split, split->throttled_ns);
	out->threads += threads;
}

static void add_rows(
	const struct waiting *waiting, const struct thread_whose *whose, struct thread_time *out)
{
	size_t len;
	const struct waiting_row *rows = waiting_rows(waiting, &len);
	uint32_t visit = 0;

	for (size_t i = 0; i < len; i++)
		visit = rows[i].visit > visit ? rows[i].visit : visit;
	for (size_t i = 0; i < len && visit > 0; i++)
		if (rows[i].visit == visit && fits(whose->container, rows[i].container) &&
			fits(whose->pod, rows[i].pod) &&
			fits(whose->namespace_, rows[i].namespace_))
			add(out, &rows[i].last, rows[i].threads);
}

static bool is_in(struct containers *containers, uint64_t cgroup, const struct thread_whose *whose)
{
	struct containers_labels labels;

	if (!whose->container && !whose->pod && !whose->namespace_)
		return true;
	containers_labels(containers, cgroup, &labels);
	return fits(whose->container, labels.container) && fits(whose->pod, labels.pod) &&
		fits(whose->namespace_, labels.namespace_);
}

static void add_pid(struct thread_pids *pids, uint32_t pid)
{
	uint32_t *slot;

	vec_each (pids, p)
		if (*p == pid)
			return;
	slot = pids->len < THREAD_TIMES_PIDS_MAX ? vec_add(pids) : NULL;
	if (slot)
		*slot = pid;
}

static void add_processes(const struct waiting *waiting, struct containers *containers,
	const struct thread_whose *whose, struct thread_time *out, struct thread_pids *pids)
{
	size_t len;
	const struct wait_sum *all = waiting_processes(waiting, &len);
	uint32_t visit = thread_times_latest(all, len);

	for (size_t i = 0; i < len; i++) {
		if (all[i].visit != visit || (whose->pid && all[i].tgid != whose->pid) ||
			!fits(whose->comm, all[i].comm) || !is_in(containers, all[i].cgroup, whose))
			continue;
		add(out, &all[i].last, all[i].threads);
		out->start_ns = all[i].start_ns;
		if (pids)
			add_pid(pids, all[i].tgid);
	}
}

bool thread_times_of(const struct thread_times *t, const struct waiting *waiting,
	struct containers *containers, const struct thread_whose *whose, struct thread_time *out,
	struct thread_pids *pids)
{
	*out = (struct thread_time){ .past_ns = t->past_ns };
	if (!waiting || t->past_ns == 0)
		return false;
	if (whose->pid || whose->comm)
		add_processes(waiting, containers, whose, out, pids);
	else
		add_rows(waiting, whose, out);
	return out->threads > 0 && out->split.wall_ns > 0;
}
