/* SPDX-License-Identifier: Apache-2.0 */
/* test_jit_tier.c - tiers go, brackets that belong to a name stay. */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "jitmap/jit_tier.h"

static void known_tiers_are_stripped_and_nothing_else(void **state)
{
	static const struct {
		const char *name;
		const char *bare;
	} rows[] = {
		{ "void [Work] Demo::Run(int32)[OptimizedTier1]", "void [Work] Demo::Run(int32)" },
		{ "int64 [a] F::R(int32)[OptimizedTier1OSR]", "int64 [a] F::R(int32)" },
		{ "instance void A.B::C()[QuickJitted]", "instance void A.B::C()" },
		{ "A::B()[PreJit-cold]", "A::B()" },
		{ "string[]", "string[]" },
		{ "A::B(int32[])", "A::B(int32[])" },
		{ "A::B()[Mine]", "A::B()[Mine]" },
		{ "[OptimizedTier1]", "[OptimizedTier1]" },
		{ "x]", "x]" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (jit_tier_strip(rows[i].name) != strlen(rows[i].bare))
			fail_msg("%s: %zu", rows[i].name, jit_tier_strip(rows[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_tiers_are_stripped_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
