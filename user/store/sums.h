/* SPDX-License-Identifier: Apache-2.0 */
/* store/sums.h - accounts as JSON, added up and taken from each other. What is the largest, the
 * rate or a level is no sum and stays what it is, or the larger of two. */
#pragma once

#include <jansson.h>

/* to += more; to is an object. */
void sums_add(json_t *to, json_t *more);
/* to -= less: what came to be since. Levels keep their value. */
void sums_subtract(json_t *to, json_t *less);
