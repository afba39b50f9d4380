/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames of a raw stack are proven: objects and processes are the test's. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "agent/guess.h"
#include "files/objects.h"
#include "files/processes.h"
#include "wire/status.h"

enum { LIBC = 1, NODE, ASSEMBLY, JVM, FORGOTTEN };

#define JVM_PID 7U
#define JVM_KEEPS_PID 8U

struct object *objects_find(struct objects *objects, uint32_t id)
{
	static struct object known[] = {
		[LIBC] = { .contents = WORKER_HAS_SYMBOLS },
		[NODE] = { .contents = WORKER_HAS_SYMBOLS | WORKER_KEEPS_CHAIN },
		[ASSEMBLY] = { .contents = WORKER_KEEPS_CHAIN },
		[JVM] = { .contents = WORKER_IS_HOTSPOT },
	};

	(void)objects;
	return id < FORGOTTEN ? &known[id] : NULL;
}

uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	(void)processes, (void)start_ns;
	return tgid;
}

bool processes_preserve_fp(const struct processes *processes, uint64_t id)
{
	(void)processes;
	return id == JVM_KEEPS_PID;
}

#define IN(object) \
	((uint64_t)FRAME_FILE << FRAME_KIND_SHIFT | (uint64_t)(object) << FRAME_OBJECT_SHIFT)
#define JIT ((uint64_t)FRAME_ANON << FRAME_KIND_SHIFT | 0x7000)
#define CHAIN FRAME_BY_CHAIN
#define GUESS FRAME_BY_GUESS
#define FRAMES 7

static const struct {
	const char *what;
	uint64_t frames[FRAMES]; /* leaf first; 0: no more */
	uint32_t tgid, begin;
} rows[] = {
	{ "rules alone", { IN(LIBC), IN(LIBC), IN(LIBC) }, 0, 3 },
	{ "a leaf", { JIT }, 0, 1 },
	{ "a word of the stack", { IN(LIBC), IN(LIBC), IN(LIBC) | GUESS, IN(LIBC) }, 0, 2 },
	{ "a chain in no runtime's code", { JIT, JIT | CHAIN, IN(LIBC) | CHAIN, IN(LIBC) }, 0, 1 },
	{ "Node's chain", { IN(LIBC), JIT, IN(NODE) | CHAIN, IN(NODE) | CHAIN, IN(NODE) }, 0, 5 },
	{ "Node's chain, twice", { JIT, IN(NODE) | CHAIN, IN(NODE), JIT, IN(NODE) | CHAIN }, 0, 5 },
	{ "Node's second chain leads to another file",
		{ JIT, IN(NODE) | CHAIN, IN(NODE), JIT, IN(LIBC) | CHAIN, IN(NODE) }, 0, 4 },
	{ "Node's chain to a word that no call precedes",
		{ JIT, JIT | CHAIN | GUESS, IN(NODE) | CHAIN, IN(NODE) }, 0, 1 },
	{ "Node's chain, after a word of the stack", { JIT, JIT | GUESS, IN(NODE) | CHAIN }, 0, 1 },
	{ "Node's chain that does not reach Node", { JIT, JIT | CHAIN, JIT | CHAIN }, 0, 1 },
	{ "a chain through a library without rows to Node",
		{ IN(LIBC), IN(LIBC) | CHAIN, IN(NODE) | CHAIN, IN(NODE) }, 0, 1 },
	{ "a chain through a file that is not known any more",
		{ IN(FORGOTTEN), IN(NODE) | CHAIN, IN(NODE) }, 0, 1 },
	{ "CoreCLR's chain through an assembly",
		{ IN(ASSEMBLY), JIT | CHAIN, IN(ASSEMBLY) | CHAIN, IN(NODE) | CHAIN }, 0, 4 },
	{ "a JVM that was not asked", { JIT, JIT | CHAIN, IN(JVM) | CHAIN, IN(JVM) }, JVM_PID, 1 },
	{ "a JVM that was asked", { JIT, JIT | CHAIN, IN(JVM) | CHAIN, IN(JVM) }, JVM_KEEPS_PID,
		4 },
	{ "a JVM's interpreter, which returns to where no call is",
		{ JIT, JIT | CHAIN | GUESS, IN(JVM) | CHAIN }, JVM_KEEPS_PID, 3 },
};

static void frames_are_proven_up_to_the_first_step_that_nothing_proves(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t frames[FRAMES];
		struct tally_task task = { .key.tgid = rows[i].tgid };
		struct tally_stack stack = { .frames = frames };
		uint32_t begin;

		memcpy(frames, rows[i].frames, sizeof(frames));
		while (stack.frames_len < FRAMES && frames[stack.frames_len])
			stack.frames_len++;
		begin = guess_begin(NULL, NULL, &task, &stack);
		if (begin != rows[i].begin)
			fail_msg(
				"%s: %u proven frames, not %u", rows[i].what, begin, rows[i].begin);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_proven_up_to_the_first_step_that_nothing_proves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
