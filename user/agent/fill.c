/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fill.c - converts counts to a profile. Up to here a frame is one number; naming finds its
 * name and the functions inlined into it. Failures in a stack become a mark in it and a number in
 * the account. */
#include "agent/fill.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/guess.h"
#include "base/clock.h"
#include "containers/containers.h"
#include "containers/payers.h"
#include "files/processes.h"
#include "profile/fit.h"
#include "waiting/resource.h"
#include "waiting/wait_state.h"

#define CALLS_PART 4 /* of the time for names: checks of calls have no more */

static int put_account(struct fill *fill, uint32_t labels, uint64_t account)
{
	while (fill->accounts.len <= labels)
		if (!vec_add(&fill->accounts))
			return -ENOMEM;
	fill->accounts.data[labels] = account;
	return 0;
}

static int make_labels(struct fill *fill, const struct tally_task *task, uint32_t cpu, bool idle,
	uint32_t *id)
{
	struct containers_labels names;
	struct profile_labels labels = { 0 };
	const char *texts[PROFILE_KEY_PID];
	int err = 0;

	containers_labels(fill->containers, task->key.cgroup, &names);
	texts[PROFILE_KEY_CONTAINER] = names.container;
	texts[PROFILE_KEY_POD] = names.pod;
	texts[PROFILE_KEY_NAMESPACE] = names.namespace_;
	texts[PROFILE_KEY_IMAGE] = names.image;
	texts[PROFILE_KEY_UNIT] = names.unit;
	texts[PROFILE_KEY_COMM] = task->key.comm;
	for (uint32_t key = 0; key < PROFILE_KEY_PID && err == 0; key++)
		err = profile_labels_text(fill->profile, &labels, key, texts[key]);
	profile_labels_set_number(&labels, PROFILE_KEY_PID, (int32_t)task->key.tgid);
	profile_labels_set_number(
		&labels, PROFILE_KEY_TID, task->key.tid ? (int32_t)task->key.tid : -1);
	profile_labels_set_number(&labels, PROFILE_KEY_CPU, (int32_t)cpu - 1);
	if (err == 0 && idle)
		err = profile_labels_put_idle(fill->profile, &labels);
	if (err == 0)
		err = profile_labels(fill->profile, &labels, id);
	return err < 0 ? err : put_account(fill, *id, names.account);
}

#define LABELS_IDLE (1U << 31) /* above a CPU's number */

static int put_labels(struct fill *fill, const struct tally_count *c, bool idle, uint32_t *id)
{
	uint64_t key = (uint64_t)c->task << 32 | c->cpu | (idle ? LABELS_IDLE : 0);
	uint64_t *have = hash_find(&fill->labels, key);
	int err;

	if (have) {
		*id = (uint32_t)*have;
		return 0;
	}
	err = make_labels(fill, &fill->tally->tasks.data[c->task], c->cpu, idle, id);
	return err < 0 ? err : hash_put(&fill->labels, key, *id);
}

static int put_mark(struct fill *fill, const char *text, uint32_t *len)
{
	struct profile_frame mark = { .class = PROFILE_MARK };
	int err = profile_string(fill->profile, text, &mark.name);

	if (err == 0)
		err = profile_frame(fill->profile, &mark, &fill->frames[*len]);
	*len += err == 0;
	return err;
}

/* ---- the places of a half's frames --------------------------------------------------------------
 */

static const struct task_key *key_of(const struct fill *fill, uint32_t task)
{
	return &fill->tally->tasks.data[task].key;
}

/* Names of code in no file are one process's. */
static uint64_t callers_hash(
	const struct fill *fill, const struct fill_callers *c, const struct tally_stack *stack)
{
	const struct task_key *task = key_of(fill, c->task);
	const uint64_t key[] = {
		hash_bytes(stack->frames + 1, (stack->frames_len - 1) * sizeof(*stack->frames)),
		c->view,
		stack->anon ? task->start_ns : 0,
		stack->anon ? task->tgid : 0,
	};

	return hash_bytes(key, sizeof(key));
}

