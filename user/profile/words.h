/* SPDX-License-Identifier: Apache-2.0 */
/* profile/words.h - text as lines and words, for the readers of profiles. Nothing is copied: a part
 * points into the text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* The next line, without its end, which is \n or \r\n. */
struct bytes words_line(struct cursor *text);
/* The next run without blanks; empty at the end. */
struct bytes words_next(struct cursor *line);
/* Digits at the cursor. False: none, or too large a number. */
bool words_number(struct cursor *line, uint64_t *out);
/* A word of 1 to 16 hexadecimal digits? */
bool words_hex(struct bytes word, uint64_t *out);
bool words_is_blank(uint8_t c);
bool words_is(struct bytes b, const char *text);
bool words_begins(struct bytes b, const char *text);
bool words_ends(struct bytes b, const char *text);
/* Is the name one of the list's: "cpu, wall"? */
bool words_listed(const char *list, const char *name);
