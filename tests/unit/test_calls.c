/* SPDX-License-Identifier: Apache-2.0 */
/* Guessed stacks end where a pair of caller and callee is impossible. The test plays the worker.
 * LINK: -Wl,--wrap=objects_find,--wrap=worker_client_calls */
#include "unit.h"

#include <string.h>

#include "agent/account.h"
#include "agent/calls.h"
#include "base/own.h"
#include "client/calls.h"

#define FRAME(object, offset)                                                                  \
	((uint64_t)FRAME_FILE << FRAME_KIND_SHIFT | (uint64_t)(object) << FRAME_OBJECT_SHIFT | \
		(offset))
#define JIT(address) ((uint64_t)FRAME_ANON << FRAME_KIND_SHIFT | (address))
#define GUESS FRAME_BY_GUESS
#define CHAIN FRAME_BY_CHAIN
#define QUERIES_MAX 64

/* What the worker is asked, by file, and what it replies: a query whose `from` is a multiple of 16
 * is possible, else its lowest bits are the verdict. */
static struct {
	enum worker_status status;
	uint64_t ids[QUERIES_MAX];
	struct elf_call_query queries[QUERIES_MAX];
	size_t len, batches;
	struct elf_call entry; /* of ELF_CALL_ENTRY and ELF_CALL_SIGNAL */
} worker;

struct object *__wrap_objects_find(struct objects *objects, uint32_t id);
enum worker_status __wrap_worker_client_calls(
	struct worker_client *client, const struct worker_calls *calls, struct elf_call *out);

struct object *__wrap_objects_find(struct objects *objects, uint32_t id)
{
	static struct object object;

	(void)objects;
	object = (struct object){ .id = id, .state = id == 9 ? OBJECT_FAILED : OBJECT_OPENED };
	return id == 8 ? NULL : &object;
}

enum worker_status __wrap_worker_client_calls(
	struct worker_client *client, const struct worker_calls *calls, struct elf_call *out)
{
	(void)client;
	worker.batches++;
	for (size_t i = 0; i < calls->len; i++) {
		assert_true(worker.len < QUERIES_MAX);
		worker.ids[worker.len] = calls->id;
		worker.queries[worker.len++] = calls->queries[i];
		out[i] = worker.entry;
		if (calls->queries[i].kind == ELF_CALL_RETURN)
			out[i] = (struct elf_call){ .verdict = calls->queries[i].from & 3,
				.name = 7 };
	}
	return worker.status;
}

struct host {
	struct calls calls;
	struct account account;
};

static int setup(void **state)
{
	static struct host host;

	memset(&worker, 0, sizeof(worker));
	host = (struct host){ 0 };
	*state = &host;
	return 0;
}

static int teardown(void **state)
{
	struct host *host = *state;

	calls_done(&host->calls);
	return 0;
}

static void resolve(struct host *host, const struct tally_stack *stack, uint32_t from)
{
	const struct calls_source source = { .account = &host->account };

	calls_begin(&host->calls);
	assert_int_equal(calls_want(&host->calls, stack, from), 0);
	assert_int_equal(calls_resolve(&host->calls, &source), 0);
}

#define STACK(all, how_it_ends) \
	((struct tally_stack){  \
		.frames = (all), .frames_len = ARRAY_SIZE(all), .end = (how_it_ends) })

