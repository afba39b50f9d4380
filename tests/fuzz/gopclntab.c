/* SPDX-License-Identifier: Apache-2.0 */
/* gopclntab.c - the bytes of Go's function table, in a file that is sound. */
#include "elf/gopclntab.h"
#include "fuzz.h"
#include "make_elf.h"

#define FUNCTIONS 64

static void ask(const struct gopclntab *tab)
{
	struct gopclntab_function function;
	struct gopclntab_deltas runs;
	uint64_t end;
	int32_t delta;

	for (size_t i = 0; i < tab->functions_len && i < FUNCTIONS; i++) {
		if (!gopclntab_get(tab, i, &function))
			continue;
		touch_text(function.name);
		runs = gopclntab_deltas(tab, &function);
		while (gopclntab_deltas_next(&runs, &end, &delta))
			must(end <= function.end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gopclntab tab;
	struct image image;
	struct make_elf m;
	struct why why;
	unsigned int at;

	make_elf_init(&m);
	at = make_elf_section(&m, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, data, size);
	m.sections[at].sh_addr = 0x600000;
	make_elf_finish(&m);
	must(image_init(&image, m.file.data, m.file.len, &why) == 0);
	if (gopclntab_init(&tab, &image) == 0)
		ask(&tab);
	image_done(&image);
	make_elf_done(&m);
	return 0;
}
