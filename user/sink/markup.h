/* SPDX-License-Identifier: Apache-2.0 */
/* sink/markup.h - text inside XML and HTML. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define MARKUP_COUNT_MAX 32

/* Appends clean text (base/utf8.h) so that it stays text between tags and in attributes. */
void markup_put(struct buf *out, const char *text, size_t len);
void markup_puts(struct buf *out, const char *text);
/* 1234567 → "1,234,567". Returns room. */
const char *markup_count(uint64_t count, char room[MARKUP_COUNT_MAX]);