static void a_stack_is_cut_below_the_guess_that_led_to_an_impossible_pair(void **state)
{
	static const struct {
		uint64_t frames[5];
		uint8_t end;
		uint32_t from, cut;
	} rows[] = {
		/* all possible */
		{ { FRAME(1, 0), FRAME(1, 16) | GUESS, FRAME(1, 32), FRAME(1, 48), FRAME(1, 64) },
			END_ROOT, 1, 5 },
		/* the guess itself */
		{ { FRAME(1, 0), FRAME(1, 17) | GUESS, FRAME(1, 32), FRAME(1, 48), FRAME(1, 64) },
			END_ROOT, 1, 1 },
		/* a step by rule, out of a guess */
		{ { FRAME(1, 0), FRAME(1, 16), FRAME(1, 32) | GUESS, FRAME(1, 48), FRAME(1, 65) },
			END_ROOT, 2, 2 },
		/* the later one of two guesses */
		{ { FRAME(1, 0), FRAME(1, 16) | GUESS, FRAME(1, 32), FRAME(1, 48) | CHAIN,
			  FRAME(1, 65) },
			END_DEPTH, 1, 3 },
		/* no call */
		{ { FRAME(1, 0), FRAME(1, 16) | CHAIN, FRAME(1, 34), FRAME(1, 48), FRAME(1, 64) },
			END_ROOT, 1, 1 },
		/* the outermost frame needs none, if a rule says that it is outermost */
		{ { FRAME(1, 0), FRAME(1, 16) | GUESS, FRAME(1, 32), FRAME(1, 48), FRAME(1, 66) },
			END_ROOT, 1, 5 },
		{ { FRAME(1, 0), FRAME(1, 16) | GUESS, FRAME(1, 32), FRAME(1, 48), FRAME(1, 66) },
			END_DEPTH, 1, 1 },
		/* what is below the first guess is not asked for */
		{ { FRAME(1, 0), FRAME(1, 17), FRAME(1, 33), FRAME(1, 49), FRAME(1, 64) | GUESS },
			END_ROOT, 4, 5 },
		/* callers without a file are not, and callees without one need no call */
		{ { FRAME(1, 0), JIT(17) | CHAIN, FRAME(1, 34), JIT(49), FRAME(1, 64) }, END_ROOT,
			1, 5 },
		{ { FRAME(1, 0), JIT(17) | CHAIN, FRAME(1, 33), JIT(49), FRAME(1, 64) }, END_ROOT,
			1, 1 },
		/* files that are gone */
		{ { FRAME(8, 0), FRAME(8, 17) | GUESS, FRAME(9, 33), FRAME(9, 49), FRAME(9, 65) },
			END_ROOT, 1, 5 },
	};
	struct host *host = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t frames[5];
		struct tally_stack stack = STACK(frames, rows[i].end);

		print_message("row %zu\n", i);
		memcpy(frames, rows[i].frames, sizeof(frames));
		calls_done(&host->calls);
		resolve(host, &stack, rows[i].from);
		assert_int_equal(calls_cut(&host->calls, &stack, rows[i].from), rows[i].cut);
	}
}

static void a_pair_is_asked_for_once_and_a_file_in_one_batch(void **state)
{
	uint64_t frames[] = { FRAME(1, 0), FRAME(2, 16) | GUESS, FRAME(1, 32), FRAME(1, 48),
		FRAME(2, 64), FRAME(2, 16), FRAME(1, 32) };
	struct tally_stack stack = STACK(frames, END_ROOT);
	struct host *host = *state;

	resolve(host, &stack, 1);
	assert_int_equal(worker.len, 5);
	assert_int_equal(worker.batches, 2);
	resolve(host, &stack, 1);
	assert_int_equal(worker.len, 5);
	assert_int_equal(host->account.calls_checked, 5);
	assert_int_equal(host->account.calls_impossible, 0);
}

static void a_worker_that_is_late_is_asked_again(void **state)
{
	uint64_t frames[] = { FRAME(1, 0), FRAME(1, 17) | GUESS };
	struct tally_stack stack = STACK(frames, END_ROOT);
	struct host *host = *state;

	worker.status = WORKER_LATE;
	resolve(host, &stack, 1);
	assert_int_equal(calls_cut(&host->calls, &stack, 1), 2);
	assert_int_equal(host->account.calls_unchecked, 1);
	worker.status = WORKER_OK;
	resolve(host, &stack, 1);
	assert_int_equal(calls_cut(&host->calls, &stack, 1), 1);
	assert_int_equal(host->account.calls_checked, 1);
	assert_int_equal(host->account.calls_impossible, 1);
}

static void a_file_that_cannot_be_read_is_asked_once(void **state)
{
	uint64_t frames[] = { FRAME(1, 0), FRAME(1, 17) | GUESS };
	struct tally_stack stack = STACK(frames, END_ROOT);
	struct host *host = *state;

	worker.status = WORKER_DAMAGED;
	for (int i = 0; i < 2; i++) {
		resolve(host, &stack, 1);
		assert_int_equal(calls_cut(&host->calls, &stack, 1), 2);
	}
	assert_int_equal(worker.len, 1);
}