static bool same_callers(
	const struct fill *fill, const struct fill_callers *a, const struct fill_callers *b)
{
	const struct tally_stack *x = &fill->tally->stacks.data[a->stack],
				 *y = &fill->tally->stacks.data[b->stack];
	const struct task_key *one = key_of(fill, a->task), *two = key_of(fill, b->task);

	return a->view == b->view && x->frames_len == y->frames_len && x->anon == y->anon &&
		(!x->anon || (one->tgid == two->tgid && one->start_ns == two->start_ns)) &&
		memcmp(x->frames + 1, y->frames + 1, (x->frames_len - 1) * sizeof(*x->frames)) == 0;
}

static int want_frame(struct fill *fill, const struct tally_task *task,
	const struct tally_stack *stack, uint32_t i, uint32_t *place, bool *by_view)
{
	int err;

	*place = 0;
	if (FRAME_IS_LEFT_OUT(stack->frames[i]))
		return 0;
	err = naming_want(fill->naming, task, stack->frames[i], i > 0, place);
	*by_view |= fill->naming->by_view;
	return err;
}

static int make_callers(
	struct fill *fill, struct fill_callers *made, const struct tally_stack *stack)
{
	const struct tally_task *task = &fill->tally->tasks.data[made->task];
	size_t first = fill->places.len, len = first + stack->frames_len - 1;
	struct fill_callers *slot;
	int err = vec_reserve(&fill->places, len);

	made->first = (uint32_t)first;
	if (err == 0)
		fill->places.len = len;
	for (uint32_t i = 1; i < stack->frames_len && err == 0; i++)
		err = want_frame(
			fill, task, stack, i, &fill->places.data[first + i - 1], &made->by_view);
	slot = err == 0 ? vec_add(&fill->callers) : NULL;
	if (!slot)
		return err < 0 ? err : -ENOMEM;
	*slot = *made;
	return 0;
}

static int want_callers(struct fill *fill, struct fill_callers *wanted,
	const struct tally_stack *stack, struct fill_half *half)
{
	uint64_t hash = callers_hash(fill, wanted, stack),
		 *have = hash_find(&fill->callers_index, hash), at = have ? *have : 0;
	int err = 0;

	if (!have || !same_callers(fill, &fill->callers.data[at], wanted) ||
		naming_pays(fill->naming, fill->callers.data[at].account)) {
		at = fill->callers.len;
		err = make_callers(fill, wanted, stack);
		if (err == 0)
			err = hash_put(&fill->callers_index, hash, at);
	}
	if (err < 0)
		return err;
	half->callers = (uint32_t)at + 1;
	half->by_view |= fill->callers.data[at].by_view;
	return 0;
}

/* Requests the names of a half once. Frames of code in no file are of one process, so the task
 * matters only if names depend on its root. */
static int want_places(struct fill *fill, uint32_t task_at, uint32_t stack_at)
{
	const struct tally_task *task = &fill->tally->tasks.data[task_at];
	const struct tally_stack *stack = &fill->tally->stacks.data[stack_at];
	struct fill_half *half = &fill->halves.data[stack_at];
	uint32_t view = naming_view(fill->naming, task);
	uint64_t account = fill->naming->account;
	struct fill_callers callers = {
		.stack = stack_at, .task = task_at, .view = view, .account = account
	};
	int err = 0;

	if (half->made && (!half->by_view || half->view == view) &&
		!naming_pays(fill->naming, half->account))
		return 0;
	*half = (struct fill_half){ .account = account, .view = view, .made = true };
	if (stack->frames_len > 0)
		err = want_frame(fill, task, stack, 0, &half->leaf, &half->by_view);
	if (err == 0 && stack->frames_len > 1)
		err = want_callers(fill, &callers, stack, half);
	return err;
}

/* ---- samples ------------------------------------------------------------------------------------
 */

static bool has_code(const struct tally_stack *stack)
{
	for (uint32_t i = 0; i < stack->frames_len; i++)
		if (FRAME_KIND(stack->frames[i]) == FRAME_CODE &&
			!FRAME_IS_LEFT_OUT(stack->frames[i]))
			return true;
	return false;
}

/* Waits are no samples of CPU time: the account's numbers are of those alone. */
static uint64_t weight_of(const struct tally_count *c)
{
	return c->wait_ns ? 0 : c->count;
}

