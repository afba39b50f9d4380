/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_method.h - methods of HotSpot's, as language/java_code.h finds them in an image:
 * each is read once, whatever the number of codes and places that it is in. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "language/java_image.h"

struct java_line {
	uint32_t bci, line;
};

struct java_method {
	uint64_t address;
	struct bytes name, class; /* in the image */
	uint32_t name_at, file_at; /* in the texts */
	uint32_t lines_first, lines_len;
	bool is_whole;
};

struct java_methods {
	struct java_image *image;
	VEC(struct java_method) all;
	struct hash at; /* address → index */
	VEC(struct java_line) lines; /* of a method by rising bci */
	struct buf texts;
};

void java_methods_done(struct java_methods *methods);
/* NULL: it is malformed, or not all of it is there. Valid until the next call. */
const struct java_method *java_method_find(struct java_methods *methods, uint64_t address);
/* Both valid until the next java_method_find(). The file is "" where none is known. */
const char *java_method_name(const struct java_methods *methods, const struct java_method *method);
const char *java_method_file(const struct java_methods *methods, const struct java_method *method);
/* Where in the bytecode lines begin, by rising place. */
size_t java_method_lines(const struct java_methods *methods, const struct java_method *method,
	const struct java_line **lines);
/* The line of a place in the bytecode. 0: unknown. */
uint32_t java_method_line(
	const struct java_methods *methods, const struct java_method *method, int64_t bci);
