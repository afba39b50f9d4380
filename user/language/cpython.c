/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython.c - a row of the table is one version, and holds for all its releases: a stable
 * branch of CPython changes no struct. A file's own description goes before: a build may have
 * another layout than the table's. */
#include "language/cpython.h"

#include <elf.h>
#include <string.h>

#include "elf/exports.h"

#define VERSION_FIRST 8
#define VERSION_DESCRIBED 13
#define TEXT_HEAD_MAX 128
#define CODE_WINDOW 16 /* after the head of an object */
#define FREE_THREADED_EXTRA 16 /* bytes more of the head */

/* Of codes, offsets from the window. */
#define CODE_38                                                                             \
	.code_window = CODE_WINDOW, .code_file = 104 - CODE_WINDOW,                   \
	.code_name = 112 - CODE_WINDOW, .code_lines = 120 - CODE_WINDOW,              \
	.code_first_line = 40 - CODE_WINDOW
#define CODE_311(first_line, first)                                                         \
	.code_window = CODE_WINDOW, .code_file = 112 - CODE_WINDOW,                 \
	.code_name = 128 - CODE_WINDOW, .code_lines = 136 - CODE_WINDOW,            \
	.code_first_line = (first_line) - CODE_WINDOW, .code_first = (first)
#define FRAME_38                                                                            \
	.frame_is_large = 1, .thread_frame = 24, .frame_code = 32, .frame_previous = 24,    \
	.segment_end = SEGMENT_EVERY
#define FRAME_312                                                                           \
	.frame_code = 0, .frame_previous = 8, .frame_place = 56, .frame_end = 70,           \
	.place_kind = PLACE_ADDRESS, .segment_end = SEGMENT_SHIM, .segment_value = 3
#define TEXT_38 .text_ascii = 48, .text_other = 72, .text_shift = 2
#define TEXT_312 .text_ascii = 40, .text_other = 56, .text_shift = 2
#define KEY_OF(key_struct) ((key_struct) + 4)

/* 3.13 and later describe the rest themselves. */
#define CODE_TAG_314 3

static const struct language layouts[] = {
	[8 - VERSION_FIRST] = { .interpreters = 32, .key = KEY_OF(1392), .current = 1368,
		.threads = 8, .thread_next = 8, .thread_id = 176, FRAME_38, .frame_place = 104,
		.place_kind = PLACE_BYTES, CODE_38, TEXT_38 },
	[9 - VERSION_FIRST] = { .interpreters = 32, .key = KEY_OF(584), .current = 568,
		.threads = 8, .thread_next = 8, .thread_id = 176, FRAME_38, .frame_place = 104,
		.place_kind = PLACE_BYTES, CODE_38, TEXT_38 },
	[10 - VERSION_FIRST] = { .interpreters = 32, .key = KEY_OF(584), .current = 568,
		.threads = 8, .thread_next = 8, .thread_id = 176, FRAME_38, .thread_link = 48,
		.link_previous = 8, .frame_place = 96, .place_kind = PLACE_UNITS, CODE_38,
		TEXT_38 },
	[11 - VERSION_FIRST] = { .interpreters = 40, .key = KEY_OF(592), .current = 576,
		.threads = 16, .thread_next = 8, .thread_id = 152, .thread_link = 56,
		.link_frame = 8, .link_previous = 16, .frame_code = 32, .frame_previous = 48,
		.frame_place = 56, .frame_end = 68, .place_kind = PLACE_ADDRESS,
		.segment_end = SEGMENT_ENTRY, .segment_value = 1, CODE_311(72, 184), TEXT_38 },
	[12 - VERSION_FIRST] = { .interpreters = 40, .key = KEY_OF(1544), .threads = 72,
		.thread_next = 8, .thread_id = 136, .thread_link = 56, .link_frame = 0, FRAME_312,
		CODE_311(68, 192), TEXT_312 },
	[13 - VERSION_FIRST] = { .key = KEY_OF(2160), FRAME_312, TEXT_312 },
	[14 - VERSION_FIRST] = { .key = KEY_OF(2336), FRAME_312, TEXT_312,
		.code_tag = CODE_TAG_314 },
};

#define LAYOUTS_LEN (sizeof(layouts) / sizeof(layouts[0]))

