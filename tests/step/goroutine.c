/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/goroutine.c - reads g and m. Only their first fields are used, which have been the
 * same since Go 1.4: stack.lo, stack.hi and, after four words more, m in g; g0 in m. The place of g
 * in the thread's data is that of programs whose only such variable it is. */
#include "goroutine.h"

#include <string.h>

#define TLS_G (-8)
#define G_M 48

static uint64_t word(const struct space *space, uint64_t addr)
{
	uint64_t value = 0;

	space_read(space, addr, &value, sizeof(value));
	return value;
}

bool goroutine_find(
	const struct space *space, uint64_t thread_base, uint64_t sp, struct goroutine *out)
{
	uint64_t g = word(space, thread_base + (uint64_t)TLS_G);
	uint64_t both[] = { g, word(space, word(space, g + G_M)) };

	for (int i = 0; i < 2; i++) {
		struct goroutine found = { both[i], word(space, both[i]),
			word(space, both[i] + 8) };

		if (found.g && sp >= found.low && sp < found.high) {
			*out = found;
			return true;
		}
	}
	return false;
}

static const char *function_at(struct space *space, uint64_t pc)
{
	const struct mapping *m = space_find(space, pc);
	uint64_t offset;

	if (!m || !m->object)
		return "?";
	return object_symbol(m->object, pc - m->start + m->file_offset, &offset);
}

static bool is_named(const char *name, const char *function)
{
	size_t len = strlen(function);

	return strncmp(name, function, len) == 0 &&
		(name[len] == '\0' || strcmp(name + len, ".abi0") == 0);
}

enum goroutine_change goroutine_change_at(struct space *space, uint64_t pc)
{
	const char *name = function_at(space, pc);

	if (is_named(name, "runtime.mcall"))
		return GOROUTINE_LEAVES;
	return is_named(name, "gogo") || is_named(name, "runtime.gogo") ? GOROUTINE_RESUMES
									: GOROUTINE_NESTS;
}

bool goroutine_is_left(struct space *space, const uint64_t *at, uint32_t len)
{
	static const char *const leaving[] = { "runtime.goschedImpl", "runtime.gopreempt_m",
		"runtime.preemptPark", "runtime.schedule" };

	if (len == 0 || !is_named(function_at(space, at[len - 1]), "runtime.morestack"))
		return false;
	for (uint32_t i = 0; i < len; i++)
		for (size_t k = 0; k < sizeof(leaving) / sizeof(*leaving); k++)
			if (is_named(function_at(space, at[i]), leaving[k]))
				return true;
	return false;
}
