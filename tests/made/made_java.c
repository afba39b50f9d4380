/* SPDX-License-Identifier: Apache-2.0 */
/* made_java.c - the numbers of the layouts are those of JDK 17 and 25. */
#include "made_java.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "language/java_code.h"
#include "language/java_reply.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t *at_address(struct made_java *m, uint64_t at)
{
	for (size_t i = 0; i < m->parts_len; i++)
		if (at - m->parts[i].at < JAVA_PART_BYTES)
			return &m->parts[i].bytes[at - m->parts[i].at];
	must(m->parts_len < JAVA_PARTS_MAX);
	m->parts[m->parts_len].at = at / JAVA_PART_BYTES * JAVA_PART_BYTES;
	return &m->parts[m->parts_len++].bytes[at % JAVA_PART_BYTES];
}

void made_java_set(struct made_java *m, uint64_t at, uint64_t value, size_t width)
{
	memcpy(at_address(m, at), &value, width);
}

void made_java_put_number(struct made_java *m, struct buf *out, uint32_t value)
{
	bool is_more = m->layout.version >= 20;
	uint32_t low = 192 - is_more;

	for (int i = 0; i < 4 && value >= low; i++) {
		value -= low;
		buf_putc(out, (char)(low + value % 64 + is_more));
		value /= 64;
	}
	buf_putc(out, (char)(value + is_more));
}

void made_java_put_signed(struct made_java *m, struct buf *out, int32_t value)
{
	made_java_put_number(m, out, value < 0 ? (uint32_t)~value << 1 | 1 : (uint32_t)value << 1);
}

/* Returns the offset of the scope. */
uint32_t made_java_scope(
	struct made_java *m, uint32_t sender, uint32_t method, int32_t bci)
{
	uint32_t at = (uint32_t)m->scopes.len;

	made_java_put_number(m, &m->scopes, sender);
	made_java_put_number(m, &m->scopes, method);
	made_java_put_number(m, &m->scopes, (uint32_t)(bci + 1));
	return at;
}

void made_java_symbol(struct made_java *m, uint64_t at, const char *text)
{
	made_java_set(m, at + 4, strlen(text), 2);
	memcpy(at_address(m, at) + 6, text, strlen(text));
}

/* The method's number in the metadata is number + 1; its lines are first + 1 from bytecode 0 on,
 * first + 2 from 10, and first from 20 on. */
static uint64_t put_method(
	struct made_java *m, uint32_t number, const char *class, const char *name, uint32_t first)
{
	uint64_t at = JAVA_METHODS + number * 0x10000ULL;
	uint64_t constant = at + 0x1000, pool = at + 0x2000;
	_cleanup_(buf_done) struct buf lines = BUF_INIT;

	made_java_set(m, at + 8, constant, 8);
	made_java_set(m, constant + 8, pool, 8);
	made_java_set(m, constant + 24, (48 + JAVA_CODE_SIZE + 64) / 8, 4);
	made_java_set(m, constant + 28, 1, 2);
	made_java_set(m, constant + 32, JAVA_CODE_SIZE, 2);
	made_java_set(m, constant + 34, 3, 2);
	buf_putc(&lines, (char)0xff);
	made_java_put_signed(m, &lines, 0);
	made_java_put_signed(m, &lines, (int32_t)first + 1);
	buf_putc(&lines, 10 << 3 | 1);
	buf_putc(&lines, (char)0xff);
	made_java_put_signed(m, &lines, 10);
	made_java_put_signed(m, &lines, -2);
	buf_putc(&lines, 0);
	memcpy(at_address(m, constant) + 48 + JAVA_CODE_SIZE, lines.data, lines.len);
	made_java_set(m, pool + 24, at + 0x3000, 8);
	made_java_set(m, pool + 62, 5, 2);
	made_java_set(m, pool + 72 + 8 * 3, at + 0x5000, 8);
	made_java_set(m, pool + 72 + 8 * 5, at + 0x6001, 8); /* bit 0 is a mark */
	made_java_set(m, at + 0x3000 + 16, at + 0x4000, 8);
	made_java_symbol(m, at + 0x4000, class);
	made_java_symbol(m, at + 0x5000, name);
	made_java_symbol(m, at + 0x6000, "Some.java");
	made_java_set(m, JAVA_METADATA + 8 * number, at, 8);
	return at;
}

/* Describes places up to this one. */
void made_java_place(struct made_java *m, uint32_t number, int32_t end, uint32_t scope)
{
	uint64_t at = JAVA_TABLES + 64 + 16ULL * number;

	made_java_set(m, at, (uint32_t)end, 4);
	made_java_set(m, at + 4, scope, 4);
}

