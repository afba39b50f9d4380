/* SPDX-License-Identifier: Apache-2.0 */
/* traps/still.c - threads are known by their numbers in the profile's labels. */
#include "traps/still.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "traps/narrow.h"
#include "waiting/walls.h"

#define INTERVAL_MIN_NS (5 * NSEC_PER_SEC)

uint64_t still_interval_ns(uint64_t least_ns)
{
	return least_ns > INTERVAL_MIN_NS ? least_ns : INTERVAL_MIN_NS;
}

struct found {
	struct hash still; /* threads that have had no CPU for so long, and how long */
	uint64_t least_ns;
};

static int note(void *ctx, uint32_t tid, uint64_t still_ns)
{
	struct found *found = ctx;

	return still_ns >= found->least_ns ? hash_put(&found->still, tid, still_ns) : 0;
}

/* The subject's waits alone. */
static int cut(const struct still *s, const struct watch_sources *from, struct profile *out)
{
	const struct slice all = { .until_ns = UINT64_MAX };
	struct thread_pids pids = { 0 };
	struct thread_time time;
	int err;

	if ((s->whose.pid || s->whose.comm) &&
		!thread_times_of(
			from->times, from->waiting, from->containers, &s->whose, &time, &pids))
		return -ENOENT;
	err = narrow_add_waits(s->profile, &s->whose, &pids, &all, out);
	vec_done(&pids);
	return err;
}

/* A thread has several waits in an interval. The one that it is in has lasted as long as it has had
 * no CPU, or all of the interval: by how much a sample's time differs from that, and whether it is
 * no idle one. The least is the thread's. */
static uint64_t differs(const struct profile *p, const struct profile_sample *sample, uint64_t ns)
{
	ns = ns > sample->value ? ns - sample->value : sample->value - ns;
	return (ns & UINT64_MAX >> 1) << 1 | !profile_labels_idle(p, sample->labels);
}

int still_share(const struct profile *p, uint64_t interval_ns, const struct hash *still,
	uint64_t *permille)
{
	uint32_t wall = profile_kind_find(p, PROFILE_WALL, strlen(PROFILE_WALL));
	struct hash threads = HASH_INIT;
	uint64_t stuck = 0;
	int err = 0;

	vec_each (&p->samples, sample) {
		int32_t tid = profile_label_number(p, sample->labels, PROFILE_KEY_TID);
		const uint64_t *for_ns = hash_find(still, (uint64_t)tid), *least;
		uint64_t differ;

		if (sample->kind != wall || tid < 0)
			continue;
		differ = for_ns ? differs(p, sample, *for_ns < interval_ns ? *for_ns : interval_ns)
				: 0;
		least = hash_find(&threads, (uint64_t)tid);
		if (!least || differ < *least)
			err = hash_put(&threads, (uint64_t)tid, differ);
		if (err < 0)
			break;
	}
	hash_each (&threads, thread)
		stuck += thread->value & 1;
	if (err == 0 && threads.len == 0)
		err = -ENOENT;
	if (err == 0)
		*permille = (stuck * 1000 + threads.len - 1) / threads.len;
	hash_done(&threads);
	return err;
}

int still_find(struct still *s, const struct watch_sources *from)
{
	_cleanup_(profile_done) struct profile part = { 0 };
	struct found found = { .least_ns = s->least_ns };
	int err = s->walls ? profile_init(&part) : -ENOENT;

	if (err == 0)
		err = cut(s, from, &part);
	if (err == 0)
		err = walls_each(s->walls, note, &found);
	if (err == 0)
		err = still_share(
			&part, s->profile->duration_ns, &found.still, &s->permille);
	hash_done(&found.still);
	return err;
}
