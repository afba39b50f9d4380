/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what the fuzz targets share. A target takes any bytes, must come to an end soon, and
 * says that something is wrong by dying. Its name is its file's; ended by libFuzzer's main or, for
 * replaying what was found, by replay.c's. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "elf/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must be true whatever the bytes are. */
static inline void must(int holds)
{
	if (!holds)
		abort();
}

/* A text of its own, with a NUL behind it and none in it. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* Reads every byte, for the sanitizers to see whether it may be. */
static inline void touch(const void *data, size_t size)
{
	const volatile uint8_t *at = data;

	for (size_t i = 0; i < size; i += 64)
		(void)at[i];
	if (size > 0)
		(void)at[size - 1];
}

static inline void touch_text(const char *text)
{
	touch(text, strlen(text) + 1);
}
