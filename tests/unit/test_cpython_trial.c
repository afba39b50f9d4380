/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpython_trial.c - a table is right for memory that looks as it says, of each shape that
 * versions have, and wrong for memory that does not. What a process may have there in its place is
 * no end of reading. */
#include "unit.h"

#include "base/own.h"
#include "language/cpython.h"
#include "language/cpython_trial.h"

#define BASE 0x10000UL
#define SIZE 0x4000UL
#define RUNTIME 0x100
#define CODE_TYPE 0x80
#define STR_TYPE 0x40
#define ROUNDS_MAX 1000

/* Where things are in the memory, from BASE on. */
enum at {
	AT_INTERPRETER = 0x1000,
	AT_THREAD = 0x1400,
	AT_SELF = 0x1800,
	AT_LINK = 0x1900,
	AT_FRAMES = 0x2000, /* 0x100 apart */
	AT_CODE = 0x2800,
	AT_NAME = 0x3000,
	AT_FILE = 0x3100,
};

static uint8_t memory[SIZE];
static struct language language;

static void put(uint64_t at, uint64_t word)
{
	memcpy(memory + at, &word, sizeof(word));
}

static void put_text(uint64_t at, const char *text)
{
	put(at + 8, BASE + STR_TYPE);
	put(at + 16, strlen(text));
	put(at + 32, (1 | 8 | 16) << language.text_shift); /* a byte wide, compact, ASCII */
	memcpy(memory + at + language.text_ascii, text, strlen(text) + 1);
}

static uint64_t frame_at(uint32_t i)
{
	return AT_FRAMES + 0x100 * i;
}

/* Frames, the leaf first; from 3.12 on the last is a shim. */
static void put_frames(uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		bool shim = language.segment_end == SEGMENT_SHIM && i == len - 1;

		put(frame_at(i) + language.frame_code, shim ? 0 : BASE + AT_CODE);
		put(frame_at(i) + language.frame_previous,
			i + 1 < len ? BASE + frame_at(i + 1) : 0);
		if (language.place_kind == PLACE_ADDRESS)
			put(frame_at(i) + language.frame_place,
				BASE + AT_CODE + language.code_first + 8);
		memory[frame_at(i) + language.frame_end] = shim ? 3 : i == len - 1;
	}
}

static void put_process(uint32_t version)
{
	const struct cpython_facts facts = {
		.version = version, .runtime = RUNTIME, .code_type = CODE_TYPE
	};

	memset(memory, 0, sizeof(memory));
	assert_true(cpython_describe(&facts, &language));
	put(RUNTIME + language.interpreters, BASE + AT_INTERPRETER);
	put(AT_INTERPRETER + language.threads, BASE + AT_THREAD);
	put(AT_SELF, BASE + AT_SELF);
	put(AT_THREAD + language.thread_id, BASE + AT_SELF);
	if (language.thread_frame)
		put(AT_THREAD + language.thread_frame, BASE + AT_FRAMES);
	if (language.thread_link)
		put(AT_THREAD + language.thread_link, BASE + AT_LINK);
	put(AT_LINK + language.link_frame, BASE + AT_FRAMES);
	put_frames(4);
	put(AT_CODE + 8, BASE + CODE_TYPE);
	put(AT_CODE + language.code_window + language.code_name, BASE + AT_NAME);
	put(AT_CODE + language.code_window + language.code_file, BASE + AT_FILE);
	put_text(AT_NAME, "function");
	put_text(AT_FILE, "/srv/app/module.py");
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word = 0;

	if (address >= BASE && address - BASE <= SIZE - sizeof(word))
		memcpy(&word, memory + address - BASE, sizeof(word));
	return word;
}

static enum cpython_verdict try_it(void)
{
	struct cpython_trial trial = { .language = &language, .base = BASE };
	enum cpython_verdict verdict = CPYTHON_TRIAL_MORE;

	for (int i = 0; i < ROUNDS_MAX && verdict == CPYTHON_TRIAL_MORE; i++) {
		uint64_t addresses[CPYTHON_TRIAL_WORDS_MAX], words[CPYTHON_TRIAL_WORDS_MAX];
		uint32_t len = cpython_trial_wants(&trial, addresses);

		assert_in_range(len, 1, CPYTHON_TRIAL_WORDS_MAX);
		for (uint32_t n = 0; n < len; n++)
			words[n] = word_at(addresses[n]);
		verdict = cpython_trial_takes(&trial, words);
	}
	return verdict;
}

static void each_built_in_table_is_right_for_its_own_memory(void **state)
{
	(void)state;
	for (uint32_t version = 8; version <= 12; version++) {
		put_process(version);
		if (try_it() != CPYTHON_TRIAL_RIGHT)
			fail_msg("3.%u", version);
	}
}

