/* SPDX-License-Identifier: Apache-2.0 */
/* make_go.h - an ELF file with functions of Go: their code from MAKE_ELF_TEXT_VADDR on, one behind
 * the other, and the table of Go 1.20 that tells of them. */
#pragma once

#include "base/buf.h"
#include "make_elf.h"

#define MAKE_GO_TABLE_VADDR 0x600000
#define MAKE_GO_HEADER 72
#define MAKE_GO_RECORD 48
#define MAKE_GO_ALIGN 0x40

struct make_go_function {
	const char *name;
	const char *code;
	uint32_t code_len;
	const char *deltas; /* NULL: none */
	uint32_t deltas_len;
	unsigned char flags;
};

/* Bytes with their length, for the initialisers above. */
#define GO_BYTES(text) text, sizeof(text) - 1

static inline void make_go_u32(struct buf *out, uint64_t value)
{
	uint32_t v = (uint32_t)value;

	buf_put(out, (const char *)&v, sizeof(v));
}

static inline void make_go_u64(struct buf *out, uint64_t value)
{
	buf_put(out, (const char *)&value, sizeof(value));
}

static inline uint32_t make_go_size(const struct make_go_function *f)
{
	return (f->code_len + MAKE_GO_ALIGN - 1) & ~(MAKE_GO_ALIGN - 1U);
}

/* Where the i-th function begins, from the text's start. */
static inline uint32_t make_go_start(const struct make_go_function *functions, size_t i)
{
	uint32_t at = 0;

	while (i-- > 0)
		at += make_go_size(functions++);
	return at;
}

static inline void make_go_record(
	struct buf *out, uint32_t start, uint32_t name, uint32_t deltas, unsigned char flags)
{
	const uint32_t fields[] = { start, name, 0, 0, deltas, 0, 0, 0, 0, 1 };
	const char rest[] = { 0, (char)flags, 0, 0, 0, 0, 0, 0 };

	buf_put(out, (const char *)fields, sizeof(fields));
	buf_put(out, rest, sizeof(rest));
}

/* The parts, each from where the header says: strings (names and deltas), then the functions. */
static inline void make_go_table(
	struct buf *out, const struct make_go_function *functions, size_t len)
{
	static const char ident[] = { (char)0xf1, -1, -1, -1, 0, 0, 1, 8 };
	struct buf strings = BUF_INIT, records = BUF_INIT;
	uint32_t rows = (uint32_t)(len * 8 + 8);

	make_go_u32(&strings, 0); /* an offset of 0 is none */
	*out = (struct buf)BUF_INIT;
	for (size_t i = 0; i < len; i++) {
		const struct make_go_function *f = &functions[i];
		uint32_t name = (uint32_t)strings.len, deltas = 0;

		buf_put(&strings, f->name, strlen(f->name) + 1);
		if (f->deltas) {
			deltas = (uint32_t)strings.len;
			buf_put(&strings, f->deltas, f->deltas_len);
			buf_putc(&strings, '\0');
		}
		make_go_record(&records, make_go_start(functions, i), name, deltas, f->flags);
	}
	buf_put(out, ident, sizeof(ident));
	make_go_u64(out, len);
	make_go_u64(out, 1);
	make_go_u64(out, MAKE_ELF_TEXT_VADDR);
	for (int part = 0; part < 4; part++)
		make_go_u64(out, MAKE_GO_HEADER);
	make_go_u64(out, MAKE_GO_HEADER + strings.len);
	buf_put(out, strings.data, strings.len);
	for (size_t i = 0; i <= len; i++) {
		make_go_u32(out, make_go_start(functions, i));
		make_go_u32(out, rows + i * MAKE_GO_RECORD);
	}
	buf_put(out, records.data, records.len);
	buf_done(&strings);
	buf_done(&records);
}

static inline void make_go(struct make_elf *m, const struct make_go_function *functions, size_t len)
{
	struct buf table;
	unsigned int index;

	make_go_table(&table, functions, len);
	make_elf_init(m);
	for (size_t i = 0; i < len; i++)
		memcpy(m->file.data + MAKE_ELF_TEXT_OFFSET + make_go_start(functions, i),
			functions[i].code, functions[i].code_len);
	index = make_elf_section(m, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, table.data, table.len);
	m->sections[index].sh_addr = MAKE_GO_TABLE_VADDR;
	buf_done(&table);
}
