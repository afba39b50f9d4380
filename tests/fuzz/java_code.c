/* SPDX-License-Identifier: Apache-2.0 */
/* java_code.c - the memory of a process with HotSpot is what the bytes say, at every address: the
 * reading of its code comes to an end, and gives tables that are valid. The bytes as they are, too,
 * are a reply of a worker. */
#include "fuzz.h"

#include "language/java_code.h"
#include "language/java_image.h"
#include "language/java_reply.h"

#define ROUNDS_MAX 16
#define COPY_MAX 65536

/* The bytes at an address repeat, so that some addresses lead to others. */
static void copy(const uint8_t *data, size_t size, const struct java_range *range, struct buf *out)
{
	for (uint64_t at = range->start; at < range->end; at++)
		buf_putc(out, (char)(at - range->start < COPY_MAX ? data[at % size] : 0));
}

static void touch_tables(const struct java_reply *reply, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		const struct java_table *table = java_reply_next(reply, &at);

		for (uint32_t place = 0; table && place < 4096; place += 7) {
			const struct java_frame *frame = java_table_find(table, place);
			int depth = 0;

			for (; frame; frame = java_table_outer(table, frame)) {
				touch_text(java_table_text(table, frame->name));
				touch_text(java_table_text(table, frame->file));
				must(++depth <= JAVA_DEPTH_MAX);
			}
		}
	}
}

/* True: it was the last round. */
static bool read_once(const struct java_image_head *head, const struct java_wanted *code,
	struct buf *ranges, const struct buf *bytes, uint32_t *wants)
{
	_cleanup_(buf_done) struct buf image = BUF_INIT, reply = BUF_INIT;
	const struct java_reply *got;

	buf_put(&image, head, sizeof(*head));
	buf_put(&image, code, sizeof(*code));
	buf_append(&image, ranges);
	must(buf_append(&image, bytes) == 0);
	if (java_code_read(image.data, image.len, &reply) < 0)
		return true;
	must(java_reply_valid(reply.data, reply.len, 1));
	got = (const struct java_reply *)reply.data;
	*wants = got->ranges_len;
	if (*wants == 0)
		touch_tables(got, 1);
	else
		buf_put(ranges, java_reply_ranges(got), *wants * sizeof(struct java_range));
	return *wants == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf ranges = BUF_INIT, bytes = BUF_INIT, whole = BUF_INIT;
	struct java_image_head head = { .codes_len = 1 };
	struct java_wanted code = { 0 };

	must(buf_put(&whole, data, size) == 0);
	if (java_reply_valid(whole.data, size, 1) &&
		((const struct java_reply *)whole.data)->ranges_len == 0)
		touch_tables((const struct java_reply *)whole.data, 1);
	if (size < sizeof(head.layout) + sizeof(code) + 64)
		return 0;
	memcpy(&head.layout, data, sizeof(head.layout));
	memcpy(&code, data + sizeof(head.layout), sizeof(code));
	code.name_bytes %= CODE_NAME_BYTES + 1;
	code.class_bytes %= CODE_NAME_BYTES + 1;
	data += sizeof(head.layout) + sizeof(code);
	size -= sizeof(head.layout) + sizeof(code);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		uint32_t wants = 0;

		if (read_once(&head, &code, &ranges, &bytes, &wants))
			break;
		for (uint32_t n = head.ranges_len; n < head.ranges_len + wants; n++)
			copy(data, size, (const struct java_range *)ranges.data + n, &bytes);
		head.ranges_len += wants;
		if (bytes.len > JAVA_IMAGE_BYTES_MAX)
			break;
	}
	return 0;
}
