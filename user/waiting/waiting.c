/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/waiting.c - the splits of an interval are summed by cgroup, and then added to the rows by
 * the labels of the cgroups. Invariant: rows.data[0] is the row of what finds no room. */
#include "waiting/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/share.h"
#include "cgroup/tree.h"
#include "containers/containers.h"
#include "waiting/thread_reader.h"

struct waiting {
	struct thread_reader *reader;
	struct thread_table table;
	struct wait_sums cgroups; /* of the latest interval */
	struct wait_sums processes;
	bool by_process;
	VEC(struct waiting_row) rows;
	struct share room; /* of the rows, but the first */
	bool crowded;      /* some row found no room at this visit */
	struct hash by_labels; /* hash of the labels → index */
	uint64_t due_ns;
	uint64_t apart_ns; /* between the latest two passes; 0: there was one at most */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void row_done(struct waiting_row *row)
{
	free(row->container);
	free(row->pod);
	free(row->namespace_);
	free(row->unit);
}

static uint64_t hash_of(const struct containers_labels *l)
{
	const uint64_t parts[] = { hash_bytes(l->container, strlen(l->container)),
		hash_bytes(l->pod, strlen(l->pod)),
		hash_bytes(l->namespace_, strlen(l->namespace_)),
		hash_bytes(l->unit, strlen(l->unit)) };

	return hash_bytes(parts, sizeof(parts));
}

static int add_row(
	struct waiting *w, const struct containers_labels *l, uint64_t hash, uint64_t account)
{
	struct waiting_row row = { .account = account,
		 .container = strdup(l->container),
		.pod = strdup(l->pod),
		.namespace_ = strdup(l->namespace_),
		.unit = strdup(l->unit) };

	if (!row.container || !row.pod || !row.namespace_ || !row.unit ||
		vec_reserve(&w->rows, w->rows.len + 1) < 0 ||
		hash_put(&w->by_labels, hash, w->rows.len) < 0) {
		row_done(&row);
		return -ENOMEM;
	}
	*vec_add(&w->rows) = row;
	return 0;
}

/* Rows of what has no threads any more make room. */
static void forget_rows(struct waiting *w)
{
	size_t kept = 1;

	hash_clear(&w->by_labels);
	for (size_t i = 1; i < w->rows.len; i++) {
		struct waiting_row *row = &w->rows.data[i];
		const struct containers_labels labels = { row->container, row->pod, row->namespace_,
			"", row->unit, 0 };

		if (row->visit != w->table.visit) {
			share_return(&w->room, row->account, 1);
			row_done(row);
			continue;
		}
		w->rows.data[kept] = *row;
		/* Fewer than there were: this needs no memory. */
		(void)hash_put(&w->by_labels, hash_of(&labels), kept++);
	}
	w->rows.len = kept;
}

/* The row of these labels, or that of all who find no room. */
static struct waiting_row *row_of(
	struct waiting *w, const struct containers_labels *labels, uint64_t account)
{
	uint64_t hash = hash_of(labels), *at = hash_find(&w->by_labels, hash);

	if (at)
		return &w->rows.data[*at];
	if (share_refuses(&w->room, account, 1, WAITING_ROWS_MAX)) {
		w->crowded = true;
		return &w->rows.data[0];
	}
	if (share_charge(&w->room, account, 1) < 0)
		return &w->rows.data[0];
	if (add_row(w, labels, hash, account) == 0)
		return &w->rows.data[w->rows.len - 1];
	share_return(&w->room, account, 1);
	return &w->rows.data[0];
}

static void add_cgroup(
	struct waiting *w, struct containers *containers, const struct wait_sum *sum)
{
	struct containers_labels labels;
	struct waiting_row *row;

