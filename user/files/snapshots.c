/* SPDX-License-Identifier: Apache-2.0 */
/* files/snapshots.c - a list, one a process; whoever has most gives its oldest. A snapshot is read
 * again when a sample does not fit it, because a young process is still mapping its libraries. */
#include "files/snapshots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "files/file_time.h"
#include "sampler/sampler.h"

#define FRESH_NS (5 * NSEC_PER_MSEC)
#define COST_PART 50 /* of our time at most one part is for reading mappings */

static void drop_at(struct snapshots *s, size_t i)
{
	struct snapshot *gone = s->all.data[i];

	share_return(&s->share, gone->account, gone->bytes);
	vec_done(&gone->mappings);
	free(gone);
	s->all.data[i] = s->all.data[--s->all.len];
}

void snapshots_clear(struct snapshots *s)
{
	while (s->all.len > 0)
		drop_at(s, s->all.len - 1);
}

void snapshots_done(struct snapshots *s)
{
	snapshots_clear(s);
	vec_done(&s->all);
	share_done(&s->share);
}

/* all.len: it has no other than this. */
static size_t oldest_of(const struct snapshots *s, uint64_t account, const struct snapshot *kept)
{
	size_t found = s->all.len;

	for (size_t i = 0; i < s->all.len; i++)
		if (s->all.data[i] != kept && s->all.data[i]->account == account &&
			(found == s->all.len ||
				s->all.data[i]->taken_ns < s->all.data[found]->taken_ns))
			found = i;
	return found;
}

static void make_room(struct snapshots *s, const struct snapshot *kept, uint64_t bytes)
{
	while (s->share.used + bytes > SNAPSHOTS_BYTES_MAX) {
		const struct share_account *largest = share_largest(&s->share);
		size_t i = largest ? oldest_of(s, largest->number, kept) : s->all.len;

		if (i == s->all.len)
			return;
		drop_at(s, i);
		s->dropped++;
	}
}

static int take_mapping(void *ctx, const struct scan_mapping *mapping)
{
	struct snapshot *snapshot = ctx;
	struct scan_mapping *slot = vec_add(&snapshot->mappings);

	if (!slot)
		return -ENOMEM;
	*slot = *mapping;
	return 0;
}

/* The known mappings stay when the process is gone. */
static void take(struct snapshots *s, struct snapshot *snapshot)
{
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), bytes;
	struct snapshot now = { 0 };

	snapshot->taken_ns = clock_ns(CLOCK_MONOTONIC);
	sampler_scan(s->sampler, snapshot->tgid, take_mapping, &now);
	snapshot->cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	file_time_charge_since(s->time, snapshot->account, begun_ns);
	bytes = sizeof(now) + now.mappings.cap * sizeof(*now.mappings.data);
	bytes = bytes > SNAPSHOT_BYTES_MIN ? bytes : SNAPSHOT_BYTES_MIN;
	if (now.mappings.len == 0 ||
		(bytes > snapshot->bytes &&
			share_charge(&s->share, snapshot->account, bytes - snapshot->bytes) < 0)) {
		vec_done(&now.mappings);
		return;
	}
	if (bytes < snapshot->bytes)
		share_return(&s->share, snapshot->account, snapshot->bytes - bytes);
	snapshot->bytes = bytes;
	vec_done(&snapshot->mappings);
	snapshot->mappings.data = now.mappings.data;
	snapshot->mappings.len = now.mappings.len;
	snapshot->mappings.cap = now.mappings.cap;
	make_room(s, snapshot, 0);
}

static struct snapshot *find(struct snapshots *s, uint32_t tgid, uint64_t start_ns)
{
	for (size_t i = 0; i < s->all.len; i++) {
		struct snapshot *snapshot = s->all.data[i];

		if (snapshot->tgid == tgid && snapshot->start_ns == start_ns)
			return snapshot;
	}
	return NULL;
}

static struct snapshot *add(
	struct snapshots *s, uint32_t tgid, uint64_t start_ns, uint64_t account)
{
	struct snapshot *made = calloc(1, sizeof(*made)), **slot;

	make_room(s, NULL, SNAPSHOT_BYTES_MIN);
	if (!made || vec_reserve(&s->all, s->all.len + 1) < 0 ||
		share_charge(&s->share, account, SNAPSHOT_BYTES_MIN) < 0) {
		free(made);
		return NULL;
	}
	slot = vec_add(&s->all);
	*made = (struct snapshot){
		.tgid = tgid, .start_ns = start_ns, .account = account, .bytes = SNAPSHOT_BYTES_MIN
	};
	return *slot = made;
}

struct snapshot *snapshots_of(
	struct snapshots *s, uint32_t tgid, uint64_t start_ns, uint64_t account)
{
	struct snapshot *snapshot = find(s, tgid, start_ns);

	if (snapshot)
		return snapshot;
	snapshot = add(s, tgid, start_ns, account);
	if (snapshot)
		take(s, snapshot);
	return snapshot;
}

uint64_t snapshots_stale_ns(const struct snapshot *snapshot)
{
	uint64_t fresh_ns = snapshot->cost_ns * COST_PART;

	return snapshot->taken_ns + (fresh_ns < FRESH_NS ? FRESH_NS : fresh_ns);
}

void snapshots_freshen(struct snapshots *s, struct snapshot *snapshot)
{
	if (clock_ns(CLOCK_MONOTONIC) >= snapshots_stale_ns(snapshot))
		take(s, snapshot);
}

void snapshots_watch(struct snapshots *s, struct event_exec event, uint64_t account)
{
	struct snapshot *known = find(s, event.tgid, event.start_ns);

	if (file_time_refuses(s->time, account, clock_ns(CLOCK_MONOTONIC)))
		return;
	if (known)
		take(s, known); /* of the file that ran before */
	else
		snapshots_of(s, event.tgid, event.start_ns, account);
}