/* How many frames a process has, for agent/jit_advice.h. */
static int add_frames(struct fill *fill, const struct tally_count *c, uint64_t frames)
{
	uint32_t tgid = fill->tally->tasks.data[c->task].key.tgid;
	uint64_t *sum = hash_find(&fill->naming->frames_of, tgid);

	if (!sum)
		return hash_put(&fill->naming->frames_of, tgid, frames * weight_of(c));
	*sum += frames * weight_of(c);
	return 0;
}

/* Appends a raw half's frames to fill->frames. Inlined ones are left out before others are. A run
 * of code of a JIT's without a name is its innermost frame: the others would say no more. */
static int put_half(struct fill *fill, const struct tally_count *c, uint32_t stack_at,
	uint32_t from, uint32_t to, uint32_t *len)
{
	const struct tally_stack *stack = &fill->tally->stacks.data[stack_at];
	const struct fill_half *half = &fill->halves.data[stack_at];
	uint32_t callers = half->callers ? fill->callers.data[half->callers - 1].first : 0;
	bool hide = !fill->naming->keep_native && has_code(stack);
	bool in_run = false;
	uint64_t frames = 0;
	int err = 0;

	for (uint32_t i = from; i < to && *len < FILL_FRAMES_MAX - 3 && err == 0; i++) {
		uint32_t place = i == 0 ? half->leaf : fill->places.data[callers + i - 1];
		const uint32_t *ids;
		uint32_t count;
		bool all, unnamed;

		if (FRAME_IS_LEFT_OUT(stack->frames[i])) {
			in_run = false;
			err = put_mark(fill, PROFILE_LEFT_OUT, len);
			continue;
		}
		if (hide && naming_is_interpreter(fill->naming, place))
			continue;
		count = naming_frames(fill->naming, place, weight_of(c), &ids);
		frames++;
		unnamed = !fill->naming->keep_runs && naming_is_unnamed_jit(fill->naming, place);
		if (unnamed && in_run)
			continue;
		in_run = unnamed;
		all = *len + count <= FILL_FRAMES_MAX - FILL_RAW_MAX;
		for (uint32_t n = all ? 0 : count - 1; n < count; n++)
			fill->frames[(*len)++] = ids[n];
	}
	return err < 0 ? err : add_frames(fill, c, frames);
}

static int put_user(struct fill *fill, const struct tally_count *c, uint32_t *len)
{
	const struct tally_task *task = &fill->tally->tasks.data[c->task];
	const struct tally_stack *stack = &fill->tally->stacks.data[c->user - 1];
	uint32_t guess = guess_begin(fill->objects, fill->processes, task, stack);
	uint32_t cut = guess < stack->frames_len ? calls_cut(&fill->naming->calls, stack, guess)
						 : calls_cut_root(&fill->naming->calls, stack);
	uint8_t end = cut < stack->frames_len ? END_IMPOSSIBLE : stack->end;
	int err = put_half(fill, c, c->user - 1, 0, guess < cut ? guess : cut, len);

	fill->account->stacks_total += weight_of(c);
	fill->account->waits_total += c->wait_ns ? c->count : 0;
	if (err == 0 && guess < cut)
		err = put_mark(fill, PROFILE_GUESSED, len);
	if (err == 0)
		err = put_half(fill, c, c->user - 1, guess, cut, len);
	if (err < 0)
		return err;
	if (end == END_ROOT) {
		if (guess < cut)
			fill->account->stacks_guessed += weight_of(c);
		else
			fill->account->stacks_complete += weight_of(c);
		fill->account->waits_complete += c->wait_ns ? c->count : 0;
		return 0;
	}
	fill->account->stacks_truncated[end < STACK_ENDS_LEN ? end : END_NONE] += weight_of(c);
	return put_mark(fill, PROFILE_TRUNCATED, len);
}

/* The text of a socket, file or futex for which a thread waits; NULL: unknown. */
static const char *resource_of(const struct fill *fill, const struct tally_count *c)
{
	return c->waits_for ? (const char *)fill->tally->stacks.data[c->waits_for - 1].frames
			    : NULL;
}

/* The state of a thread that waits, and what it waits for, at the place before the frames that it
 * has: so far those of the kernel. */
