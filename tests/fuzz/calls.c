/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - an ELF file's calls: are they possible? */
#include "fuzz.h"
#include "sym/elf_calls.h"

#define PLACES 16

static void check(struct elf_calls *calls, uint64_t kind, uint64_t from, uint64_t to)
{
	const struct elf_call_query query = { kind, from, to };
	struct elf_call call;

	if (elf_calls_check(calls, &query, &call) < 0)
		return;
	must(call.verdict < ELF_CALL_VERDICTS);
	must((call.verdict == ELF_CALL_LEAVES) == (call.name != 0));
	must(call.verdict != ELF_CALL_LEAVES || to == ELF_CALL_OUTSIDE);
	if (call.verdict == ELF_CALL_LEAVES)
		check(calls, ELF_CALL_ENTRY, call.name, from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(elf_calls_done) struct elf_calls calls = { 0 };
	_cleanup_(image_done) struct image image = { 0 };
	struct why why;

	if (image_init(&image, data, size, &why) < 0 || elf_calls_init(&calls, &image) < 0)
		return 0;
	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t from = size * i / PLACES;

		check(&calls, ELF_CALL_RETURN, from, ELF_CALL_OUTSIDE);
		check(&calls, ELF_CALL_RETURN, from, ELF_CALL_NO_FILE);
		check(&calls, ELF_CALL_RETURN, from, size - from);
		check(&calls, ELF_CALL_SIGNAL, 0, from);
	}
	must(calls.steps_left <= ELF_CALLS_ALL_STEPS_MAX);
	return 0;
}
