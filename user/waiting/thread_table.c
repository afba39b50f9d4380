/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_table.c - invariant: by_tid has one entry for each place of entries, and places is
 * charged one for each. */
#include "waiting/thread_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN_MAX 4.0

void thread_table_done(struct thread_table *table)
{
	vec_done(&table->entries);
	hash_done(&table->by_tid);
	share_done(&table->places);
	free(table->cpus);
	table->cpus = NULL;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static struct thread_record record_at(const void *bytes, size_t i)
{
	struct thread_record r;

	memcpy(&r, (const char *)bytes + i * sizeof(r), sizeof(r));
	r.comm[sizeof(r.comm) - 1] = '\0';
	return r;
}

static void keep_least(int64_t *least, uint64_t now_ns, uint64_t moment_ns)
{
	int64_t offset = (int64_t)(now_ns - moment_ns);

	if (moment_ns > 0 && offset < *least)
		*least = offset;
}

/* The scheduler's clock was at each of these moments before the visit; the latest is nearest. */
static uint64_t scheduler_offset(const struct thread_pass *pass, size_t records)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < records; i++) {
		struct thread_record r = record_at(pass->bytes, i);

		keep_least(&least, r.now_ns, r.arrived_ns);
		keep_least(&least, r.now_ns, r.queued_ns);
		keep_least(&least, r.now_ns, r.updated_ns);
	}
	return (uint64_t)least;
}

/* Of CPUs whose clocks are known at both visits. */
static double taken_of(const struct thread_table *t, const struct thread_pass *pass)
{
	uint64_t passed_ns = 0, tasks_ns = 0;
	double taken;

	for (size_t i = 0; i < pass->cpus_len && i < t->cpus_len; i++) {
		const struct thread_cpu *then = &t->cpus[i], *now = &pass->cpus[i];
		int64_t passed = (int64_t)(now->clock_ns - then->clock_ns);
		int64_t tasks = (int64_t)(now->tasks_ns - then->tasks_ns);

		if (then->clock_ns == 0 || then->cpu != now->cpu || tasks <= 0 || passed < tasks)
			continue;
		passed_ns += (uint64_t)passed;
		tasks_ns += (uint64_t)tasks;
	}
	taken = tasks_ns > 0 ? (double)(passed_ns - tasks_ns) / (double)tasks_ns : 0;
	return taken < TAKEN_MAX ? taken : TAKEN_MAX;
}

static int keep_cpus(struct thread_table *t, const struct thread_pass *pass)
{
	struct thread_cpu *cpus;

	if (pass->cpus_len == 0)
		return 0;
	cpus = realloc(t->cpus, pass->cpus_len * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	memcpy(cpus, pass->cpus, pass->cpus_len * sizeof(*cpus));
	t->cpus = cpus;
	t->cpus_len = pass->cpus_len;
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void remove_at(struct thread_table *t, size_t i)
{
	struct thread_entry *last = &t->entries.data[t->entries.len - 1], *e = &t->entries.data[i];

	share_return(&t->places, e->account, 1);
	hash_del(&t->by_tid, e->tid);
	if (e != last) {
		*e = *last;
		*hash_find(&t->by_tid, e->tid) = i;
	}
	t->entries.len--;
	t->stats.ended++;
}

/* 0; -ENOSPC: it gets no place; -ENOMEM. */
static int add(struct thread_table *t, const struct thread_record *r, uint64_t account,
	struct thread_entry **out)
{
	int err;

	if (share_refuses(&t->places, account, 1, THREAD_TABLE_MAX)) {
		t->stats.refused++;
		return -ENOSPC;
	}
	if (vec_reserve(&t->entries, t->entries.len + 1) < 0)
		return -ENOMEM;
	err = share_charge(&t->places, account, 1);
	if (err < 0)
		return err;
	if (hash_put(&t->by_tid, r->tid, t->entries.len) < 0) {
		share_return(&t->places, account, 1);
		return -ENOMEM;
	}
	*out = vec_add(&t->entries);
	(*out)->start_ns = r->start_ns;
	(*out)->account = account;
	(*out)->tid = r->tid;
	return 0;
}

static struct thread_entry *find(struct thread_table *t, const struct thread_record *r)
{
	const uint64_t *at = hash_find(&t->by_tid, r->tid);
	size_t i = at ? (size_t)*at : 0;

	if (!at)
		return NULL;
	if (t->entries.data[i].start_ns == r->start_ns)
		return &t->entries.data[i];
	remove_at(t, i);
	return NULL;
}

/* A new thread's counters began with it, at 0. False: it is older than the latest visit, and had no
 * place then. */
static bool begin(const struct thread_table *t, const struct thread_pass *pass,
	const struct thread_record *r, struct thread_point *out)
{
	uint64_t start_ns = r->start_ns - pass->boot_ns;

	if (t->visited_ns == 0 || (int64_t)(start_ns - t->visited_ns) < 0)
		return false;
	*out = (struct thread_point){
		.now_ns = start_ns,
		.class = THREAD_RUNNABLE,
		.quota = r->quota,
		.throttled_ns = r->throttled_ns,
	};
	return true;
}

static int visit(struct thread_table *t, const struct thread_pass *pass,
	const struct thread_takers *takers, const struct thread_record *r,
	const struct thread_point *now, double taken)
{
	struct thread_entry *e = find(t, r);
	struct thread_point before;
	struct thread_split split;
	bool known = e != NULL;
	int err = 0;

	if (known)
		before = e->point;
	else
		err = add(t, r, takers->account(takers->ctx, r->cgroup), &e);
	if (err < 0)
		return err == -ENOSPC ? 0 : err;
	if (!known)
		known = begin(t, pass, r, &before);
	e->point = *now;
	e->visit = t->visit;
	if (!known)
		return 0;
	if (thread_split(&before, now, taken, &split) == THREAD_SPLIT_STEPPED) {
		t->stats.stepped++;
		return 0;
	}
	return takers->take(takers->ctx, r, &split);
}

static void remove_unseen(struct thread_table *t)
{
	for (size_t i = t->entries.len; i > 0; i--)
		if (t->entries.data[i - 1].visit != t->visit)
			remove_at(t, i - 1);
}

int thread_table_visit(struct thread_table *t, const struct thread_pass *pass,
	const struct thread_takers *takers)
{
	size_t records = pass->len / sizeof(struct thread_record);
	uint64_t scheduler_ns = scheduler_offset(pass, records);
	double taken = taken_of(t, pass);
	uint64_t began_ns = records > 0 ? record_at(pass->bytes, 0).now_ns : 0;
	int err = 0;

	t->visit++;
	t->stats.visits++;
	t->stats.truncated += pass->len % sizeof(struct thread_record) != 0;
	t->stats.refused += pass->refused;
	for (size_t i = 0; i < records && err == 0; i++) {
		struct thread_record r = record_at(pass->bytes, i);
		struct thread_point now = thread_point_of(&r, scheduler_ns);

		err = visit(t, pass, takers, &r, &now, taken);
	}
	if (err == 0)
		remove_unseen(t);
	if (records > 0)
		t->visited_ns = began_ns;
	t->stats.threads = t->entries.len;
	return err < 0 ? err : keep_cpus(t, pass);
}