/* From 3.14 on each thread has copies of instructions. */
#define COPIES_BEFORE_FIRST 8
#define COPY_BEFORE_END 6

static bool describe_free_threaded(uint32_t version, struct language *out)
{
	static const uint16_t keys[] = {
		[13 - VERSION_DESCRIBED] = KEY_OF(2160),
		[14 - VERSION_DESCRIBED] = KEY_OF(2336),
	};

	if (version < VERSION_DESCRIBED ||
		version - VERSION_DESCRIBED >= sizeof(keys) / sizeof(keys[0]))
		return false;
	out->key = keys[version - VERSION_DESCRIBED];
	out->object_extra = FREE_THREADED_EXTRA;
	if (version == VERSION_DESCRIBED)
		return true;
	out->text_shift = 8;
	out->code_copies = out->code_first - COPIES_BEFORE_FIRST;
	out->frame_copy = out->frame_end - COPY_BEFORE_END;
	return out->code_first > COPIES_BEFORE_FIRST && out->frame_end > COPY_BEFORE_END;
}

static uint8_t in_window(const uint16_t *offsets, enum cpython_offset which, uint16_t window)
{
	return (uint8_t)(offsets[which] - window);
}

/* False: what is needed does not fit into the windows that BPF reads. */
static bool take_offsets(const uint16_t *o, uint16_t extra, struct language *out)
{
	static const enum cpython_offset of_frame[] = { CPYTHON_FRAME_PREVIOUS, CPYTHON_FRAME_CODE,
		CPYTHON_FRAME_PLACE };
	static const enum cpython_offset of_code[] = { CPYTHON_CODE_FILE, CPYTHON_CODE_NAME,
		CPYTHON_CODE_LINES, CPYTHON_CODE_FIRST_LINE };
	const uint16_t window = CODE_WINDOW + extra;

	for (size_t i = 0; i < sizeof(of_frame) / sizeof(of_frame[0]); i++)
		if (o[of_frame[i]] > LANGUAGE_FRAME_SMALL - sizeof(uint64_t))
			return false;
	if (o[CPYTHON_FRAME_END] >= LANGUAGE_FRAME_SMALL)
		return false;
	for (size_t i = 0; i < sizeof(of_code) / sizeof(of_code[0]); i++)
		if (o[of_code[i]] < window ||
			o[of_code[i]] - window > LANGUAGE_CODE_WINDOW - (int)sizeof(uint64_t))
			return false;
	if (o[CPYTHON_TEXT_ASCII] > TEXT_HEAD_MAX)
		return false;
	out->interpreters = o[CPYTHON_INTERPRETERS];
	out->threads = o[CPYTHON_THREADS];
	out->thread_next = o[CPYTHON_THREAD_NEXT];
	out->thread_frame = o[CPYTHON_THREAD_FRAME];
	out->thread_id = o[CPYTHON_THREAD_ID];
	out->frame_previous = (uint8_t)o[CPYTHON_FRAME_PREVIOUS];
	out->frame_code = (uint8_t)o[CPYTHON_FRAME_CODE];
	out->frame_place = (uint8_t)o[CPYTHON_FRAME_PLACE];
	out->frame_end = (uint8_t)o[CPYTHON_FRAME_END];
	out->code_window = window;
	out->code_file = in_window(o, CPYTHON_CODE_FILE, window);
	out->code_name = in_window(o, CPYTHON_CODE_NAME, window);
	out->code_lines = in_window(o, CPYTHON_CODE_LINES, window);
	out->code_first_line = in_window(o, CPYTHON_CODE_FIRST_LINE, window);
	out->code_first = o[CPYTHON_CODE_FIRST];
	out->text_ascii = (uint8_t)o[CPYTHON_TEXT_ASCII];
	out->text_other = (uint8_t)(o[CPYTHON_TEXT_ASCII] + 2 * sizeof(uint64_t));
	return true;
}

bool cpython_is_built_in(uint32_t version)
{
	return version >= VERSION_FIRST && version - VERSION_FIRST < LAYOUTS_LEN;
}

