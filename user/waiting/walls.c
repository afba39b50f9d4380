/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/walls.c - a table of threads: each has the stack of its last visit, and the time that is
 * not in the tally yet. A thread that a visit does not meet has ended. */
#include "waiting/walls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "containers/containers.h"
#include "sampler/sampler.h"
#include "sampler/tally.h"
#include "unwind/publish.h"
#include "waiting/resource.h"
#include "waiting/visit_pace.h"
#include "waiting/visitor.h"

#define AGAIN_NS (10 * NSEC_PER_SEC)

struct wall_thread {
	uint64_t start_ns;
	uint64_t account;
	uint64_t seen_ns;  /* CLOCK_MONOTONIC: its last visit */
	uint64_t since_ns; /* likewise: it has had no CPU since then; 0: it has one */
	uint64_t wait_ns;  /* not in the tally yet, */
	uint64_t waited_ns; /* up to then, CLOCK_MONOTONIC */
	uint64_t visits;   /* and how often it was met meanwhile */
	struct count_key key;
	uint64_t waits_for; /* hash of a stack of the tally that holds a text; 0: unknown */
	uint32_t tid, pass;
	uint8_t class;     /* enum thread_class of the stack */
	bool known;        /* key is a stack that the tally had */
	uint32_t refused;  /* in this epoch of the tally, and one more, it had no room; 0: it had */
};

struct walls {
	struct tally *tally;
	struct containers *containers;
	struct visitor *visitor;
	const struct publish *publish;
	VEC(struct wall_thread) threads;
	struct hash by_thread; /* tid and start → index */
	struct share room;
	struct share stacks;  /* bytes in the tally since its epoch began */
	uint32_t epoch;
	struct visit_pace pace;
	uint64_t due_ns, last_ns; /* begins of the next visit, and of the latest; 0: no visit yet */
	uint64_t apart_ns;        /* between the latest visits' begins, an average; 0: one visit */
	uint32_t pass;
	bool user, futexes; /* as asked for */
	bool lacks;         /* stacks are not in the tally any more, or files of theirs have gone */
	uint64_t gone;      /* such files so far */
	uint64_t again_ns;  /* not before then are all stacks sent again for that */
	uint64_t own_ns, own_end_ns; /* CPU time of ours since the visit before; and at this one */
	uint64_t spans_ns, flushed_ns; /* as asked for; when the latest ones ended */
	struct walls_stats stats;
};

