/* SPDX-License-Identifier: Apache-2.0 */
/* base/utf8.h - makes untrusted text safe to print: valid UTF-8 (Unicode 15 §3.9, table 3-7)
 * without control characters. */
#pragma once

#include <stddef.h>

struct buf;

/* Bytes of the well-formed character at text; 0: none. text ends with a NUL. */
size_t utf8_char_len(const char *text);
/* Appends text with '?' for each control character (C0, DEL, C1, those that change the direction of
 * text or end a line, noncharacters) and each malformed byte. */
int utf8_put_clean(struct buf *out, const char *text);
/* The same in place. */
void utf8_clean(char *text);
