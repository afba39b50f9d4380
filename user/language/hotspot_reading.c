/* SPDX-License-Identifier: Apache-2.0 */
/* language/hotspot_reading.c - all is words at addresses that the file or an earlier word has. */
#include "language/hotspot_reading.h"

#include <stddef.h>

#include "base/own.h"

enum round { ROUND_OFFSETS, ROUND_ARRAY, ROUND_POINTERS, ROUND_HEAPS, ROUNDS };
enum heap_word { HEAP_LOW, HEAP_HIGH, HEAP_SEGMENTS, HEAP_LOG2, HEAP_WORDS };

#define OFFSET_MAX 4096
#define BLOB_WINDOW_MAX 128
#define CONST_WINDOW_MAX 64
#define HEAP_BYTES_MAX (1ULL << 32)
#define LOG2_MAX 20

static uint64_t address_of(const struct hotspot_reading *r, enum hotspot_field field)
{
	return r->base + (uint64_t)r->facts->fields[field];
}

static uint32_t want_offsets(const struct hotspot_reading *r, uint64_t *addresses)
{
	_Static_assert(HOTSPOT_FIELDS_LEN <= HOTSPOT_WORDS_MAX, "one round");
	for (uint32_t i = 0; i < HOTSPOT_FIELDS_LEN; i++)
		addresses[i] = r->facts->fields[i] ? address_of(r, i) : r->base;
	return HOTSPOT_FIELDS_LEN;
}

static uint32_t want_heaps(const struct hotspot_reading *r, uint64_t *addresses)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		uint64_t memory = r->heaps[i] + r->offsets[HOTSPOT_HEAP_MEMORY];
		uint64_t segments = r->heaps[i] + r->offsets[HOTSPOT_HEAP_SEGMAP];

		addresses[len + HEAP_LOW] = memory + r->offsets[HOTSPOT_SPACE_LOW];
		addresses[len + HEAP_HIGH] = memory + r->offsets[HOTSPOT_SPACE_HIGH];
		addresses[len + HEAP_SEGMENTS] = segments + r->offsets[HOTSPOT_SPACE_LOW];
		addresses[len + HEAP_LOG2] = r->heaps[i] + r->offsets[HOTSPOT_HEAP_LOG2];
		len += HEAP_WORDS;
	}
	return len;
}

uint32_t hotspot_wants(const struct hotspot_reading *r, uint64_t addresses[HOTSPOT_WORDS_MAX])
{
	switch ((enum round)r->round) {
	case ROUND_OFFSETS:
		return want_offsets(r, addresses);
	case ROUND_ARRAY:
		addresses[0] = r->offsets[HOTSPOT_HEAPS] + r->offsets[HOTSPOT_ARRAY_LEN];
		addresses[1] = r->offsets[HOTSPOT_HEAPS] + r->offsets[HOTSPOT_ARRAY_DATA];
		return 2;
	case ROUND_POINTERS:
		for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++)
			addresses[i] = r->heaps[0] + 8ULL * i;
		return HOTSPOT_HEAPS_MAX;
	case ROUND_HEAPS:
		return want_heaps(r, addresses);
	default:
		return 0;
	}
}

static bool is_variable(enum hotspot_field field)
{
	return field == HOTSPOT_HEAPS || field == HOTSPOT_CALL_RETURN ||
		field == HOTSPOT_RETURN_PC;
}

static bool fits(const struct hotspot_reading *r, const enum hotspot_field *fields, size_t len,
	uint64_t window)
{
	for (size_t i = 0; i < len; i++)
		if (r->offsets[fields[i]] > window - sizeof(uint64_t))
			return false;
	return true;
}

/* The tables of a blob lie in it, or apart: then its metadata, too. Between those versions there
 * were others. */
static bool has_scopes(const struct hotspot_facts *f)
{
	bool apart = f->fields[HOTSPOT_TABLES] != 0;

	return f->fields[HOTSPOT_SCOPES_DATA] && f->fields[HOTSPOT_PCS] &&
		f->fields[HOTSPOT_METADATA] && f->scopes_are_offset == apart &&
		f->metadata_is_apart == apart &&
		f->fields[apart ? HOTSPOT_RELOCATION_BYTES : HOTSPOT_PCS_END];
}