int walls_open(const struct walls_options *options, struct sampler *sampler, struct tally *tally,
	struct containers *containers, struct walls **out, struct why *why)
{
	struct walls *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return why_set(why, -ENOMEM, "out of memory");
	w->tally = tally;
	w->containers = containers;
	w->publish = sampler_publish(sampler);
	w->user = options->user;
	w->futexes = options->futexes;
	w->spans_ns = options->spans_ns;
	w->stats.asked_hz = options->hz;
	visit_pace_init(&w->pace, options->hz, options->part, (uint32_t)clock_ns(CLOCK_MONOTONIC));
	err = visitor_open(sampler, &w->visitor, why);
	if (err < 0) {
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

void walls_free(struct walls *w)
{
	if (!w)
		return;
	visitor_free(w->visitor);
	vec_done(&w->threads);
	hash_done(&w->by_thread);
	share_done(&w->room);
	share_done(&w->stacks);
	free(w);
}

const char *walls_lacks(const struct walls *w)
{
	return visitor_lacks(w->visitor);
}

/* ---- the table of threads -------------------------------------------------------------------- */

static uint64_t key_of(uint64_t start_ns, uint32_t tid)
{
	return hash_mix(start_ns) ^ tid;
}

static struct wall_thread *find(struct walls *w, const struct visit_record *r)
{
	const uint64_t *at = hash_find(&w->by_thread, key_of(r->start_ns, r->tid));
	struct wall_thread *thread = at ? &w->threads.data[*at] : NULL;

	return thread && thread->tid == r->tid && thread->start_ns == r->start_ns ? thread : NULL;
}

/* NULL: there is no room for it. */
static struct wall_thread *add(struct walls *w, const struct visit_record *r)
{
	uint64_t account = containers_account(w->containers, r->cgroup);
	struct wall_thread *slot;

	if (w->threads.len >= WALLS_THREADS_MAX ||
		share_refuses(&w->room, account, 1, WALLS_THREADS_MAX))
		return NULL;
	slot = vec_add(&w->threads);
	if (!slot)
		return NULL;
	if (share_charge(&w->room, account, 1) < 0) {
		w->threads.len--;
		return NULL;
	}
	if (hash_put(&w->by_thread, key_of(r->start_ns, r->tid), w->threads.len - 1) < 0) {
		share_return(&w->room, account, 1);
		w->threads.len--;
		return NULL;
	}
	/* Since the last visit, even if it is younger: the time between a thread's last visit and
	 * its end is nobody's, and of threads that no visit meets others have the time. So the
	 * sums are right, whatever becomes of one. */
	*slot = (struct wall_thread){ .start_ns = r->start_ns,
		.tid = r->tid,
		.account = account,
		.seen_ns = w->last_ns };
	return slot;
}

static void drop(struct walls *w, size_t at)
{
	struct wall_thread *thread = &w->threads.data[at];

	share_return(&w->room, thread->account, 1);
	hash_del(&w->by_thread, key_of(thread->start_ns, thread->tid));
	*thread = w->threads.data[--w->threads.len];
	if (at < w->threads.len) {
		uint64_t *moved =
			hash_find(&w->by_thread, key_of(thread->start_ns, thread->tid));

		if (moved)
			*moved = at;
	}
}

/* ---- counting -------------------------------------------------------------------------------- */

/* The thread has left a stack, or an interval ends: its wait there goes to the tally. */
static int flush(struct walls *w, struct wall_thread *thread)
{
	int err = 0;

	if (thread->wait_ns > 0 && thread->known)
		err = tally_wait(w->tally, &thread->key,
			&(struct tally_wait){
				.waits_for = thread->waits_for,
				.visits = thread->visits,
				.wait_ns = thread->wait_ns,
				.until_ns = w->spans_ns ? thread->waited_ns : 0,
				.class = thread->class,
			});
	if (err == -ENOENT) { /* the stack was forgotten, and comes again */
		w->stats.lost_ns += thread->wait_ns;
		thread->known = false;
		w->lacks = true;
		err = 0;
	} else if (thread->known) {
		w->stats.waiting_ns += thread->wait_ns;
	} else {
		w->stats.lost_ns += thread->wait_ns;
	}
	thread->wait_ns = thread->visits = 0;
	return err;
}

/* Intervals may be shorter than the time between visits: what the thread has stays. */
static void keep(struct walls *w, const struct wall_thread *thread)
{
	if (!thread->known)
		return;
	tally_keep(w->tally, thread->key.user_stack);
	tally_keep(w->tally, thread->key.kernel_stack);
	tally_keep(w->tally, thread->waits_for);
	tally_keep_task(w->tally, thread->key.task);
}

#define RESOURCE_WORDS (RESOURCE_TEXT_MAX / sizeof(uint64_t))

static uint64_t hash_half(const uint64_t *frames, uint16_t len, uint64_t whose)
{
	return hash_mix(hash_bytes(frames, len * sizeof(*frames)) ^ whose) | 1;
}

/* Room of the tally for stacks of waits: what is left is for samples. The tally has what was used
 * in this epoch and in the one before. */
#define STACKS_MAX (TALLY_BYTES_MAX / 4)

static bool has_room(struct walls *w, struct wall_thread *thread, uint32_t frames_len)
{
	if (w->epoch != w->tally->epoch)
		share_clear(&w->stacks);
	w->epoch = w->tally->epoch;
	thread->refused = share_refuses(&w->stacks, thread->account,
				  TALLY_STACK_BYTES(frames_len) + TALLY_STACK_BYTES(0), STACKS_MAX)
		? w->tally->epoch + 1
		: 0;
	return thread->refused == 0;
}

/* The socket, file or futex is kept as stacks are, as a text in whole words. 0 or an error. */
static int take_resource(
	struct walls *w, struct wall_thread *thread, const struct visit_resource *waits_for)
{
	uint64_t words[RESOURCE_WORDS] = { 0 };
	struct event_stack half = { .kind = EVENT_STACK };
	size_t len;

	thread->waits_for = 0;
	if (!waits_for || (waits_for->kind == RESOURCE_FUTEX && !w->futexes))
		return 0;
	len = resource_text(waits_for, (char *)words, sizeof(words));
	if (len == 0)
		return 0;
	half.frames_len = (uint16_t)(len / sizeof(*words) + 1);
	half.hash = thread->waits_for = hash_half(words, half.frames_len, RESOURCE_TEXT_MAX);
	return tally_stack(w->tally, &half, words);
}

/* Gives the tally the record's stack, if it has one and there is room. 0 or -ENOMEM. */
static int take_stack(struct walls *w, struct wall_thread *thread, const struct visit_record *r,
	const uint64_t *kernel, const uint64_t *user, const struct visit_resource *waits_for)
{
	struct event_stack half = { .kind = EVENT_STACK };
	uint64_t bytes = w->tally->bytes;
	int err = 0;

	thread->known = false;
	thread->key = (struct count_key){ .task = r->task };
	if (r->task == 0 || (r->kernel_len == 0 && r->user_len == 0) ||
		!has_room(w, thread,
			r->kernel_len + r->user_len + (waits_for ? RESOURCE_WORDS : 0)))
		return 0;
	if (r->kernel_len > 0) {
		half.frames_len = r->kernel_len;
		half.hash = thread->key.kernel_stack = hash_half(kernel, r->kernel_len, 0);
		err = tally_stack(w->tally, &half, kernel);
	}
	if (err == 0 && w->user && (r->user_len > 0 || r->user_end != END_NONE)) {
		uint64_t whose = r->anon ? hash_mix(r->process_start_ns) ^ r->tgid : 0;

		half.frames_len = r->user_len;
		half.end = r->user_end;
		half.anon = r->anon != 0;
		half.hash = thread->key.user_stack =
			hash_half(user, r->user_len, whose ^ (uint64_t)(r->user_end + 1) << 48);
		err = tally_stack(w->tally, &half, user);
	}
	if (err == 0)
		err = take_resource(w, thread, waits_for);
	thread->known = err == 0;
	if (err == -ENOSPC) {
		thread->refused = w->tally->epoch + 1;
		err = 0;
	}
	if (w->tally->bytes > bytes && err == 0)
		err = share_charge(&w->stacks, thread->account, w->tally->bytes - bytes);
	return err;
}

/* ran_ns: when the visit before met it running; 0: it did not. A record's wait begins when the
 * thread got its last CPU, which may be long before it left that. */
static void note_since(
	struct wall_thread *thread, const struct visit_record *r, uint64_t ran_ns)
{
	uint64_t arrived_ns = r->now_ns - r->waited_ns;

	if (r->class == THREAD_RUNNING)
		thread->since_ns = 0;
	else if (r->waited_ns > 0 && r->waited_ns < r->now_ns)
		thread->since_ns = arrived_ns > ran_ns ? arrived_ns : ran_ns;
	else if (thread->since_ns == 0 || !(r->flags & VISIT_SAME))
		thread->since_ns = r->now_ns;
}

static int take(void *ctx, const struct visit_record *r, const uint64_t *kernel,
	const uint64_t *user, const struct visit_resource *waits_for)
{
	struct walls *w = ctx;
	struct wall_thread *thread = find(w, r);
	bool same = r->flags & VISIT_SAME;
	uint64_t since_ns, ran_ns = thread && thread->since_ns == 0 ? thread->seen_ns : 0;
	int err = 0;

	w->stats.threads++;
	if (!thread)
		thread = add(w, r);
	if (!thread) {
		w->stats.refused++;
		return 0;
	}
	thread->pass = w->pass;
	since_ns = thread->seen_ns && r->now_ns > thread->seen_ns ? r->now_ns - thread->seen_ns : 0;
	thread->seen_ns = r->now_ns;
	note_since(thread, r, ran_ns);
	/* At each visit it is who had the CPU until then, and would seem to wait for ever. */
	if (r->flags & VISIT_ASIDE && since_ns > w->own_ns)
		since_ns = w->own_ns;
	if (!same || r->class != thread->class)
		err = flush(w, thread);
	if (!same && err == 0 && r->class != THREAD_RUNNING)
		err = take_stack(w, thread, r, kernel, user, waits_for);
	if (r->class == THREAD_RUNNING) {
		thread->known = false;
		return err;
	}
	w->lacks |= same && !thread->known && thread->refused != w->tally->epoch + 1;
	thread->class = r->class;
	thread->wait_ns += since_ns;
	thread->waited_ns = r->now_ns;
	thread->visits++;
	return err;
}

static void note_rate(struct walls *w, uint64_t began_ns)
{
	uint64_t apart_ns = began_ns - w->last_ns;

	if (w->last_ns == 0 || apart_ns == 0)
		return;
	w->apart_ns = w->apart_ns == 0 ? apart_ns
				       : w->apart_ns - w->apart_ns / VISIT_PACE_AVERAGE +
						 apart_ns / VISIT_PACE_AVERAGE;
}

/* Then BPF sends all stacks again. */
static void send_again(struct walls *w, uint64_t now_ns)
{
	uint64_t gone = publish_waited_gone(w->publish);

	w->lacks |= gone != w->gone;
	w->gone = gone;
	if (!w->lacks || now_ns < w->again_ns)
		return;
	w->again_ns = now_ns + AGAIN_NS;
	w->lacks = false;
	visitor_again(w->visitor);
}

int walls_visit(struct walls *w)
{
	uint64_t began_ns, cpu_ns;
	int err;

	if (!w)
		return 0;
	began_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	w->own_ns = cpu_ns - w->own_end_ns;
	w->own_end_ns = cpu_ns;
	w->pass++;
	err = visitor_pass(w->visitor, take, w);
	for (size_t i = w->threads.len; err == 0 && i-- > 0;) {
		if (w->threads.data[i].pass == w->pass)
			continue;
		err = flush(w, &w->threads.data[i]);
		drop(w, i);
	}
	send_again(w, began_ns);
	note_rate(w, began_ns);
	w->last_ns = began_ns;
	if (err == 0 && w->spans_ns && began_ns - w->flushed_ns >= w->spans_ns)
		err = walls_flush(w);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	w->stats.visits++;
	w->stats.cpu_ns += cpu_ns;
	w->due_ns = began_ns + visit_pace_next_ns(&w->pace, cpu_ns);
	return err;
}

uint64_t walls_due_ns(const struct walls *w)
{
	return w ? w->due_ns : CLOCK_NEVER_NS;
}

int walls_flush(struct walls *w)
{
	int err = 0;

	for (size_t i = 0; w && i < w->threads.len && err == 0; i++) {
		err = flush(w, &w->threads.data[i]);
		keep(w, &w->threads.data[i]);
	}
	if (w)
		w->flushed_ns = w->last_ns;
	return err;
}

int walls_end(struct walls *w)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	if (w && now_ns - w->last_ns > NSEC_PER_SEC &&
		now_ns - w->last_ns >= (w->due_ns - w->last_ns) / WALLS_END_TIMES)
		err = walls_visit(w);
	return err < 0 ? err : walls_flush(w);
}

int walls_each(const struct walls *w, walls_fn *fn, void *ctx)
{
	int err = 0;

	for (size_t i = 0; w && i < w->threads.len && err == 0; i++) {
		const struct wall_thread *thread = &w->threads.data[i];

		if (thread->since_ns > 0)
			err = fn(ctx, thread->tid, thread->seen_ns - thread->since_ns);
	}
	return err;
}

void walls_stats(const struct walls *w, struct walls_stats *out)
{
	*out = w ? w->stats : (struct walls_stats){ 0 };
	if (w)
		out->unwalked = visitor_refused(w->visitor);
	if (w && w->apart_ns > 0)
		out->hz = (double)NSEC_PER_SEC / (double)w->apart_ns;
}