static int put_state(struct fill *fill, const struct tally_count *c, uint32_t first, uint32_t len,
	const char **state)
{
	const char *functions[WAIT_FUNCTIONS], *resource = resource_of(fill, c);
	char text[RESOURCE_TEXT_MAX + sizeof(PROFILE_WAITS_FOR)];
	const struct profile *p = fill->profile;
	uint32_t at = 0, n = 0;
	int err;

	for (; n < WAIT_FUNCTIONS && first + n < len; n++)
		functions[n] = profile_text(p, p->frames.data[fill->frames[first + n]].name);
	*state = resource && resource_is_time(resource) ? PROFILE_SLEEPING
							: wait_state(c->class, functions, n);
	err = put_mark(fill, *state, &at);
	if (err == 0 && resource) {
		snprintf(text, sizeof(text), PROFILE_WAITS_FOR "%s]", resource);
		err = put_mark(fill, text, &at);
	}
	return err;
}

static bool is_idle(const struct fill *fill, const struct tally_count *c, const char *state,
	uint32_t first, uint32_t len)
{
	const struct profile *p = fill->profile;
	struct wait_frame frames[STACK_USER_FRAMES_MAX];
	const char *resource = resource_of(fill, c);
	size_t n = 0;

	for (uint32_t i = first; i < len && n < ARRAY_SIZE(frames); i++) {
		const struct profile_frame *frame = &p->frames.data[fill->frames[i]];

		if (frame->class != PROFILE_KERNEL && frame->class != PROFILE_MARK)
			frames[n++] = (struct wait_frame){ profile_text(p, frame->name),
				frame->class != PROFILE_NATIVE };
	}
	return wait_is_idle(state, resource && resource_is_peer(resource), frames, n);
}

/* Each thread of a pool has a futex of its own. */
static bool is_told(const char *resource, const char *state, bool idle)
{
	return resource_fits(resource, state) && !(idle && resource_is_futex(resource));
}

static void drop_resource(struct fill *fill, uint32_t *len)
{
	*len -= 1;
	memmove(fill->frames + 1, fill->frames + 2, (*len - 1) * sizeof(*fill->frames));
}

/* The count's stack and labels in the profile; nothing is added up yet. */
static int fill_sample(
	struct fill *fill, const struct tally_count *c, struct profile_sample *sample)
{
	/* The state comes first, and what the thread waits for. */
	uint32_t first = (c->wait_ns != 0) + (c->waits_for != 0), len = first;
	const char *state = NULL;
	bool idle = false;
	int err = 0;

	if (c->kernel) {
		const struct tally_stack *kernel = &fill->tally->stacks.data[c->kernel - 1];

		err = want_places(fill, c->task, c->kernel - 1);
		if (err == 0)
			err = put_half(fill, c, c->kernel - 1, 0, kernel->frames_len, &len);
	}
	if (err == 0 && c->wait_ns)
		err = put_state(fill, c, first, len, &state);
	if (state && !fill->wait_kernel)
		len = first;
	if (err == 0 && c->user)
		err = want_places(fill, c->task, c->user - 1);
	if (err == 0 && c->user)
		err = put_user(fill, c, &len);
	if (err == 0 && state)
		idle = is_idle(fill, c, state, first, len);
	if (state && c->waits_for && !is_told(resource_of(fill, c), state, idle))
		drop_resource(fill, &len);
	if (err == 0)
		err = profile_stack(fill->profile, fill->frames, len, &sample->stack);
	return err < 0 ? err : put_labels(fill, c, idle, &sample->labels);
}

static int fill_counts(struct fill *fill)
{
	vec_each (&fill->tally->counts, c) {
		struct profile_sample *sample = vec_add(&fill->filled);
		int err = sample ? 0 : -ENOMEM;

		if (err == 0 && c->count > 0)
			err = fill_sample(fill, c, sample);
		if (err < 0)
			return err;
		sample->value = c->wait_ns ? c->wait_ns : c->count;
		sample->kind = c->wait_ns ? fill->wall : 0;
	}
	return 0;
}

/* Each tick is one of its count's. */
static int fill_ticks(struct fill *fill)
{
	const struct timeline *t = &fill->tally->timeline;

	for (size_t i = 0; i < t->due; i++) {
		const struct timeline_tick *tick = &t->ticks.data[i];
		struct profile_sample *sample = &fill->filled.data[tick->count];
		int err = profile_tick(
			fill->profile, sample->stack, sample->labels, tick->cpu, tick->time_ns);

		if (err < 0)
			return err;
		sample->value--;
	}
	fill->profile->ticks_dropped += t->dropped;
	return 0;
}

