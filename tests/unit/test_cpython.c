/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpython.c - which version a file is, and where its frames are: by the table up to 3.12, by
 * its own words from 3.13 on. The words are those of Debian's builds. */
#include "unit.h"

#include <stdlib.h>

#include "base/own.h"
#include "language/cpython.h"
#include "make_elf_symbols.h"

#define DATA (MAKE_ELF_DATA_VADDR - MAKE_ELF_TEXT_VADDR)
#define DATA_OFFSET (MAKE_ELF_TEXT_OFFSET + MAKE_ELF_TEXT_SIZE / 2)
#define WORDS 81

static struct cpython_facts facts;
static struct language language;

static void put_word(struct make_elf *m, size_t at, uint64_t word)
{
	memcpy(m->file.data + DATA_OFFSET + at, &word, sizeof(word));
}

/* words: what _PyRuntime begins with; NULL: zeros. */
static bool find(uint32_t version, const uint64_t *words)
{
	struct make_elf m;
	struct image image;
	struct why why;
	bool found;

	make_elf_init(&m);
	make_elf_symbol(&m, "_PyRuntime", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		MAKE_ELF_DATA_INDEX, DATA, 64);
	make_elf_symbol(&m, "PyCode_Type", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		MAKE_ELF_DATA_INDEX, DATA + 0x40, 64);
	make_elf_symbol(&m, "_PyEval_EvalFrameDefault", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		MAKE_ELF_TEXT_INDEX, 0x100, 0x200);
	if (version > 0)
		make_elf_symbol(&m, "Py_Version", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			MAKE_ELF_TEXT_INDEX, 0x10, 4);
	make_elf_symtab(&m, ".dynsym", SHT_DYNSYM);
	make_elf_finish(&m);
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x10, &version, sizeof(version));
	for (size_t i = 0; words && i < WORDS; i++)
		put_word(&m, 8 * i, words[i]);
	assert_int_equal(image_init(&image, m.file.data, m.file.len, &why), 0);
	found = cpython_find(&image, &facts);
	image_done(&image);
	make_elf_done(&m);
	return found;
}

static uint32_t hex(uint32_t minor)
{
	return 3U << 24 | minor << 16 | 2U << 8 | 0xf0;
}

