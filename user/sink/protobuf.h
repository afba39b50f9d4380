/* SPDX-License-Identifier: Apache-2.0 */
/* sink/protobuf.h - fields of a Protocol Buffers message, as bytes (the encoding document's wire
 * types 0 and 2). A message inside a message is made in a buffer of its own and put as bytes. Zeros
 * are the default and left out. A packed field is numbers by buf_put_uleb in a buffer, put as a
 * message. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;

void protobuf_number(struct buf *out, uint32_t field, uint64_t value);
void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t size);
/* A buffer that failed makes out fail. */
void protobuf_message(struct buf *out, uint32_t field, const struct buf *message);