static int add_sample(
	struct fill *fill, const struct profile_sample *s, const struct tally_count *c)
{
	if (s->value == 0)
		return 0;
	if (c->until_ns > s->value)
		return profile_span(fill->profile, s->stack, s->labels, s->kind,
			c->until_ns - s->value, c->until_ns);
	return profile_add_kind(fill->profile, s->stack, s->labels, s->kind, s->value);
}

int fill_samples(struct fill *fill)
{
	int err = fill_counts(fill);

	if (err == 0)
		err = fill_ticks(fill);
	for (size_t i = 0; i < fill->filled.len && err == 0; i++)
		err = add_sample(fill, &fill->filled.data[i], &fill->tally->counts.data[i]);
	naming_count(fill->naming, fill->account);
	return err;
}

int fill_fit(struct fill *fill, uint64_t stored_max)
{
	const struct fit_accounts accounts = { fill->accounts.data, fill->accounts.len };
	const struct fit_limits limits = { PROFILE_TEXT_MAX, stored_max };
	struct fit_result fit;
	int err = profile_fit(fill->profile, &accounts, &limits, &fit);

	fill->account->names_cut += fit.names_cut;
	fill->account->samples_left_out += fit.samples_left_out;
	if (fit.largest != UINT32_MAX)
		why_set(&fill->note, 0,
			"%s: its stacks are more than its share of an interval's text: names of "
			"its rare stacks are left out",
			profile_label_text(fill->profile, fit.largest, PROFILE_KEY_CONTAINER));
	return err;
}

void fill_done(struct fill *fill)
{
	vec_done(&fill->accounts);
	vec_done(&fill->halves);
	vec_done(&fill->callers);
	hash_done(&fill->callers_index);
	vec_done(&fill->places);
	hash_done(&fill->labels);
	vec_done(&fill->filled);
}

/* ---- names --------------------------------------------------------------------------------------
 */

static int want_calls(
	struct fill *fill, const struct tally_task *task, const struct tally_stack *stack)
{
	uint32_t guess = guess_begin(fill->objects, fill->processes, task, stack);

	return guess < stack->frames_len ? calls_want(&fill->naming->calls, stack, guess)
					 : calls_want_root(&fill->naming->calls, stack);
}

static int want_half(struct fill *fill, uint32_t task_at, uint32_t stack_at, bool user)
{
	const struct tally_task *task = &fill->tally->tasks.data[task_at];
	const struct tally_stack *stack = &fill->tally->stacks.data[stack_at];
	bool again = fill->halves.data[stack_at].made;
	int err;

	if (stack->anon && !again)
		processes_add(fill->processes, task->key.tgid, task->key.start_ns);
	err = want_places(fill, task_at, stack_at);
	return err == 0 && user && !again ? want_calls(fill, task, stack) : err;
}

/* Most of the time is for names. */
static int resolve_calls(struct fill *fill)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), until_ns = fill->naming->until_ns;
	const struct calls_source source = {
		.objects = fill->objects,
		.worker = fill->naming->worker,
		.until_ns = now_ns < until_ns ? now_ns + (until_ns - now_ns) / CALLS_PART : now_ns,
		.account = fill->account,
	};

	return calls_resolve(&fill->naming->calls, &source);
}

static int make_halves(struct fill *fill)
{
	size_t len = fill->tally->stacks.len;
	int err = vec_reserve(&fill->halves, len);

	if (err < 0)
		return err;
	fill->halves.len = len;
	if (len > 0)
		memset(fill->halves.data, 0, len * sizeof(*fill->halves.data));
	return 0;
}

int fill_names(struct fill *fill)
{
	int err = make_halves(fill);

	calls_begin(&fill->naming->calls);
	vec_each (&fill->tally->counts, c) {
		if (c->count == 0)
			continue;
		if (c->kernel && err == 0)
			err = want_half(fill, c->task, c->kernel - 1, false);
		if (c->user && err == 0)
			err = want_half(fill, c->task, c->user - 1, true);
	}
	/* While samples are taken nothing waits for the network: what comes later names later ones.
	 */
	if (fill->last)
		objects_await_fetched(fill->naming->objects);
	if (err == 0)
		err = resolve_calls(fill);
	return err < 0 ? err : naming_resolve(fill->naming);
}