/* places_len counts those that are set by java_place. */
void made_java_finish(struct made_java *m, uint32_t places_len)
{
	uint32_t end = 64 + 16 * places_len;

	if (m->layout.tables) {
		made_java_set(m, JAVA_BLOB + m->layout.tables, JAVA_TABLES, 8);
		made_java_set(m, JAVA_BLOB + m->layout.scopes_data, end, 4);
		made_java_set(m, JAVA_BLOB + m->layout.metadata, JAVA_METADATA - 32, 8);
		made_java_set(m, JAVA_BLOB + m->layout.relocation_bytes, 32, 4);
		made_java_set(m, JAVA_BLOB + m->layout.pcs, 64, 4);
	} else {
		made_java_set(m, JAVA_BLOB + m->layout.scopes_data, JAVA_TABLES + end, 8);
		made_java_set(m, JAVA_BLOB + m->layout.metadata, JAVA_METADATA - JAVA_BLOB, 4);
		made_java_set(m, JAVA_BLOB + m->layout.pcs, JAVA_TABLES + 64 - JAVA_BLOB, 4);
		made_java_set(m, JAVA_BLOB + m->layout.pcs_end, JAVA_TABLES + end - JAVA_BLOB, 4);
	}
	memcpy(at_address(m, JAVA_TABLES + end), m->scopes.data, m->scopes.len);
}

void made_java_begin(struct made_java *m, enum made_java_kind kind)
{
	*m = (struct made_java){ .layout = { .block_bytes = 16,
		.block_used = 8,
		.method = 112,
		.compile_id = 304,
		.frame_complete = 20,
		.code = 32,
		.stub = 276,
		.scopes_data = 120,
		.pcs = 268,
		.pcs_end = 272,
		.metadata = 260,
		.method_const = 8,
		.const_words = 24,
		.const_constants = 8,
		.const_name = 34,
		.const_code_size = 32,
		.const_flags = 28,
		.const_bytes = 48,
		.pool_bytes = 72,
		.pool_holder = 24,
		.pool_source = 62,
		.klass_name = 16,
		.symbol_length = 4,
		.symbol_body = 6,
		.has_scopes = 1,
		.version = 17 } };
	if (kind == JAVA_APART) {
		m->layout.version = 21;
		m->layout.code_is_offset = 1;
		m->layout.tables = 96;
		m->layout.scopes_data = m->layout.pcs_end = 200;
		m->layout.pcs = 196;
		m->layout.metadata = 136;
		m->layout.relocation_bytes = 28;
	}
	made_java_put_number(m, &m->scopes, 0); /* offset 0 is no scope */
	made_java_set(m, JAVA_BLOB - 16 + 8, 1, 1);
	made_java_set(m, JAVA_BLOB + 20, 16, 4);
	made_java_set(m, JAVA_BLOB + 32, kind == JAVA_APART ? 64 : JAVA_BLOB + 64, 8);
	made_java_set(m, JAVA_BLOB + 276, 64 + 100, 4);
	made_java_set(m, JAVA_BLOB + 304, JAVA_COMPILE_ID, 4);
	m->code = (struct java_wanted){ .blob = JAVA_BLOB,
		.compile_id = JAVA_COMPILE_ID,
		.name_bytes = 3,
		.class_bytes = 3,
		.name = "run",
		.class = "a/A" };
	m->code.method = put_method(m, 0, "a/A", "run", 100);
	made_java_set(m, JAVA_BLOB + m->layout.method, m->code.method, 8);
	put_method(m, 1, "a/B", "inner", 200);
	put_method(m, 2, "C", "leaf", 300);
}

void made_java_done(struct made_java *m)
{
	buf_done(&m->scopes);
}

static void copy_range(struct made_java *m, const struct java_range *range, struct buf *out)
{
	for (uint64_t at = range->start; at < range->end; at++) {
		char byte = 0;

		for (size_t i = 0; i < m->parts_len; i++)
			if (at - m->parts[i].at < JAVA_PART_BYTES)
				byte = (char)m->parts[i].bytes[at - m->parts[i].at];
		buf_putc(out, byte);
	}
}

/* Reads as files/java_codes.c does. *reply is the last one, which has tables; else the error. */
int made_java_read(struct made_java *m, struct buf *reply)
{
	struct java_image_head head = { m->layout, 1, 0 };
	_cleanup_(buf_done) struct buf ranges = BUF_INIT, bytes = BUF_INIT;
	int err = 0;

	for (m->rounds = 1; m->rounds < 16; m->rounds++) {
		_cleanup_(buf_done) struct buf image = BUF_INIT;
		const struct java_reply *got;

		buf_put(&image, &head, sizeof(head));
		buf_put(&image, &m->code, sizeof(m->code));
		buf_append(&image, &ranges);
		buf_append(&image, &bytes);
		buf_clear(reply);
		err = java_code_read(image.data, image.len, reply);
		if (err < 0)
			return err;
		must(java_reply_valid(reply->data, reply->len, 1));
		got = (const struct java_reply *)reply->data;
		if (got->ranges_len == 0)
			return 0;
		for (uint32_t i = 0; i < got->ranges_len; i++) {
			const struct java_range *range = &java_reply_ranges(got)[i];

			buf_put(&ranges, range, sizeof(*range));
			copy_range(m, range, &bytes);
		}
		head.ranges_len += got->ranges_len;
	}
	return -ELOOP;
}
