/* SPDX-License-Identifier: Apache-2.0 */
/* store/sums.h - adds and subtracts accounts, as JSON. Maxima, frequencies and levels are no sums:
 * adding keeps the larger of two, subtracting keeps the first. */
#pragma once

#include <jansson.h>

/* to += more. to is an object. */
void sums_add(json_t *to, json_t *more);
/* to -= less. */
void sums_subtract(json_t *to, json_t *less);
