/* SPDX-License-Identifier: Apache-2.0 */
/* base/amount.h - amounts as people write them: 19, 2s, 512K, 0.5%. Text in, numbers out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum amount {
	AMOUNT_COUNT,    /* a whole number */
	AMOUNT_DURATION, /* nanoseconds, from seconds, or with s, m, h, d */
	AMOUNT_SIZE,     /* bytes, or with K, M, G */
	AMOUNT_SHARE,    /* thousandths, from per cent, such as 0.5% */
	AMOUNTS,
};

/* "a time such as 60s, 5m, 1h or 7d" */
const char *amount_example(enum amount kind);
/* Digits and at most one point in front of a unit. False: it is something else. */
bool amount_parse(enum amount kind, const char *text, double *out);
/* In the largest unit in which it is whole. */
void amount_put(enum amount kind, uint64_t amount, char *out, size_t size);
