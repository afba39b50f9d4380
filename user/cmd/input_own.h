/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input_own.h - loads the files that stoker itself writes. All as input_load. */
#pragma once

#include "base/cursor.h"
#include "cmd/input.h"
#include "store/segment.h"

/* A file that stoker_looks_like. Damage is an error where nothing could be read, and else a
 * warning. */
int input_read_stoker(struct input *input, struct bytes file, struct profile *out, struct log *log,
	struct why *why);
int input_read_segment(struct input *input, struct segment *segment, struct profile *out,
	struct log *log, struct why *why);
