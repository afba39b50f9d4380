/* SPDX-License-Identifier: Apache-2.0 */
/* sink/json.h - JSON text (RFC 8259), written as it comes: what a profile becomes may be large. */
#pragma once

struct buf;

/* A string with its quotes; what is not clean text (base/utf8.h) becomes '?'. */
void json_put(struct buf *out, const char *text);
