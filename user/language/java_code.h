/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_code.h - makes tables of HotSpot's code (language/java_table.h) from an image of a
 * process's memory (language/java_image.h). Sources: OpenJDK, src/hotspot/share/code/pcDesc.hpp,
 * scopeDesc.cpp and debugInfo.hpp (what is inlined where), oops/constMethod.hpp and
 * method.cpp (lines), utilities/unsigned5.hpp (numbers). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends a struct java_reply and what follows it. -EBADMSG: the image is malformed; -EFBIG: it
 * wants too much; -ENOMEM. */
int java_code_read(const void *image, size_t size, struct buf *out);

/* A number of a table of lines or of scopes, and of those with a sign. Since version 20 no byte is
 * 0, so all are one more. */
struct cursor;
uint32_t java_number(struct cursor *c, bool is_more);
int64_t java_signed_number(struct cursor *c, bool is_more);
