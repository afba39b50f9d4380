/* SPDX-License-Identifier: Apache-2.0 */
/* fakepython.c - a program that exports the names of CPython 3.11, and makes its structs by hand: a
 * chain of frames that is known, or one that no runtime has. Usage: fakepython [SECONDS [KIND]]
 *     whole       outer;middle below a native function, inner above it
 *     deep        2,000 frames that one native frame runs
 *     cycle       a frame is its own caller
 *     links       a link of the native stack is its own caller
 *     nowhere     all pointers lead to memory that there is not
 *     lengths     names of a terabyte, widths that there are not
 *     changing    a thread writes new pointers all the time
 *     many        each call is of new code
 *
 * BUILD: -O1 -g -rdynamic -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
 * BUILD: -fno-optimize-sibling-calls -pthread
 */
#include "burn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default"), used))
#define WORD(base, at) (*(volatile uint64_t *)((char *)(base) + (at)))
#define HALF(base, at) (*(volatile uint32_t *)((char *)(base) + (at)))

/* Offsets of CPython 3.11. */
enum {
	RUNTIME_INTERPRETERS = 40,
	RUNTIME_KEY = 596,
	INTERPRETER_THREADS = 16,
	THREAD_LINK = 56,
	THREAD_ID = 152,
	LINK_FRAME = 8,
	LINK_PREVIOUS = 16,
	FRAME_CODE = 32,
	FRAME_PREVIOUS = 48,
	FRAME_PLACE = 56,
	FRAME_IS_ENTRY = 68,
	CODE_TYPE = 8,
	CODE_FIRST_LINE = 72,
	CODE_FILE = 112,
	CODE_QUALNAME = 128,
	CODE_LINES = 136,
	CODE_FIRST = 184,
	TEXT_LENGTH = 16,
	TEXT_STATE = 32,
	TEXT_DATA = 48,
	BYTES_DATA = 32,
};

#define STATE_ASCII (1U << 2 | 1U << 5 | 1U << 6)
#define DEEP 2000
#define NOWHERE 0x123456789000ULL

EXPORTED char _PyRuntime[4096];
EXPORTED char PyCode_Type[512];
EXPORTED const uint32_t Py_Version = 0x030b02f0;

static char interpreter[256], thread[512];
static uint64_t deadline;
static const char *kind = "whole";

static bool is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

static void *text_of(const char *characters)
{
	char *text = calloc(1, TEXT_DATA + strlen(characters) + 1);

	WORD(text, TEXT_LENGTH) = is_kind("lengths") ? 1ULL << 40 : strlen(characters);
	HALF(text, TEXT_STATE) = is_kind("lengths") ? 7U << 2 | 1U << 5 : STATE_ASCII;
	strcpy(text + TEXT_DATA, characters);
	return text;
}

/* One line for all instructions: the one after the first. */
static void *lines_of(void)
{
	static const unsigned char table[] = { 0x80 | 13 << 3 | 7, 2 };
	char *bytes = calloc(1, BYTES_DATA + sizeof(table));

	WORD(bytes, TEXT_LENGTH) = is_kind("lengths") ? UINT64_MAX : sizeof(table);
	memcpy(bytes + BYTES_DATA, table, sizeof(table));
	return bytes;
}

static void *code_of(const char *name, uint32_t line)
{
	char *code = calloc(1, 512);

	WORD(code, CODE_TYPE) = (uint64_t)PyCode_Type;
	HALF(code, CODE_FIRST_LINE) = line;
	WORD(code, CODE_FILE) = (uint64_t)text_of("/app/fake.py");
	WORD(code, CODE_QUALNAME) = (uint64_t)text_of(name);
	WORD(code, CODE_LINES) = (uint64_t)lines_of();
	return code;
}

static void *frame_of(void *code, void *previous, bool is_entry)
{
	char *frame = calloc(1, 128);

	WORD(frame, FRAME_CODE) = is_kind("nowhere") ? NOWHERE : (uint64_t)code;
	WORD(frame, FRAME_PREVIOUS) = (uint64_t)previous;
	WORD(frame, FRAME_PLACE) = (uint64_t)code + CODE_FIRST + 4;
	((volatile char *)frame)[FRAME_IS_ENTRY] = is_entry;
	return frame;
}

