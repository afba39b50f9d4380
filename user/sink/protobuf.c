/* SPDX-License-Identifier: Apache-2.0 */
/* sink/protobuf.c - a field is its number and wire type, then a varint, which is a ULEB128, or a
 * length and bytes. */
#include "sink/protobuf.h"

#include "base/buf.h"

#define WIRE_VARINT 0
#define WIRE_BYTES 2

void protobuf_number(struct buf *out, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	buf_put_uleb(out, (uint64_t)field << 3 | WIRE_VARINT);
	buf_put_uleb(out, value);
}

void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t size)
{
	buf_put_uleb(out, (uint64_t)field << 3 | WIRE_BYTES);
	buf_put_uleb(out, size);
	buf_put(out, data, size);
}

void protobuf_message(struct buf *out, uint32_t field, const struct buf *message)
{
	buf_fail(out, buf_err(message));
	protobuf_bytes(out, field, message->data, message->len);
}
