/* SPDX-License-Identifier: Apache-2.0 */
/* base/amount.c - one table of units, smallest first for each kind. */
#include "base/amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static const struct unit {
	enum amount kind;
	const char *name;
	double size;
} units[] = {
	{ AMOUNT_COUNT, "", 1 },
	{ AMOUNT_DURATION, "", 1e9 },
	{ AMOUNT_DURATION, "s", 1e9 },
	{ AMOUNT_DURATION, "m", 60e9 },
	{ AMOUNT_DURATION, "h", 3600e9 },
	{ AMOUNT_DURATION, "d", 86400e9 },
	{ AMOUNT_SIZE, "", 1 },
	{ AMOUNT_SIZE, "K", 1024 },
	{ AMOUNT_SIZE, "M", 1048576 },
	{ AMOUNT_SIZE, "G", 1073741824 },
	{ AMOUNT_SHARE, "%", 10 },
};

static const char *const examples[AMOUNTS] = {
	[AMOUNT_COUNT] = "a whole number",
	[AMOUNT_DURATION] = "a time such as 60s, 5m, 1h or 7d",
	[AMOUNT_SIZE] = "a size such as 512K, 32M or 2G",
	[AMOUNT_SHARE] = "a share such as 1% or 0.5%",
};

const char *amount_example(enum amount kind)
{
	return examples[kind];
}

bool amount_parse(enum amount kind, const char *text, double *out)
{
	size_t len = strspn(text, "0123456789.");
	char *end;

	if (len == 0 || len > 20 || (kind == AMOUNT_COUNT && memchr(text, '.', len)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (units[i].kind != kind || strcmp(text + len, units[i].name) != 0)
			continue;
		*out = strtod(text, &end) * units[i].size;
		return end == text + len;
	}
	return false;
}

void amount_put(enum amount kind, uint64_t amount, char *out, size_t size)
{
	const struct unit *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].kind == kind && (!best || amount % (uint64_t)units[i].size == 0))
			best = &units[i];
	snprintf(out, size, "%.15g%s", (double)amount / best->size, best->name);
}