/* ---- the native side ---- */

NOINLINE uint64_t spin_here(uint64_t x)
{
	return burn(x, 2000000);
}

NOINLINE uint64_t native_between(uint64_t x, void *frame);

/* Runs the frames from this one to the entry. The struct on its stack is the anchor. */
EXPORTED NOINLINE uint64_t _PyEval_EvalFrameDefault(uint64_t x, void *frame, void *inner)
{
	volatile uint64_t link[3] = { 0, (uint64_t)frame, WORD(thread, THREAD_LINK) };

	if (is_kind("links"))
		link[LINK_PREVIOUS / 8] = (uint64_t)link;
	WORD(thread, THREAD_LINK) = is_kind("nowhere") && !inner ? NOWHERE : (uint64_t)link;
	x = inner ? native_between(x, inner) : spin_here(x);
	WORD(thread, THREAD_LINK) = link[LINK_PREVIOUS / 8];
	return x + link[0];
}

NOINLINE uint64_t native_between(uint64_t x, void *frame)
{
	return _PyEval_EvalFrameDefault(x + 1, frame, NULL) + 1;
}

/* ---- chains ---- */

NOINLINE void run_two(void)
{
	void *outer = frame_of(code_of("outer", 10), NULL, true);
	void *middle = frame_of(code_of("Class.middle", 20), outer, false);
	void *inner = frame_of(code_of("inner", 30), middle, true);

	if (is_kind("cycle"))
		WORD(middle, FRAME_PREVIOUS) = (uint64_t)middle;
	if (is_kind("cycle"))
		((volatile char *)inner)[FRAME_IS_ENTRY] = 0;
	while (!is_past(deadline))
		_PyEval_EvalFrameDefault(1, middle, inner);
}

NOINLINE void run_deep(void)
{
	void *frame = frame_of(code_of("root", 1), NULL, true), *code = code_of("recurse", 10);

	for (int i = 0; i < DEEP; i++)
		frame = frame_of(i == DEEP - 1 ? code_of("leaf", 20) : code, frame, false);
	while (!is_past(deadline))
		_PyEval_EvalFrameDefault(1, frame, NULL);
}

NOINLINE void run_many(void)
{
	for (unsigned int i = 0; !is_past(deadline); i++) {
		char name[64];

		snprintf(name, sizeof(name), "new_code_%u_with_a_name_of_some_length", i);
		_PyEval_EvalFrameDefault(1, frame_of(code_of(name, i), NULL, true), NULL);
	}
}

static void *change(void *frame)
{
	uint64_t values[] = { 0, NOWHERE, (uint64_t)frame, (uint64_t)thread, 8, UINT64_MAX };

	for (unsigned int i = 0;; i++) {
		WORD(frame, 8 * (i % 16)) = values[i * 7 % 6];
		WORD(frame, FRAME_PREVIOUS) = (uint64_t)frame;
	}
	return NULL;
}

NOINLINE void run_changing(void)
{
	void *frame = frame_of(code_of("changing", 1), NULL, true);
	pthread_t other;

	if (pthread_create(&other, NULL, change, frame) != 0)
		exit(1);
	while (!is_past(deadline))
		_PyEval_EvalFrameDefault(1, frame, NULL);
}

int main(int argc, char **argv)
{
	pthread_key_t key;

	deadline = deadline_in(number_arg(argc, argv, 1, 60));
	kind = argc > 2 ? argv[2] : kind;
	if (pthread_key_create(&key, NULL) != 0 || pthread_setspecific(key, thread) != 0)
		return 1;
	HALF(_PyRuntime, RUNTIME_KEY) = key;
	WORD(_PyRuntime, RUNTIME_INTERPRETERS) = (uint64_t)interpreter;
	WORD(interpreter, INTERPRETER_THREADS) = (uint64_t)thread;
	WORD(thread, THREAD_ID) = (uint64_t)pthread_self();
	if (is_kind("deep"))
		run_deep();
	else if (is_kind("many"))
		run_many();
	else if (is_kind("changing"))
		run_changing();
	else
		run_two();
	return 0;
}
