/* SPDX-License-Identifier: Apache-2.0 */
/* profile/fit.h - a profile whose text fits in memory and on a disk, whatever names it met.
 * A name may have 4096 bytes and a stack 127 frames, so a process can ask for half a megabyte of
 * text a sample. */
#pragma once

#include "profile/profile.h"

#define PROFILE_TEXT_MAX (64UL << 20) /* of all samples' stacks, one behind the other */

/* When the names of all samples' frames are of more bytes than text_max, cuts the longest ones, the
 * less the better: to 1024, to 256, or to 96 bytes, with `...` at their ends. Returns how many were
 * cut. Nothing may be added to the profile afterwards. */
uint64_t profile_fit(struct profile *profile, uint64_t text_max);
