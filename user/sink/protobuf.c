/* SPDX-License-Identifier: Apache-2.0 */
/* sink/protobuf.c - numbers in groups of seven bits, low ones first; what has a length has it in
 * front. */
#include "sink/protobuf.h"

#include "base/buf.h"

#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define VARINT_BYTES_MAX 10

int protobuf_packed(struct buf *out, uint64_t value)
{
	char bytes[VARINT_BYTES_MAX];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	return buf_put(out, bytes, len);
}

int protobuf_number(struct buf *out, uint32_t field, uint64_t value)
{
	int err = value > 0 ? protobuf_packed(out, (uint64_t)field << 3 | WIRE_VARINT) : 0;

	return err < 0 || value == 0 ? err : protobuf_packed(out, value);
}

int protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t size)
{
	int err = protobuf_packed(out, (uint64_t)field << 3 | WIRE_BYTES);

	if (err == 0)
		err = protobuf_packed(out, size);
	return err < 0 ? err : buf_put(out, data, size);
}

int protobuf_message(struct buf *out, uint32_t field, const struct buf *message)
{
	return protobuf_bytes(out, field, message->data, message->len);
}
