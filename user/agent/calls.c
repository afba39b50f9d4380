/* SPDX-License-Identifier: Apache-2.0 */
/* agent/calls.c - a pair is asked of the caller's file first. If the call leaves that file by a
 * name, or there is no call and the callee may return from a signal, the callee's file is asked
 * too. Answers are kept by pair: a file keeps its id, and its code. */
#include "agent/calls.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/account.h"
#include "files/objects.h"
#include "base/own.h"
#include "client/calls.h"

#define OBJECT_OF(frame) ((uint32_t)(((frame)&FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT))
#define OFFSET_OF(frame) ((frame)&FRAME_OFFSET_MASK)

void calls_done(struct calls *calls)
{
	hash_done(&calls->known);
	vec_done(&calls->wanted);
	vec_done(&calls->queries);
	vec_done(&calls->answers);
}

static bool is_in_file(uint64_t frame)
{
	return FRAME_KIND(frame) == FRAME_FILE;
}

static struct calls_pair pair_of(const struct tally_stack *stack, uint32_t caller)
{
	struct calls_pair pair = {
		.caller = stack->frames[caller] & ~FRAME_HOW_MASK,
		.callee = stack->frames[caller - 1] & ~FRAME_HOW_MASK,
	};

	if (!is_in_file(pair.callee))
		pair.callee &= ~FRAME_PAYLOAD_MASK;
	return pair;
}

static uint64_t key_of(const struct calls_pair *pair)
{
	const uint64_t both[] = { pair->caller, pair->callee };

	return hash_bytes(both, sizeof(both));
}

void calls_begin(struct calls *calls)
{
	if (calls->known.len >= CALLS_KNOWN_MAX)
		hash_clear(&calls->known);
	calls->wanted.len = 0;
}