static void make_layout(struct hotspot_reading *r)
{
	const struct hotspot_facts *f = r->facts;
	const uint64_t *o = r->offsets;
	uint16_t scopes_data = (uint16_t)o[HOTSPOT_SCOPES_DATA];

	if (!f->fields[HOTSPOT_BLOCK_USED] || !f->fields[HOTSPOT_CONST_WORDS])
		return;
	r->layout = (struct java_layout){
		.block_bytes = f->sizes[HOTSPOT_SIZEOF_HEAP_BLOCK],
		.block_used = (uint16_t)o[HOTSPOT_BLOCK_USED],
		.method = (uint16_t)o[HOTSPOT_NMETHOD_METHOD],
		.compile_id = (uint16_t)o[HOTSPOT_NMETHOD_COMPILE_ID],
		.frame_complete = (uint16_t)o[HOTSPOT_BLOB_FRAME_COMPLETE],
		.code = (uint16_t)o[HOTSPOT_BLOB_CODE],
		.stub = (uint16_t)o[HOTSPOT_STUB],
		.tables = (uint16_t)o[HOTSPOT_TABLES],
		.scopes_data = scopes_data,
		.pcs = (uint16_t)o[HOTSPOT_PCS],
		.pcs_end = f->fields[HOTSPOT_TABLES] ? scopes_data : (uint16_t)o[HOTSPOT_PCS_END],
		.metadata = (uint16_t)o[HOTSPOT_METADATA],
		.relocation_bytes = (uint16_t)o[HOTSPOT_RELOCATION_BYTES],
		.method_const = (uint16_t)o[HOTSPOT_METHOD_CONST],
		.const_words = (uint16_t)o[HOTSPOT_CONST_WORDS],
		.const_constants = (uint16_t)o[HOTSPOT_CONST_CONSTANTS],
		.const_name = (uint16_t)o[HOTSPOT_CONST_NAME],
		.const_code_size = (uint16_t)o[HOTSPOT_CONST_CODE_SIZE],
		.const_flags = (uint16_t)o[HOTSPOT_CONST_FLAGS],
		.const_bytes = f->sizes[HOTSPOT_SIZEOF_CONST_METHOD],
		.pool_bytes = f->sizes[HOTSPOT_SIZEOF_POOL],
		.pool_holder = (uint16_t)o[HOTSPOT_POOL_HOLDER],
		.pool_source = (uint16_t)o[HOTSPOT_POOL_SOURCE],
		.klass_name = (uint16_t)o[HOTSPOT_KLASS_NAME],
		.symbol_length = (uint16_t)o[HOTSPOT_SYMBOL_LENGTH],
		.symbol_body = (uint16_t)o[HOTSPOT_SYMBOL_BODY],
		.code_is_offset = f->code_is_offset,
		.has_scopes = has_scopes(f),
		.version = f->is_21 ? 21 : 17,
	};
}

