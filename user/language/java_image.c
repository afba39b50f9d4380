/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_image.c - a range is found by its start and its length, as it was asked for. */
#include "language/java_image.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"

static uint64_t key_of(uint64_t start, uint64_t len)
{
	return hash_mix(start) ^ len;
}

/* The process chose what is in it, too. */
static bool layout_valid(const struct java_layout *l)
{
	const uint16_t in_const[] = { l->const_words, l->const_constants, l->const_name,
		l->const_code_size, l->const_flags };

	for (size_t i = 0; i < sizeof(in_const) / sizeof(in_const[0]); i++)
		if (in_const[i] > JAVA_CONST_BYTES - sizeof(uint64_t))
			return false;
	return l->pool_holder + sizeof(uint64_t) <= l->pool_bytes &&
		l->pool_source + sizeof(uint16_t) <= l->pool_bytes &&
		l->symbol_length + sizeof(uint16_t) <= (size_t)l->symbol_body + CODE_NAME_BYTES;
}

static int note_ranges(struct java_image *image, size_t bytes)
{
	uint64_t at = 0;

	for (size_t i = 0; i < image->ranges_len; i++) {
		const struct java_range *range = &image->ranges[i];
		uint64_t len = range->end - range->start;
		uint32_t *slot = vec_add(&image->offsets);

		if (!slot || hash_put(&image->at, key_of(range->start, len), i) < 0)
			return -ENOMEM;
		if (range->end < range->start || len > JAVA_RANGE_BYTES_MAX || len > bytes - at)
			return -EBADMSG;
		*slot = (uint32_t)at;
		at += len;
	}
	return at == bytes ? 0 : -EBADMSG;
}

int java_image_open(struct java_image *image, const void *data, size_t size)
{
	struct cursor c = cursor_init(data, size);
	const struct java_image_head *head =
		(const struct java_image_head *)cursor_take(&c, sizeof(*head));

	*image = (struct java_image){ 0 };
	if (!head || head->codes_len > JAVA_CODES_MAX || head->ranges_len > JAVA_RANGES_MAX ||
		size > JAVA_IMAGE_BYTES_MAX)
		return -EBADMSG;
	image->layout = &head->layout;
	image->codes_len = head->codes_len;
	image->ranges_len = head->ranges_len;
	image->codes = (const struct java_wanted *)cursor_take(
		&c, image->codes_len * sizeof(*image->codes));
	image->ranges = (const struct java_range *)cursor_take(
		&c, image->ranges_len * sizeof(*image->ranges));
	size = cursor_left(&c);
	image->bytes = cursor_take(&c, size);
	if (c.bad || !layout_valid(image->layout))
		return -EBADMSG;
	for (size_t i = 0; i < image->codes_len; i++)
		if (image->codes[i].name_bytes > CODE_NAME_BYTES ||
			image->codes[i].class_bytes > CODE_NAME_BYTES)
			return -EBADMSG;
	return note_ranges(image, size);
}

void java_image_done(struct java_image *image)
{
	hash_done(&image->at);
	hash_done(&image->wanted);
	vec_done(&image->offsets);
	vec_done(&image->wants);
}

static void want(struct java_image *image, uint64_t address, size_t len)
{
	uint64_t key = key_of(address, len);
	struct java_range *slot;

	if (hash_find(&image->wanted, key))
		return;
	slot = vec_add(&image->wants);
	if (!slot || hash_put(&image->wanted, key, 1) < 0) {
		image->err = -ENOMEM;
		return;
	}
	*slot = (struct java_range){ address, address + len };
}

const uint8_t *java_image_at(struct java_image *image, uint64_t address, size_t len)
{
	const uint64_t *found = hash_find(&image->at, key_of(address, len));
	const struct java_range *range = found ? &image->ranges[*found] : NULL;

	if (address == 0 || len == 0 || len > JAVA_RANGE_BYTES_MAX || address + len < address)
		return NULL;
	if (!range) {
		want(image, address, len);
		return NULL;
	}
	/* Two ranges with one key: a process that makes that happen has fewer names. */
	if (range->start != address || range->end - address != len)
		return NULL;
	return image->bytes + image->offsets.data[*found];
}

/* ---- what proves that a blob is the same code ------------------------------------------------ */

struct java_range java_proof_range(const struct java_layout *l, uint64_t blob)
{
	const uint16_t offsets[] = { l->method, l->compile_id, l->frame_complete,
		l->code, l->stub, l->tables,
		l->scopes_data, l->pcs, l->pcs_end, l->metadata, l->relocation_bytes };
	uint16_t last = 0;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		last = offsets[i] > last ? offsets[i] : last;
	return (struct java_range){ blob - l->block_bytes, blob + last + sizeof(uint64_t) };
}

bool java_proves(const struct java_layout *l, const struct java_wanted *code, const uint8_t *bytes,
	size_t len)
{
	struct cursor block = cursor_init(bytes, len), c = block;
	uint64_t method;
	uint32_t compile_id;

	cursor_skip(&block, l->block_used);
	cursor_seek(&c, (size_t)l->block_bytes + l->method);
	method = cursor_u64(&c);
	cursor_seek(&c, (size_t)l->block_bytes + l->compile_id);
	compile_id = cursor_u32(&c);
	return cursor_u8(&block) != 0 && !block.bad && !c.bad && method == code->method &&
		compile_id == code->compile_id;
}

/* Memory that is freed has a link in the blob's first word. It may be given to other code, whose
 * words come one by one: its method may have the address of the one before, while the number is
 * not there yet. */
bool java_remained(const struct java_layout *l, const uint8_t *first, const uint8_t *last,
	size_t len)
{
	const struct {
		uint16_t at, width;
	} fields[] = { { 0, 8 }, { l->method, 8 }, { l->compile_id, 4 },
		{ l->frame_complete, l->code_is_offset ? 2 : 4 },
		{ l->code, l->code_is_offset ? 4 : 8 }, { l->stub, 4 }, { l->tables, 8 },
		{ l->scopes_data, l->tables ? 4 : 8 }, { l->pcs, 4 }, { l->pcs_end, 4 },
		{ l->metadata, l->tables ? 8 : 4 }, { l->relocation_bytes, 4 } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t at = (size_t)l->block_bytes + fields[i].at;

		if (at + fields[i].width > len ||
			memcmp(first + at, last + at, fields[i].width) != 0)
			return false;
	}
	return true;
}