static void and_wrong_for_that_of_others(void **state)
{
	(void)state;
	for (uint32_t version = 8; version <= 12; version++) {
		struct language other;

		for (uint32_t memory_of = 8; memory_of <= 12; memory_of++) {
			const struct cpython_facts facts = {
				.version = version, .runtime = RUNTIME, .code_type = CODE_TYPE
			};

			put_process(memory_of);
			assert_true(cpython_describe(&facts, &other));
			language = other;
			/* 3.8 and 3.9 differ in where the runtime keeps its key alone. */
			if ((try_it() == CPYTHON_TRIAL_RIGHT) !=
				(version == memory_of || version + memory_of == 17 ||
					(version < 11 && memory_of < 11)))
				fail_msg("3.%u for 3.%u", version, memory_of);
		}
	}
}

static void a_process_that_runs_nothing_yet_is_looked_at_again(void **state)
{
	(void)state;
	put_process(11);
	put(RUNTIME + language.interpreters, 0);
	assert_int_equal(try_it(), CPYTHON_TRIAL_EARLY);
	put_process(11);
	put(AT_INTERPRETER + language.threads, 0);
	assert_int_equal(try_it(), CPYTHON_TRIAL_EARLY);
	put_process(11);
	put(AT_LINK + language.link_frame, 0);
	assert_int_equal(try_it(), CPYTHON_TRIAL_EARLY);
	/* How frames are linked is not shown by one. */
	put_process(11);
	put_frames(1);
	assert_int_equal(try_it(), CPYTHON_TRIAL_EARLY);
	put_frames(2);
	assert_int_equal(try_it(), CPYTHON_TRIAL_RIGHT);
}

static void what_is_no_code_or_text_is_wrong(void **state)
{
	static const struct {
		uint64_t at, word;
	} rows[] = {
		{ AT_THREAD + 152, 0 },
		{ AT_THREAD + 152, BASE + AT_SELF + 4 },
		{ AT_FRAMES + 32, 0 },
		{ AT_FRAMES + 32, BASE + AT_FILE },
		{ AT_FRAMES + 56, 0 },              /* the place is in no code */
		{ AT_FRAMES + 68, 0x7f },           /* neither an entry nor none */
		{ AT_CODE + 8, BASE + CODE_TYPE + 8 },
		{ AT_CODE + 112, 0 },
		{ AT_CODE + 128, BASE + AT_CODE },
		{ AT_CODE + 72, 0xffffffff },       /* its first line */
		{ AT_NAME + 8, 0 },                 /* its type, */
		{ AT_NAME + 8, BASE },              /* which is that of its file's name */
		{ AT_NAME + 16, 0 },                /* its length */
		{ AT_NAME + 16, 7 },
		{ AT_NAME + 16, 1ULL << 40 },
		{ AT_NAME + 32, 0 },                /* its state */
		{ AT_NAME + 48, 0x6e01 },           /* its characters */
		{ AT_FRAMES + 0x100 + 32, BASE + AT_FILE }, /* the next frame's code */
		{ AT_FRAMES + 48, BASE + AT_FILE }, /* no frame */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put_process(11);
		put(rows[i].at, rows[i].word);
		if (try_it() != CPYTHON_TRIAL_WRONG)
			fail_msg("row %zu", i);
	}
}

static void chains_without_an_end_are_left(void **state)
{
	(void)state;
	/* Threads that run nothing, and lead to each other. */
	put_process(11);
	put(AT_LINK + language.link_frame, 0);
	put(AT_THREAD + language.thread_next, BASE + AT_THREAD);
	assert_int_equal(try_it(), CPYTHON_TRIAL_EARLY);
	/* A frame that is around itself. */
	put_process(11);
	put(AT_FRAMES + language.frame_previous, BASE + AT_FRAMES);
	assert_int_equal(try_it(), CPYTHON_TRIAL_RIGHT);
	/* Shims without end. */
	put_process(12);
	memory[AT_FRAMES + language.frame_end] = 3;
	put(AT_FRAMES + language.frame_previous, BASE + AT_FRAMES);
	assert_int_equal(try_it(), CPYTHON_TRIAL_WRONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_built_in_table_is_right_for_its_own_memory),
		cmocka_unit_test(and_wrong_for_that_of_others),
		cmocka_unit_test(a_process_that_runs_nothing_yet_is_looked_at_again),
		cmocka_unit_test(what_is_no_code_or_text_is_wrong),
		cmocka_unit_test(chains_without_an_end_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
