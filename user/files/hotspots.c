/* SPDX-License-Identifier: Apache-2.0 */
/* files/hotspots.c - all is words at addresses that the file or an earlier word has. */
#include "files/hotspots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "client/opener_call.h"
#include "files/objects.h"
#include "sampler/code_heaps.h"

/* ---- what is read ---------------------------------------------------------------------------- */

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

/* ---- processes ------------------------------------------------------------------------------- */

struct described {
	struct hotspot_key key;
	uint64_t serial, account;
	struct java_layout layout;
};

struct hotspots {
	struct objects *objects;
	struct sampler *sampler;
	struct opener_call *call;
	VEC(struct described) all;
	struct hash by_serial; /* index in all */
	struct share places;
	uint64_t refused;
};

int hotspots_new(struct objects *objects, struct sampler *sampler, struct opener_call *call,
	struct hotspots **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	**out = (struct hotspots){ .objects = objects, .sampler = sampler, .call = call };
	return 0;
}

void hotspots_free(struct hotspots *h)
{
	if (!h)
		return;
	vec_done(&h->all);
	hash_done(&h->by_serial);
	share_done(&h->places);
	free(h);
}

static int read_words(struct opener_call *call, const struct opener_process *process,
	const uint64_t *addresses, uint32_t len, uint64_t *words)
{
	struct opening_range ranges[HOTSPOT_WORDS_MAX];
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	int err;

	for (uint32_t i = 0; i < len; i++)
		ranges[i] = (struct opening_range){ addresses[i],
			addresses[i] + sizeof(uint64_t) };
	err = opener_call_memory(call, process, ranges, len, &fd);
	if (err == 0)
		err = fd_read_all(fd, len * sizeof(uint64_t), &bytes);
	if (err == 0 && bytes.len != len * sizeof(uint64_t))
		err = -ENODATA;
	if (err == 0)
		memcpy(words, bytes.data, bytes.len);
	return err;
}

static int read_all(struct hotspots *h, const struct opener_process *process,
	struct hotspot_reading *reading)
{
	uint64_t addresses[HOTSPOT_WORDS_MAX], words[HOTSPOT_WORDS_MAX];
	uint32_t len;
	int err = 0;

	while (err == 0 && (len = hotspot_wants(reading, addresses)) > 0) {
		err = read_words(h->call, process, addresses, len, words);
		if (err == 0 && !hotspot_takes(reading, words, len))
			err = -ENOTSUP;
	}
	return err;
}

static int keep(struct hotspots *h, const struct described *described, const struct hotspot *made)
{
	struct described *slot;
	int err;

	if (share_refuses(&h->places, described->account, 1, HOTSPOTS_MAX)) {
		h->refused++;
		return -ENOSPC;
	}
	err = code_heaps_put(h->sampler, &described->key, made);
	slot = err == 0 ? vec_add(&h->all) : NULL;
	if (err == 0 && (!slot || share_charge(&h->places, described->account, 1) < 0 ||
				hash_put(&h->by_serial, described->serial, h->all.len - 1) < 0)) {
		code_heaps_drop(h->sampler, &described->key);
		h->all.len -= slot != NULL;
		return -ENOMEM;
	}
	if (err == 0)
		*slot = *described;
	return err;
}

int hotspots_meet(struct hotspots *h, uint64_t serial, const struct opener_process *process,
	uint64_t account, const struct mappings_library *jvm)
{
	struct described described = { { process->start_ns, (uint32_t)process->pid, 0 },
		serial, account, { 0 } };
	struct hotspot_reading reading = { .facts = objects_hotspot(h->objects, jvm, account),
		.base = jvm->start - jvm->file_offset };
	int err;

	if (hash_find(&h->by_serial, serial))
		return 0;
	if (!reading.facts)
		return -EAGAIN;
	err = read_all(h, process, &reading);
	described.layout = reading.layout;
	return err < 0 ? err : keep(h, &described, &reading.made);
}

void hotspots_drop(struct hotspots *h, uint64_t serial)
{
	const uint64_t *found = hash_find(&h->by_serial, serial);
	size_t at = found ? *found : 0;

	if (!found)
		return;
	code_heaps_drop(h->sampler, &h->all.data[at].key);
	share_return(&h->places, h->all.data[at].account, 1);
	hash_del(&h->by_serial, serial);
	h->all.data[at] = h->all.data[--h->all.len];
	if (at < h->all.len)
		*hash_find(&h->by_serial, h->all.data[at].serial) = at;
}

const struct java_layout *hotspots_layout(
	const struct hotspots *h, uint64_t serial, uint64_t *account)
{
	const uint64_t *found = hash_find(&h->by_serial, serial);

	if (!found)
		return NULL;
	*account = h->all.data[*found].account;
	return &h->all.data[*found].layout;
}

uint64_t hotspots_refused(const struct hotspots *h)
{
	return h->refused;
}
