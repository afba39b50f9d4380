/* SPDX-License-Identifier: Apache-2.0 */
/* profile/fit.h - limits a profile's text, so that it fits in memory and on disk.
 * A name may have 4096 bytes and a stack 127 frames, so a process could cause half a megabyte of
 * text a sample. */
#pragma once

#include "profile/profile.h"

#define PROFILE_TEXT_MAX (64UL << 20) /* total of all samples' stacks */

/* If the names of all samples' frames exceed text_max bytes, cuts the longest names to 1024, 256 or
 * 96 bytes, the largest limit that is enough, with `...` at the end. Returns the number of names
 * that were cut. Do not add to the profile afterwards. */
uint64_t profile_fit(struct profile *profile, uint64_t text_max);
