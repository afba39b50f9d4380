/* SPDX-License-Identifier: Apache-2.0 */
/* make_jitdump.h - the records of a jitdump, for tests. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline void put32(struct buf *out, uint32_t value)
{
	assert_int_equal(buf_put(out, &value, sizeof(value)), 0);
}

static inline void put64(struct buf *out, uint64_t value)
{
	assert_int_equal(buf_put(out, &value, sizeof(value)), 0);
}

static inline void put_header(struct buf *out, uint64_t flags)
{
	put32(out, 0x4A695444);
	put32(out, 1);
	put32(out, 40);
	put32(out, 62);
	put32(out, 0);
	put32(out, 1234);
	put64(out, 0xdeadbeefdeadbeef); /* some writers put another clock here */
	put64(out, flags);
}

static inline void put_prefix(struct buf *out, uint32_t id, size_t size, uint64_t at)
{
	put32(out, id);
	put32(out, (uint32_t)(16 + size));
	put64(out, at);
}

static inline void put_load(
	struct buf *out, uint64_t at, uint64_t addr, uint32_t size, const char *name)
{
	put_prefix(out, 0, 40 + strlen(name) + 1 + size, at);
	put64(out, 1234);
	put64(out, addr);
	put64(out, addr);
	put64(out, size);
	put64(out, 7);
	buf_put(out, name, strlen(name) + 1);
	for (uint32_t i = 0; i < size; i++)
		buf_putc(out, (char)0xcc);
}

static inline void put_move(struct buf *out, uint64_t at, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(out, 1, 48, at);
	put64(out, 1234);
	put64(out, to);
	put64(out, from);
	put64(out, to);
	put64(out, size);
	put64(out, 7);
}

struct line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

static inline void put_lines(struct buf *out, uint64_t code, const struct line *lines, size_t n)
{
	size_t size = 16;

	for (size_t i = 0; i < n; i++)
		size += 16 + strlen(lines[i].file) + 1;
	put_prefix(out, 2, size, 0);
	put64(out, code);
	put64(out, n);
	for (size_t i = 0; i < n; i++) {
		put64(out, lines[i].addr);
		put32(out, lines[i].line);
		put32(out, 0);
		buf_put(out, lines[i].file, strlen(lines[i].file) + 1);
	}
}