	containers_labels(containers, sum->cgroup, &labels);
	row = row_of(w, &labels, containers_account(containers, sum->cgroup));
	if (row->visit != w->table.visit) {
		row->threads = 0;
		row->last = (struct thread_split){ 0 };
	}
	row->visit = w->table.visit;
	row->cgroup = sum->cgroup;
	row->threads += sum->threads;
	thread_split_add(&row->sum, &sum->split);
	thread_split_add(&row->last, &sum->split);
	thread_split_throttle(&row->sum, &row->last, sum->split.throttled_ns);
}

/* ---- visits ---------------------------------------------------------------------------------- */

struct payer {
	struct waiting *waiting;
	struct containers *containers;
};

static uint64_t account_of(void *ctx, uint64_t cgroup)
{
	const struct payer *payer = ctx;

	return containers_account(payer->containers, cgroup);
}

static int take(void *ctx, const struct thread_record *r, const struct thread_split *split)
{
	struct waiting *w = ((const struct payer *)ctx)->waiting;
	int err = wait_sums_add_cgroup(&w->cgroups, r, split);

	return err < 0 || !w->by_process ? err : wait_sums_add_process(&w->processes, r, split);
}

int waiting_visit(struct waiting *w, struct containers *containers)
{
	struct payer payer = { w, containers };
	const struct thread_takers takers = { account_of, take, &payer };
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns, before_ns;
	struct thread_pass pass;
	int err;

	if (!w)
		return 0;
	wait_sums_clear(&w->cgroups);
	before_ns = w->table.visited_ns;
	w->cgroups.visit++;
	w->processes.visit++;
	err = thread_reader_pass(w->reader, &takers, &pass);
	if (err == 0)
		err = thread_table_visit(&w->table, &pass, &takers);
	w->apart_ns = before_ns > 0 ? w->table.visited_ns - before_ns : 0;
	if (err == 0)
		wait_sums_forget(&w->processes);
	vec_each (&w->cgroups.all, sum)
		add_cgroup(w, containers, sum);
	if (w->crowded)
		forget_rows(w);
	w->crowded = false;
	took_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) * WAITING_PART;
	w->due_ns = clock_ns(CLOCK_MONOTONIC) +
		(took_ns > WAITING_EVERY_NS ? took_ns : WAITING_EVERY_NS);
	return err;
}

uint64_t waiting_due_ns(const struct waiting *w)
{
	return w ? w->due_ns : CLOCK_NEVER_NS;
}

int waiting_open(const struct cgroup_tree *tree, uint32_t pid_namespace, bool processes,
	struct waiting **out, struct why *why)
{
	const struct containers_labels others = { WAITING_OTHERS, "", "", "", "", 0 };
	struct thread_reader_options options = { .pid_namespace = pid_namespace };
	struct waiting *w = calloc(1, sizeof(*w));
	uint32_t live;
	int err = w ? 0 : why_set(why, -ENOMEM, "out of memory");

	if (tree)
		options.v1 = cgroup_tree_v1(tree, &options.v1_len, &live);
	if (err == 0 && add_row(w, &others, 0, 0) < 0)
		err = why_set(why, -ENOMEM, "out of memory");
	if (err == 0)
		err = thread_reader_open(&options, &w->reader, why);
	if (err < 0) {
		waiting_free(w);
		return err;
	}
	w->by_process = processes;
	w->due_ns = CLOCK_NEVER_NS; /* until the first visit */
	*out = w;
	return 0;
}

void waiting_free(struct waiting *w)
{
	if (!w)
		return;
	thread_reader_free(w->reader);
	thread_table_done(&w->table);
	wait_sums_done(&w->cgroups);
	wait_sums_done(&w->processes);
	vec_each (&w->rows, row)
		row_done(row);
	vec_done(&w->rows);
	share_done(&w->room);
	hash_done(&w->by_labels);
	free(w);
}

const struct waiting_row *waiting_rows(const struct waiting *w, size_t *len)
{
	*len = w ? w->rows.len : 0;
	return w ? w->rows.data : NULL;
}

const struct wait_sum *waiting_processes(const struct waiting *w, size_t *len)
{
	*len = w ? w->processes.all.len : 0;
	return w ? w->processes.all.data : NULL;
}

uint64_t waiting_refused(const struct waiting *w)
{
	return w ? w->table.stats.refused + w->processes.refused : 0;
}

uint64_t waiting_visited_ns(const struct waiting *w)
{
	return w ? w->table.visited_ns : 0;
}

double waiting_throttled_percent(const struct waiting *w, const struct waiting_row *row)
{
	return w->apart_ns > 0 && row->visit == w->table.visit
		? 100.0 * (double)row->last.throttled_ns / (double)w->apart_ns
		: 0;
}