bool cpython_describe(const struct cpython_facts *facts, struct language *out)
{
	bool describes_itself = facts->offsets[CPYTHON_INTERPRETERS] != 0;
	const uint16_t extra = facts->free_threaded ? FREE_THREADED_EXTRA : 0;

	if (!cpython_is_built_in(facts->version))
		return false;
	*out = layouts[facts->version - VERSION_FIRST];
	if (describes_itself != (facts->version >= VERSION_DESCRIBED) ||
		(describes_itself && !take_offsets(facts->offsets, extra, out)))
		return false;
	if (facts->free_threaded && !describe_free_threaded(facts->version, out))
		return false;
	out->kind = LANGUAGE_CPYTHON;
	out->version = (uint8_t)facts->version;
	out->runtime = facts->runtime;
	out->code_type = facts->code_type;
	out->eval_begin = facts->eval_begin;
	out->eval_end = facts->eval_end;
	return true;
}

/* The name of a function without what the compiler puts after it, such as .constprop.0. */
static bool is_whole_name(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return strncmp(name, wanted, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* A program that has CPython in its own file has its own functions there, too: main_loop() is not
 * main(), so that a beginning is enough only where the interpreter alone uses it. */
bool cpython_runs_code(const char *name)
{
	static const char *const beginnings[] = {
		"PyEval_", "_PyEval", "_PyFrame_", "_PyThreadState_", "PyObject_Call",
		"_PyObject_Call", "PyObject_Vectorcall", "_PyObject_Vectorcall",
		"_PyObject_MakeTpCall", "_PyFunction_Vectorcall", "_PyVectorcall_",
		"PyVectorcall_", "PyCFunction_Call", "_PyObject_FastCall", "PyRun_", "_PyRun_",
		"pyrun_", "pymain_", "slot_tp_", "slot_nb_", "slot_sq_", "slot_mp_",
		"cfunction_vectorcall_", "cfunction_call", "method_vectorcall_",
	};
	static const char *const names[] = {
		"initialize_locals", "cfunction_enter_call", "method_vectorcall",
		"vectorcall_method", "vectorcall_maybe", "vectorcall_unbound", "object_vacall",
		"call_function", "call_unbound", "call_unbound_noarg", "lookup_maybe",
		"lookup_maybe_method", "function_code_fastcall", "fast_function", "builtin_exec",
		"builtin_exec_impl", "builtin_eval", "builtin_eval_impl", "run_eval_code_obj",
		"run_mod", "Py_RunMain", "Py_Main", "Py_BytesMain", "gen_send", "gen_send_ex",
		"gen_send_ex2", "gen_iternext", "type_call", "wrap_inquirypred", "wrap_binaryfunc",
		"wrap_binaryfunc_l", "wrap_binaryfunc_r", "wrap_ternaryfunc", "wrap_ternaryfunc_r",
		"wrap_unaryfunc", "wrap_lenfunc", "wrap_indexargfunc", "wrap_sq_item",
		"wrap_sq_setitem", "wrap_sq_delitem", "wrap_objobjproc", "wrap_objobjargproc",
		"wrap_delitem", "wrap_hashfunc", "wrap_call", "wrap_del", "wrap_next", "wrap_init",
		"wrap_descr_get", "wrap_descr_set", "wrap_descr_delete", "wrap_setattr",
		"wrap_delattr", "wrap_buffer", "wrap_releasebuffer", "wrapper_call",
		"partial_call", "partial_call_impl", "partial_vectorcall",
		"partial_vectorcall_fallback", "thread_run", "t_bootstrap", "pythread_wrapper",
		"do_call_core", "trace_call_function", "py_trampoline_evaluator", "main",
	};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_whole_name(name, names[i]))
			return true;
	return false;
}

/* ---- what a file exports --------------------------------------------------------------------- */

enum wanted { WANTED_RUNTIME, WANTED_CODE_TYPE, WANTED_EVAL, WANTED_VERSION, WANTED_LEN };

static const char *const wanted_names[WANTED_LEN] = {
	[WANTED_RUNTIME] = "_PyRuntime",
	[WANTED_CODE_TYPE] = "PyCode_Type",
	[WANTED_EVAL] = "_PyEval_EvalFrameDefault",
	[WANTED_VERSION] = "Py_Version",
};

/* The release as a file of 3.11 or later has it: major, minor and further numbers, a byte each. */
static uint32_t stated_release(const struct image *image, const struct symtab_entry *symbol)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);
	uint64_t offset;
	uint32_t hex;

	if (symbol->section == SHN_UNDEF ||
		!image_vaddr_to_offset(image, symbol->value, &offset))
		return 0;
	cursor_seek(&c, offset);
	hex = cursor_u32(&c);
	return !c.bad && hex >> 24 == 3 ? hex : 0;
}