/* `from` 19 leaves its file, 18 has no call. */
static void the_callees_file_is_asked_where_the_call_leads_there(void **state)
{
	static const struct {
		uint64_t callee, caller;
		enum elf_call_kind kind; /* ELF_CALL_KINDS: it is not asked */
		enum elf_call_verdict reply;
		uint32_t cut;
	} rows[] = {
		{ FRAME(2, 5), FRAME(1, 19), ELF_CALL_ENTRY, ELF_CALL_POSSIBLE, 2 },
		{ FRAME(2, 5), FRAME(1, 19), ELF_CALL_ENTRY, ELF_CALL_IMPOSSIBLE, 1 },
		{ FRAME(2, 5), FRAME(1, 18), ELF_CALL_SIGNAL, ELF_CALL_POSSIBLE, 2 },
		{ FRAME(2, 5), FRAME(1, 18), ELF_CALL_SIGNAL, ELF_CALL_NONE, 1 },
		{ FRAME(2, 5), FRAME(1, 17), ELF_CALL_KINDS, ELF_CALL_POSSIBLE, 1 },
		{ FRAME(1, 5), FRAME(1, 18), ELF_CALL_KINDS, ELF_CALL_POSSIBLE, 1 },
		{ JIT(5), FRAME(1, 18), ELF_CALL_KINDS, ELF_CALL_POSSIBLE, 2 },
		{ FRAME(9, 5), FRAME(1, 19), ELF_CALL_KINDS, ELF_CALL_POSSIBLE, 2 },
	};
	struct host *host = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t frames[] = { rows[i].callee, rows[i].caller | GUESS };
		struct tally_stack stack = STACK(frames, END_DEPTH);

		print_message("row %zu\n", i);
		calls_done(&host->calls);
		worker.len = 0;
		worker.entry.verdict = rows[i].reply;
		resolve(host, &stack, 1);
		assert_int_equal(worker.len, rows[i].kind == ELF_CALL_KINDS ? 1 : 2);
		if (worker.len == 2) {
			assert_int_equal(worker.ids[1], 2);
			assert_int_equal(worker.queries[1].kind, rows[i].kind);
			assert_int_equal(worker.queries[1].from, 7);
			assert_int_equal(worker.queries[1].to, 5);
		}
		assert_int_equal(calls_cut(&host->calls, &stack, 1), rows[i].cut);
	}
}

static void the_query_says_where_the_callee_is(void **state)
{
	uint64_t frames[] = { FRAME(1, 5), FRAME(1, 16) | GUESS, FRAME(2, 32), JIT(3),
		FRAME(3, 48) };
	struct tally_stack stack = STACK(frames, END_ROOT);
	struct host *host = *state;

	resolve(host, &stack, 1);
	assert_int_equal(worker.len, 3);
	assert_int_equal(worker.queries[0].to, 5);
	assert_int_equal(worker.queries[1].to, ELF_CALL_OUTSIDE);
	assert_int_equal(worker.queries[2].to, ELF_CALL_NO_FILE);
}

static void a_full_table_takes_no_more_and_is_emptied(void **state)
{
	uint64_t frames[] = { FRAME(1, 0), FRAME(1, 17) | GUESS };
	struct tally_stack stack = STACK(frames, END_ROOT);
	struct host *host = *state;

	calls_begin(&host->calls);
	for (uint64_t i = 0; i < CALLS_KNOWN_MAX; i++)
		assert_int_equal(hash_put(&host->calls.known, i, ELF_CALL_POSSIBLE), 0);
	assert_int_equal(calls_want(&host->calls, &stack, 1), 0);
	assert_int_equal(host->calls.wanted.len, 0);
	resolve(host, &stack, 1);
	assert_int_equal(host->account.calls_unchecked, 1);
	assert_int_equal(host->account.calls_checked, 1);
	assert_int_equal(calls_cut(&host->calls, &stack, 1), 1);
}

static void without_a_guess_the_outermost_pair_alone_is_checked(void **state)
{
	static const struct {
		uint64_t frames[3];
		uint8_t end;
		uint32_t cut;
	} rows[] = {
		{ { FRAME(1, 0), FRAME(1, 16), FRAME(1, 32) }, END_ROOT, 3 },
		{ { FRAME(1, 0), FRAME(1, 16), FRAME(1, 33) }, END_ROOT, 2 },
		{ { FRAME(1, 0), FRAME(1, 17), FRAME(1, 32) }, END_ROOT, 3 },
		{ { FRAME(1, 0), FRAME(1, 16), FRAME(1, 34) }, END_ROOT, 3 },
		{ { FRAME(1, 0), FRAME(1, 16), FRAME(1, 33) }, END_DEPTH, 3 },
	};
	struct host *host = *state;
	const struct calls_source source = { .account = &host->account };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t frames[3];
		struct tally_stack stack = STACK(frames, rows[i].end);

		memcpy(frames, rows[i].frames, sizeof(frames));
		calls_begin(&host->calls);
		assert_int_equal(calls_want_root(&host->calls, &stack), 0);
		assert_int_equal(calls_resolve(&host->calls, &source), 0);
		assert_int_equal(calls_cut_root(&host->calls, &stack), rows[i].cut);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_stack_is_cut_below_the_guess_that_led_to_an_impossible_pair),
		TEST(a_pair_is_asked_for_once_and_a_file_in_one_batch),
		TEST(a_worker_that_is_late_is_asked_again),
		TEST(a_file_that_cannot_be_read_is_asked_once),
		TEST(the_callees_file_is_asked_where_the_call_leads_there),
		TEST(the_query_says_where_the_callee_is),
		TEST(a_full_table_takes_no_more_and_is_emptied),
		TEST(without_a_guess_the_outermost_pair_alone_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
