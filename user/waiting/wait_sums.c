/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wait_sums.c - a key is the cgroup's id, or the process's pid and start time. Two keys of
 * one hash are told apart: the later one is refused. */
#include "waiting/wait_sums.h"

#include <errno.h>
#include <string.h>

void wait_sums_done(struct wait_sums *sums)
{
	vec_done(&sums->all);
	hash_done(&sums->by_key);
}

void wait_sums_clear(struct wait_sums *sums)
{
	sums->all.len = 0;
	hash_clear(&sums->by_key);
}

static uint64_t hash_of(const struct wait_sum *sum)
{
	const uint64_t words[] = { sum->tgid, sum->tgid ? sum->start_ns : sum->cgroup };

	return hash_bytes(words, sizeof(words));
}

void wait_sums_forget(struct wait_sums *sums)
{
	for (size_t i = sums->all.len; i-- > 0;) {
		struct wait_sum *sum = &sums->all.data[i];
		const struct wait_sum *last = &sums->all.data[sums->all.len - 1];

		if (sums->visit - sum->visit < WAIT_SUMS_KEPT)
			continue;
		hash_del(&sums->by_key, hash_of(sum));
		if (sum != last) {
			*hash_find(&sums->by_key, hash_of(last)) = i;
			*sum = *last;
		}
		sums->all.len--;
	}
}

static int find_or_add(struct wait_sums *sums, const struct wait_sum *key, struct wait_sum **out)
{
	uint64_t hash = hash_of(key), *at = hash_find(&sums->by_key, hash);
	struct wait_sum *sum = at ? &sums->all.data[*at] : NULL;

	*out = NULL;
	if (sum && sum->tgid == key->tgid &&
		(key->tgid ? sum->start_ns == key->start_ns : sum->cgroup == key->cgroup)) {
		*out = sum;
		return 0;
	}
	if (sum || sums->all.len == WAIT_SUMS_MAX) {
		sums->refused++;
		return 0;
	}
	if (vec_reserve(&sums->all, sums->all.len + 1) < 0 ||
		hash_put(&sums->by_key, hash, sums->all.len) < 0)
		return -ENOMEM;
	*out = vec_add(&sums->all);
	**out = *key;
	return 0;
}

static int add(struct wait_sums *sums, const struct wait_sum *key,
	const struct thread_record *record, const struct thread_split *split)
{
	struct wait_sum *sum;
	int err = find_or_add(sums, key, &sum);

	if (err < 0 || !sum)
		return err;
	if (sum->visit != sums->visit) {
		sum->threads = 0;
		sum->last = (struct thread_split){ 0 };
	}
	sum->visit = sums->visit;
	sum->threads++;
	sum->cgroup = record->cgroup;
	if (key->tgid && (record->tid == record->tgid || sum->comm[0] == '\0'))
		memcpy(sum->comm, record->comm, sizeof(sum->comm));
	thread_split_add(&sum->split, split);
	thread_split_add(&sum->last, split);
	thread_split_throttle(&sum->split, &sum->last, split->throttled_ns);
	return 0;
}

int wait_sums_add_process(struct wait_sums *sums, const struct thread_record *record,
	const struct thread_split *split)
{
	const struct wait_sum key = { .tgid = record->tgid,
		.start_ns = record->process_start_ns,
		.cgroup = record->cgroup,
		.visit = sums->visit };

	return add(sums, &key, record, split);
}

int wait_sums_add_cgroup(struct wait_sums *sums, const struct thread_record *record,
	const struct thread_split *split)
{
	const struct wait_sum key = { .cgroup = record->cgroup, .visit = sums->visit };

	return add(sums, &key, record, split);
}