/* ---- own descriptions: Include/internal/pycore_debug_offsets.h ------------------------------- */

#define COOKIE "xdebugpy"
#define WORDS_MAX 81

/* Numbers of words from the cookie on. */
static const uint8_t words_of[][CPYTHON_OFFSETS] = {
	[13 - VERSION_DESCRIBED] = { 5, 9, 21, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70 },
	[14 - VERSION_DESCRIBED] = { 5, 9, 24, 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80 },
};

static void read_description(
	const struct image *image, const struct symtab_entry *runtime, struct cpython_facts *out)
{
	struct cursor c = cursor_init(image->file.data, image->file.len);
	uint64_t offset, words[WORDS_MAX];
	uint32_t row = out->version - VERSION_DESCRIBED;

	if (out->version < VERSION_DESCRIBED ||
		!image_vaddr_to_offset(image, runtime->value, &offset))
		return;
	cursor_seek(&c, offset);
	for (size_t i = 0; i < WORDS_MAX; i++)
		words[i] = cursor_u64(&c);
	if (c.bad || memcmp(words, COOKIE, strlen(COOKIE)) != 0 ||
		(words[1] >> 16 & 0xff) != out->version || words[2] > 1)
		return;
	/* The first words are the same in all versions. */
	out->free_threaded = (uint16_t)words[2];
	if (row >= sizeof(words_of) / sizeof(words_of[0]))
		return;
	for (size_t i = 0; i < CPYTHON_OFFSETS; i++)
		if (words[words_of[row][i]] > UINT16_MAX)
			return;
	for (size_t i = 0; i < CPYTHON_OFFSETS; i++)
		out->offsets[i] = (uint16_t)words[words_of[row][i]];
}

#define SONAME "libpython3."

/* The version that follows these bytes. 0: none does. */
static uint32_t named_version(const struct bytes *text, const char *name, size_t len)
{
	const uint8_t *at = memmem(text->data, text->len, name, len);
	size_t left = at ? text->len - (size_t)(at - text->data) - len : 0;
	uint32_t version = 0;

	for (size_t i = 0; i < 2 && i < left; i++) {
		uint8_t digit = at[len + i];

		if (digit < '0' || digit > '9')
			break;
		version = version * 10 + (digit - '0');
	}
	return version;
}

/* An older library has it in its name, which is among its strings, and a program in the name of the
 * folder of its modules. */
static uint32_t older_version(struct image *image, const struct bytes *strings)
{
	static const char folder[] = "\0python3.";
	const struct image_section *section = image_section_find(image, ".rodata");
	uint32_t version = named_version(strings, SONAME, strlen(SONAME));
	struct bytes text;

	if (version == 0 && section && image_section_bytes(image, section, &text) == 0)
		version = named_version(&text, folder, sizeof(folder) - 1);
	return version;
}

bool cpython_find(struct image *image, struct cpython_facts *out)
{
	struct symtab_entry found[WANTED_LEN] = { 0 };
	const struct image_segment *text;
	uint64_t base;
	struct exports exports;

	*out = (struct cpython_facts){ 0 };
	if (!exports_init(&exports, image))
		return false;
	for (size_t i = 0; i < WANTED_LEN; i++)
		exports_find(&exports, wanted_names[i], &found[i]);
	for (size_t i = 0; i < WANTED_VERSION; i++)
		if (found[i].section == SHN_UNDEF)
			return false;
	text = image_vaddr_segment(image, found[WANTED_EVAL].value);
	if (!text)
		return false;
	out->release = stated_release(image, &found[WANTED_VERSION]);
	out->version = out->release >> 16 & 0xff;
	if (out->version == 0)
		out->version = older_version(image, &exports.symbols.strings);
	read_description(image, &found[WANTED_RUNTIME], out);
	base = text->vaddr - text->file_offset;
	out->runtime = (int64_t)(found[WANTED_RUNTIME].value - base);
	out->code_type = (int64_t)(found[WANTED_CODE_TYPE].value - base);
	out->eval_begin = found[WANTED_EVAL].value - base;
	out->eval_end = out->eval_begin + found[WANTED_EVAL].size;
	return out->version > 0;
}
