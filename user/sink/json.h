/* SPDX-License-Identifier: Apache-2.0 */
/* sink/json.h - JSON text (RFC 8259), written piece by piece, because a profile may be large. */
#pragma once

struct buf;

/* A string with its quotes. Bytes that are no clean text (base/utf8.h) become '?'. */
void json_put(struct buf *out, const char *text);
