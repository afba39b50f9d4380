/* SPDX-License-Identifier: Apache-2.0 */
/* base/line.h - fields of a text line, as the kernel and runtimes write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* The next line without its newline; false: no complete line. A last line without newline stays
 * unread. */
bool line_next(struct cursor *c, struct cursor *line);
/* One hex number, 0x or not, any case, any number of leading zeros. False: no digit, or over 64
 * bits; the line's position is then undefined. */
bool line_hex(struct cursor *line, uint64_t *out);
/* Skips blanks and tabs; false: none. */
bool line_blanks(struct cursor *line);
/* The rest, or the part before the next blank or tab. */
struct bytes line_rest(struct cursor *line);
struct bytes line_word(struct cursor *line);