int calls_want(struct calls *calls, const struct tally_stack *stack, uint32_t from)
{
	for (uint32_t i = from; i < stack->frames_len; i++) {
		struct calls_pair pair = pair_of(stack, i), *wanted;
		uint64_t key = key_of(&pair);

		/* Below the mark is not what this frame has called. */
		if (FRAME_KIND(stack->frames[i - 1]) == FRAME_CODE)
			continue;
		if (!is_in_file(pair.caller) || hash_find(&calls->known, key))
			continue;
		if (calls->known.len >= CALLS_KNOWN_MAX) {
			calls->refused++;
			continue;
		}
		wanted = vec_add(&calls->wanted);
		/* Known from here on, so that it is wanted once. */
		if (!wanted || hash_put(&calls->known, key, ELF_CALL_POSSIBLE) < 0)
			return -ENOMEM;
		*wanted = pair;
	}
	return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Can the callee's file say more? */
static bool needs_callee(const struct calls_pair *pair)
{
	return pair->done && (pair->verdict == ELF_CALL_LEAVES || pair->verdict == ELF_CALL_NONE) &&
		is_in_file(pair->callee) && OBJECT_OF(pair->callee) != OBJECT_OF(pair->caller);
}

static int by_caller(const void *a, const void *b)
{
	const struct calls_pair *x = a, *y = b;

	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

/* First those that need it. */
static int by_callee(const void *a, const void *b)
{
	const struct calls_pair *x = a, *y = b;

	if (needs_callee(x) != needs_callee(y))
		return needs_callee(x) ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static struct elf_call_query ask_caller(const struct calls_pair *pair)
{
	struct elf_call_query query = {
		.kind = ELF_CALL_RETURN,
		.from = OFFSET_OF(pair->caller),
		.to = ELF_CALL_NO_FILE,
	};

	if (is_in_file(pair->callee))
		query.to = OBJECT_OF(pair->callee) == OBJECT_OF(pair->caller)
			? OFFSET_OF(pair->callee)
			: ELF_CALL_OUTSIDE;
	return query;
}

static struct elf_call_query ask_callee(const struct calls_pair *pair)
{
	return (struct elf_call_query){
		.kind = pair->verdict == ELF_CALL_NONE ? ELF_CALL_SIGNAL : ELF_CALL_ENTRY,
		.from = pair->name,
		.to = OFFSET_OF(pair->callee),
	};
}

/* Pairs of one file, the callee's or the caller's. */
static int ask_object(struct calls *calls, const struct calls_source *source, bool callee,
	struct calls_pair *pairs, size_t len)
{
	uint32_t id = OBJECT_OF(callee ? pairs->callee : pairs->caller);
	const struct object *object = objects_find(source->objects, id);
	struct worker_calls asked = { .id = id, .len = len, .until_ns = source->until_ns };
	enum worker_status status = WORKER_DOWN;

	if (vec_reserve(&calls->queries, len) < 0 || vec_reserve(&calls->answers, len) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		calls->queries.data[i] = callee ? ask_callee(&pairs[i]) : ask_caller(&pairs[i]);
	asked.queries = calls->queries.data;
	if (object && object->state == OBJECT_OPENED) {
		asked.fd = object->fd;
		status = worker_client_calls(source->worker, &asked, calls->answers.data);
	}
	for (size_t i = 0; i < len; i++) {
		pairs[i].done = status < WORKER_STATUSES_SENT;
		pairs[i].verdict = ELF_CALL_POSSIBLE;
		if (status != WORKER_OK)
			continue;
		pairs[i].verdict = (uint8_t)calls->answers.data[i].verdict;
		pairs[i].name = calls->answers.data[i].name;
	}
	return 0;
}

static int ask_all(struct calls *calls, const struct calls_source *source, bool callee)
{
	struct calls_pair *all = calls->wanted.data;
	size_t len = calls->wanted.len, begin = 0, end;
	int err = 0;

	qsort(all, len, sizeof(*all), callee ? by_callee : by_caller);
	while (err == 0 && begin < len && (!callee || needs_callee(&all[begin]))) {
		uint64_t first = callee ? all[begin].callee : all[begin].caller;

		for (end = begin; end < len && (!callee || needs_callee(&all[end])); end++)
			if (OBJECT_OF(callee ? all[end].callee : all[end].caller) !=
				OBJECT_OF(first))
				break;
		err = ask_object(calls, source, callee, &all[begin], end - begin);
		begin = end;
	}
	return err;
}

/* Code in no file, such as a JIT's, may be entered in ways of its own. */
static enum elf_call_verdict verdict_of(const struct calls_pair *pair)
{
	if (pair->verdict == ELF_CALL_NONE && is_in_file(pair->callee))
		return ELF_CALL_NONE;
	return pair->verdict == ELF_CALL_IMPOSSIBLE ? ELF_CALL_IMPOSSIBLE : ELF_CALL_POSSIBLE;
}

/* A pair without an answer is not kept, so its next use asks again. */
static void keep(struct calls *calls, const struct calls_pair *pair, struct account *account)
{
	enum elf_call_verdict verdict = verdict_of(pair);

	if (!pair->done || hash_put(&calls->known, key_of(pair), verdict) < 0) {
		hash_del(&calls->known, key_of(pair));
		account->calls_unchecked++;
		return;
	}
	account->calls_checked++;
	account->calls_impossible += verdict != ELF_CALL_POSSIBLE;
}

int calls_resolve(struct calls *calls, const struct calls_source *source)
{
	int err = 0;

	source->account->calls_unchecked += calls->refused;
	calls->refused = 0;
	if (calls->wanted.len == 0)
		return 0;
	err = ask_all(calls, source, false);
	if (err == 0)
		err = ask_all(calls, source, true);
	vec_each (&calls->wanted, pair)
		keep(calls, pair, source->account);
	calls->wanted.len = 0;
	return err;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* An outermost frame that a rule names as such needs no call: threads and coroutines begin there.
 */
static bool is_possible(const struct calls *calls, const struct tally_stack *stack, uint32_t caller)
{
	const struct calls_pair pair = pair_of(stack, caller);
	const uint64_t *verdict = hash_find(&calls->known, key_of(&pair));

	if (verdict && *verdict == ELF_CALL_NONE)
		return caller + 1 == stack->frames_len && stack->end == END_ROOT;
	return !verdict || *verdict != ELF_CALL_IMPOSSIBLE;
}

uint32_t calls_cut(const struct calls *calls, const struct tally_stack *stack, uint32_t from)
{
	uint32_t at = from;

	while (at < stack->frames_len && is_possible(calls, stack, at))
		at++;
	if (at >= stack->frames_len)
		return stack->frames_len;
	while (at > from && !(stack->frames[at] & FRAME_HOW_MASK))
		at--;
	return at;
}

static bool has_root_pair(const struct tally_stack *stack)
{
	return stack->end == END_ROOT && stack->frames_len >= 2;
}

int calls_want_root(struct calls *calls, const struct tally_stack *stack)
{
	return has_root_pair(stack) ? calls_want(calls, stack, stack->frames_len - 1) : 0;
}

uint32_t calls_cut_root(const struct calls *calls, const struct tally_stack *stack)
{
	bool possible = !has_root_pair(stack) || is_possible(calls, stack, stack->frames_len - 1);

	return possible ? stack->frames_len : stack->frames_len - 1;
}
