/* SPDX-License-Identifier: Apache-2.0 */
/* elf/plt.c - reads the GOT slot of a stub from the stub's own instructions.
 * Counting stubs against relocations would be shorter, but each linker orders and pads them in its
 * own way. A stub that does not decode, or whose slot no relocation fills, is left out.
 * sym/elf_sym turns an entry into a name. */
#include "elf/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "base/vec.h"

#define X86_STUB_SIZE 16
#define X86_STUB_SIZE_SMALL 8
#define X86_ENDBR64 0xfa1e0ff3U
#define X86_BND 0xf2
#define X86_PUSH 0x68
#define X86_JMP_RIP 0x25ff

#define ARM64_ADRP_X16 0x90000010U
#define ARM64_ADRP_MASK 0x9f00001fU
#define ARM64_LDR_X17 0xf9400211U
#define ARM64_LDR_MASK 0xffc003ffU
#define ARM64_BR_X17 0xd61f0220U
#define ARM64_BTI_C 0xd503245fU
#define ARM64_STUB_INSNS_MAX 8

struct reloc {
	uint64_t slot;
	uint64_t addend;
	uint32_t symbol;
};

const char *const plt_sections[PLT_SECTIONS] = { ".plt", ".plt.sec", ".plt.got" };

struct reader {
	uint16_t machine;
	struct bytes jumps; /* .rela.plt, which a lazy stub has an index of */
	VEC(struct reloc) relocs;
	VEC(struct plt_entry) entries;
};

static bool is_function_slot(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
			type == R_X86_64_IRELATIVE;
	case EM_AARCH64:
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
			type == R_AARCH64_IRELATIVE;
	default:
		return false;
	}
}

static bool read_reloc(struct cursor *c, uint16_t machine, struct reloc *out)
{
	uint64_t info;

	out->slot = cursor_u64(c);
	info = cursor_u64(c);
	out->addend = cursor_u64(c);
	out->symbol = ELF64_R_SYM(info);
	return !c->bad && is_function_slot(machine, ELF64_R_TYPE(info));
}

static int read_relocs(struct reader *r, struct image *image, const char *name)
{
	const struct image_section *section = image_section_find(image, name);
	struct bytes bytes;
	struct cursor c;

	if (!section || section->type != SHT_RELA ||
		image_section_bytes(image, section, &bytes) < 0)
		return 0;
	c = cursor_init(bytes.data, bytes.len);
	while (cursor_left(&c) >= sizeof(Elf64_Rela) && r->relocs.len < PLT_RELOCS_MAX) {
		struct reloc one, *added;

		if (!read_reloc(&c, r->machine, &one))
			continue;
		added = vec_add(&r->relocs);
		if (!added)
			return -ENOMEM;
		*added = one;
	}
	return 0;
}