static void describe(uint64_t words[WORDS], uint32_t minor)
{
	memset(words, 0, WORDS * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = hex(minor);
}

/* What both versions have: the places of the words differ. */
static void put_words(uint64_t *words, const uint8_t *places, uint64_t owner, uint64_t first)
{
	const uint64_t values[CPYTHON_OFFSETS] = { 632, 7344, 8, 72, 152, 8, 0, 56, owner, 112, 128,
		136, 68, first, 40 };

	for (size_t i = 0; i < CPYTHON_OFFSETS; i++)
		words[places[i]] = values[i];
}

static const uint8_t places_13[] = { 5, 9, 21, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70 };
static const uint8_t places_14[] = { 5, 9, 24, 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80 };

static void a_version_is_what_the_file_says(void **state)
{
	(void)state;
	assert_true(find(hex(11), NULL));
	assert_int_equal(facts.version, 11);
	assert_int_equal(facts.runtime, DATA + MAKE_ELF_TEXT_OFFSET);
	assert_int_equal(facts.code_type, DATA + 0x40 + MAKE_ELF_TEXT_OFFSET);
	assert_int_equal(facts.eval_begin, MAKE_ELF_TEXT_OFFSET + 0x100);
	assert_int_equal(facts.eval_end, MAKE_ELF_TEXT_OFFSET + 0x300);
	assert_true(cpython_describe(&facts, &language));
	assert_int_equal(language.version, 11);
	assert_int_equal(language.segment_end, SEGMENT_ENTRY);
	/* Nobody says which. */
	assert_false(find(0, NULL));
	assert_true(find(hex(7), NULL));
	assert_false(cpython_describe(&facts, &language));
	assert_true(find(hex(99), NULL));
	assert_false(cpython_describe(&facts, &language));
}

static void a_file_that_describes_itself_is_believed(void **state)
{
	uint64_t words[WORDS];

	(void)state;
	describe(words, 13);
	put_words(words, places_13, 70, 200);
	assert_true(find(hex(13), words));
	assert_true(cpython_describe(&facts, &language));
	assert_int_equal(language.interpreters, 632);
	assert_int_equal(language.threads, 7344);
	assert_int_equal(language.thread_frame, 72);
	assert_int_equal(language.frame_end, 70);
	assert_int_equal(language.code_window, 16);
	assert_int_equal(language.code_first_line, 52);
	assert_int_equal(language.code_name, 112);
	assert_int_equal(language.code_first, 200);
	assert_int_equal(language.text_ascii, 40);
	assert_int_equal(language.text_other, 56);
	assert_int_equal(language.code_tag, 0);
	describe(words, 14);
	put_words(words, places_14, 74, 208);
	assert_true(find(hex(14), words));
	assert_true(cpython_describe(&facts, &language));
	assert_int_equal(language.frame_end, 74);
	assert_int_equal(language.code_first, 208);
	assert_int_equal(language.text_ascii, 40);
	assert_int_equal(language.code_tag, 3);
}

static void objects_have_a_larger_head_without_the_gil(void **state)
{
	uint64_t words[WORDS];

	(void)state;
	describe(words, 13);
	put_words(words, places_13, 70, 216);
	words[2] = 1;
	assert_true(find(hex(13), words));
	assert_true(cpython_describe(&facts, &language));
	assert_int_equal(language.object_extra, 16);
	assert_int_equal(language.frame_copy, 0);
	describe(words, 14);
	put_words(words, places_14, 78, 240);
	words[2] = 1;
	assert_true(find(hex(14), words));
	assert_true(cpython_describe(&facts, &language));
	assert_int_equal(language.object_extra, 16);
	assert_int_equal(language.code_copies, 232);
	assert_int_equal(language.frame_copy, 72);
	/* No version before has such builds. */
	facts.version = 12;
	assert_false(cpython_describe(&facts, &language));
}

static void one_that_describes_something_else_has_native_frames(void **state)
{
	static const struct {
		size_t word;
		uint64_t value;
	} rows[] = {
		{ 0, 0 },              /* no description */
		{ 1, 0x030e00f0 },     /* of 3.14 */
		{ 2, 2 },              /* neither with the GIL nor without it */
		{ 5, 1 << 16 },        /* too far */
		{ 29, 73 },            /* outside what is read of a frame */
		{ 33, 1000 },
		{ 35, 65536 - 8 },     /* and of a code */
		{ 39, 150 },
		{ 70, 200 },
	};
	uint64_t words[WORDS];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		describe(words, 13);
		put_words(words, places_13, 70, 200);
		words[rows[i].word] = rows[i].value;
		assert_true(find(hex(13), words));
		assert_false(cpython_describe(&facts, &language));
	}
}

/* A program with CPython in its own file has its own functions there. */
static void only_what_the_interpreter_calls_by_is_its_machinery(void **state)
{
	static const char *const machinery[] = { "main", "main.cold", "_PyEval_EvalFrameDefault",
		"_PyEval_EvalFrameDefault.cold", "_PyEval_Vector", "cfunction_vectorcall_NOARGS",
		"cfunction_call", "method_vectorcall", "method_vectorcall_O", "slot_tp_call",
		"wrap_call", "wrap_init", "vectorcall_method.constprop.0", "gen_send_ex2",
		"call_function.isra.0", "run_mod", "pymain_run_python.constprop.0",
		"partial_vectorcall_fallback", "lookup_maybe_method.part.0", "thread_run" };
	static const char *const others[] = { "main_loop", "mainloop", "maintain_cache",
		"wrap_request", "wrap_", "call_functions", "run_model", "thread_runner",
		"type_callback", "gen_sender", "partial_callback", "fast_function_table",
		"vectorcall_", "Py_MainLoop", "list_extend", "cfunction_table", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(machinery); i++)
		assert_true(cpython_runs_code(machinery[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(cpython_runs_code(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_is_what_the_file_says),
		cmocka_unit_test(a_file_that_describes_itself_is_believed),
		cmocka_unit_test(objects_have_a_larger_head_without_the_gil),
		cmocka_unit_test(one_that_describes_something_else_has_native_frames),
		cmocka_unit_test(only_what_the_interpreter_calls_by_is_its_machinery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
