/* SPDX-License-Identifier: Apache-2.0 */
/* sink/protobuf.c - numbers in groups of seven bits, low groups first; bytes follow their length.
 */
#include "sink/protobuf.h"

#include "base/buf.h"

#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define VARINT_BYTES_MAX 10

void protobuf_packed(struct buf *out, uint64_t value)
{
	char bytes[VARINT_BYTES_MAX];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	buf_put(out, bytes, len);
}

void protobuf_number(struct buf *out, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	protobuf_packed(out, (uint64_t)field << 3 | WIRE_VARINT);
	protobuf_packed(out, value);
}

void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t size)
{
	protobuf_packed(out, (uint64_t)field << 3 | WIRE_BYTES);
	protobuf_packed(out, size);
	buf_put(out, data, size);
}

void protobuf_message(struct buf *out, uint32_t field, const struct buf *message)
{
	buf_fail(out, buf_err(message));
	protobuf_bytes(out, field, message->data, message->len);
}
