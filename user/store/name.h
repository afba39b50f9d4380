/* SPDX-License-Identifier: Apache-2.0 */
/* store/name.h - a segment's file name: `20261121T094000.000Z-60s.folded.zst`.
 * Names sort by the segment's start. A second segment of the same moment has `-2` after the
 * seconds, and so on. The exact times are in the segment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STORE_NAME_MAX 80
#define STORE_NAME_ENDING ".folded.zst"

/* number 1 is not part of the name. */
void store_name(uint64_t start_ns, uint64_t end_ns, unsigned int number, char out[STORE_NAME_MAX]);
bool store_name_is_segment(const char *name);