static int by_slot(const void *a, const void *b)
{
	const struct reloc *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int add_entry(struct reader *r, uint64_t vaddr, uint32_t size, const struct reloc *reloc)
{
	struct plt_entry *entry = r->entries.len < PLT_ENTRIES_MAX ? vec_add(&r->entries) : NULL;

	if (!entry)
		return r->entries.len < PLT_ENTRIES_MAX ? -ENOMEM : 0;
	*entry = (struct plt_entry){
		.vaddr = vaddr, .size = size, .symbol = reloc->symbol, .resolver = reloc->addend
	};
	return 0;
}

static int add_by_slot(struct reader *r, uint64_t vaddr, uint32_t size, uint64_t slot)
{
	const struct reloc key = { .slot = slot };
	const struct reloc *found = NULL;

	if (r->relocs.len > 0)
		found = bsearch(&key, r->relocs.data, r->relocs.len, sizeof(key), by_slot);
	return found ? add_entry(r, vaddr, size, found) : 0;
}

static int add_by_index(struct reader *r, uint64_t vaddr, uint32_t size, uint32_t index)
{
	struct cursor c = cursor_init(r->jumps.data, r->jumps.len);
	struct reloc reloc;

	cursor_seek(&c, (size_t)index * sizeof(Elf64_Rela));
	return read_reloc(&c, r->machine, &reloc) ? add_entry(r, vaddr, size, &reloc) : 0;
}

/* [endbr64] [bnd] jmp *slot(%rip), or [endbr64] push $index where the jump is in .plt.sec. */
static int read_x86_stub(struct reader *r, struct cursor stub, uint64_t vaddr, uint32_t size)
{
	struct cursor c = stub;

	if (cursor_u32(&c) != X86_ENDBR64)
		c = stub;
	stub = c;
	if (cursor_u8(&c) == X86_PUSH)
		return add_by_index(r, vaddr, size, cursor_u32(&c));
	c = stub;
	if (cursor_u8(&c) != X86_BND)
		c = stub;
	if (cursor_u16(&c) == X86_JMP_RIP) {
		int32_t displacement = (int32_t)cursor_u32(&c);
		uint64_t next = vaddr + cursor_offset(&c);

		return add_by_slot(r, vaddr, size, next + (uint64_t)(int64_t)displacement);
	}
	return 0;
}

static int read_x86_section(struct reader *r, const struct image_section *s, struct cursor c)
{
	uint32_t size = s->entry_size == X86_STUB_SIZE_SMALL ? X86_STUB_SIZE_SMALL : X86_STUB_SIZE;
	int err = 0;

	for (uint64_t vaddr = s->vaddr; err == 0 && cursor_left(&c) >= size; vaddr += size)
		err = read_x86_stub(r, cursor_sub(&c, size), vaddr, size);
	return err;
}

/* The bytes from an adrp up to and with its `br x17`; 0 where there is none soon. */
static uint32_t arm64_stub_size(struct cursor c)
{
	for (uint32_t i = 1; i <= ARM64_STUB_INSNS_MAX && cursor_left(&c) > 0; i++)
		if (cursor_u32(&c) == ARM64_BR_X17)
			return 4 * (i + 1);
	return 0;
}

/* [bti c] adrp x16, page; ldr x17, [x16, #low]; add; [autia1716] br x17 */
static int read_arm64_section(struct reader *r, const struct image_section *s, struct cursor c)
{
	uint64_t vaddr = s->vaddr;
	uint32_t before = 0;
	int err = 0;

	for (; err == 0 && cursor_left(&c) >= 8; vaddr += 4) {
		uint32_t adrp = cursor_u32(&c), lead = before == ARM64_BTI_C ? 4 : 0;
		struct cursor rest = c;
		uint32_t ldr = cursor_u32(&rest), size = arm64_stub_size(c);
		int64_t page;

		before = adrp;
		if ((adrp & ARM64_ADRP_MASK) != ARM64_ADRP_X16 ||
			(ldr & ARM64_LDR_MASK) != ARM64_LDR_X17 || size == 0)
			continue;
		/* immhi:immlo, 21 bits of which the highest is the sign, in pages of 4 KiB */
		page = (int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43);
		page >>= 31;
		err = add_by_slot(r, vaddr - lead, size + lead,
			(vaddr & ~0xfffULL) + (uint64_t)page + (ldr >> 10 & 0xfff) * 8);
	}
	return err;
}

static int read_stubs(struct reader *r, struct image *image, const char *name)
{
	const struct image_section *section = image_section_find(image, name);
	struct bytes bytes;
	struct cursor c;

	if (!section || image_section_bytes(image, section, &bytes) < 0)
		return 0;
	c = cursor_init(bytes.data, bytes.len);
	return r->machine == EM_X86_64 ? read_x86_section(r, section, c)
				       : read_arm64_section(r, section, c);
}

static int read_all(struct reader *r, struct image *image)
{
	const struct image_section *jumps = image_section_find(image, ".rela.plt");
	int err = read_relocs(r, image, ".rela.plt");

	if (jumps && image_section_bytes(image, jumps, &r->jumps) < 0)
		r->jumps = (struct bytes){ 0 };
	if (err == 0)
		err = read_relocs(r, image, ".rela.dyn");
	if (r->relocs.len > 0)
		qsort(r->relocs.data, r->relocs.len, sizeof(*r->relocs.data), by_slot);
	for (size_t i = 0; err == 0 && i < PLT_SECTIONS; i++)
		err = read_stubs(r, image, plt_sections[i]);
	return err;
}

int plt_load(struct image *image, struct plt *out)
{
	struct reader r = { .machine = image->machine };
	int err = 0;

	if (!image->narrow && (r.machine == EM_X86_64 || r.machine == EM_AARCH64))
		err = read_all(&r, image);
	vec_done(&r.relocs);
	if (err < 0) {
		vec_done(&r.entries);
		return err;
	}
	*out = (struct plt){ .entries = r.entries.data, .len = r.entries.len };
	return 0;
}

void plt_done(struct plt *plt)
{
	free(plt->entries);
	*plt = (struct plt){ 0 };
}
