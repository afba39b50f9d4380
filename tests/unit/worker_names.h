/* SPDX-License-Identifier: Apache-2.0 */
/* worker_names.h - what a worker's client told of names, for tests. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "client/client.h"

/* The names that came, by index; "" for none. */
struct names {
	size_t len;
	char *text[16384];
	uint64_t start[16384];
	uint8_t source[16384];
};

static inline int on_name(void *ctx, size_t index, const struct worker_name *name)
{
	struct names *names = ctx;

	assert_true(index < ARRAY_SIZE(names->text));
	free(names->text[index]);
	names->text[index] = strdup(name->name);
	names->start[index] = name->start;
	names->source[index] = name->source;
	names->len++;
	return 0;
}

static inline void names_clear(struct names *names)
{
	for (size_t i = 0; i < ARRAY_SIZE(names->text); i++) {
		free(names->text[i]);
		names->text[i] = NULL;
	}
	names->len = 0;
}

static inline const char *name_at(const struct names *names, size_t i)
{
	return names->text[i] ? names->text[i] : "";
}