static bool take_offsets(struct hotspot_reading *r, const uint64_t *words)
{
	static const enum hotspot_field of_blob[] = { HOTSPOT_BLOB_NAME, HOTSPOT_BLOB_CODE,
		HOTSPOT_BLOB_FRAME_SIZE, HOTSPOT_BLOB_FRAME_COMPLETE, HOTSPOT_BLOB_BYTES,
		HOTSPOT_NMETHOD_METHOD };
	static const enum hotspot_field of_const[] = { HOTSPOT_CONST_CONSTANTS, HOTSPOT_CONST_NAME,
		HOTSPOT_CONST_CODE_SIZE, HOTSPOT_CONST_FLAGS, HOTSPOT_CONST_WORDS };
	const struct hotspot_facts *f = r->facts;
	const uint64_t *o = r->offsets;

	for (size_t i = 0; i < HOTSPOT_FIELDS_LEN; i++) {
		r->offsets[i] = f->fields[i] ? words[i] : 0;
		if (!is_variable(i) && r->offsets[i] >= OFFSET_MAX)
			return false;
	}
	/* They are zero while the process starts. */
	if (o[HOTSPOT_HEAPS] == 0 || o[HOTSPOT_CALL_RETURN] == 0 ||
		!fits(r, of_blob, ARRAY_SIZE(of_blob), BLOB_WINDOW_MAX) ||
		!fits(r, of_const, ARRAY_SIZE(of_const), CONST_WINDOW_MAX))
		return false;
	r->made = (struct hotspot){
		.call_return = o[HOTSPOT_CALL_RETURN],
		.return_pc = f->fields[HOTSPOT_RETURN_PC] ? address_of(r, HOTSPOT_RETURN_PC) : 0,
		.block_bytes = f->sizes[HOTSPOT_SIZEOF_HEAP_BLOCK],
		.blob_name = (uint16_t)o[HOTSPOT_BLOB_NAME],
		.blob_code = (uint16_t)o[HOTSPOT_BLOB_CODE],
		.blob_frame_size = (uint16_t)o[HOTSPOT_BLOB_FRAME_SIZE],
		.blob_frame_complete = (uint16_t)o[HOTSPOT_BLOB_FRAME_COMPLETE],
		.blob_bytes = (uint16_t)o[HOTSPOT_BLOB_BYTES],
		.nmethod_method = (uint16_t)o[HOTSPOT_NMETHOD_METHOD],
		.nmethod_compile_id = (uint16_t)o[HOTSPOT_NMETHOD_COMPILE_ID],
		.method_const = (uint16_t)o[HOTSPOT_METHOD_CONST],
		.const_constants = (uint16_t)o[HOTSPOT_CONST_CONSTANTS],
		.const_name = (uint16_t)o[HOTSPOT_CONST_NAME],
		.const_code_size = (uint16_t)o[HOTSPOT_CONST_CODE_SIZE],
		.const_flags = (uint16_t)o[HOTSPOT_CONST_FLAGS],
		.const_bytes = f->sizes[HOTSPOT_SIZEOF_CONST_METHOD],
		.pool_bytes = f->sizes[HOTSPOT_SIZEOF_POOL],
		.pool_holder = (uint16_t)o[HOTSPOT_POOL_HOLDER],
		.klass_name = (uint16_t)o[HOTSPOT_KLASS_NAME],
		.symbol_length = (uint16_t)o[HOTSPOT_SYMBOL_LENGTH],
		.symbol_body = (uint16_t)o[HOTSPOT_SYMBOL_BODY],
		.symbol_hash = f->fields[HOTSPOT_SYMBOL_HASH] ? (uint16_t)o[HOTSPOT_SYMBOL_HASH]
							      : UINT16_MAX,
		.code_is_offset = f->code_is_offset,
		.complete_is_short = f->code_is_offset && !f->is_8,
		.version = f->is_21 ? 21 : 17,
		.bytecode = f->is_8,
	};
	make_layout(r);
	return true;
}

static bool take_heaps(struct hotspot_reading *r, const uint64_t *words)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX && r->heaps[i]; i++) {
		const uint64_t *w = words + i * HEAP_WORDS;
		uint32_t log2 = (uint32_t)w[HEAP_LOG2];

		if (w[HEAP_LOW] == 0 || w[HEAP_HIGH] - w[HEAP_LOW] > HEAP_BYTES_MAX ||
			w[HEAP_SEGMENTS] == 0 || log2 == 0 || log2 > LOG2_MAX)
			return false;
		r->made.heaps[len++] = (struct hotspot_heap){ .low = w[HEAP_LOW],
			.bytes = w[HEAP_HIGH] - w[HEAP_LOW],
			.segments = w[HEAP_SEGMENTS],
			.log2 = log2 };
	}
	return len > 0;
}

bool hotspot_takes(struct hotspot_reading *r, const uint64_t *words, uint32_t len)
{
	uint64_t heaps_len;

	(void)len; /* hotspot_wants has fixed it */
	switch ((enum round)r->round++) {
	case ROUND_OFFSETS:
		if (r->facts->is_8) {
			r->heaps[0] = words[HOTSPOT_HEAPS];
			r->round = ROUND_HEAPS;
		}
		return take_offsets(r, words);
	case ROUND_ARRAY:
		r->heaps[0] = words[1];
		r->heaps[1] = (uint32_t)words[0];
		return words[1] != 0 && r->heaps[1] > 0 && r->heaps[1] <= HOTSPOT_HEAPS_MAX;
	case ROUND_POINTERS:
		heaps_len = r->heaps[1];
		for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++)
			r->heaps[i] = i < heaps_len ? words[i] : 0;
		return true;
	default:
		return take_heaps(r, words);
	}
}
