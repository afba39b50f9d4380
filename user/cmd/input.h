/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.h - loads a profile's file of any supported format. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "profile/profile.h"
#include "sink/sink.h"

struct input {
	const char *path;       /* "-" is stdin; the contents determine compression and format */
	/* Events or kinds to read, by names separated by commas, each a kind of out; NULL: of perf
	 * text the first event, of folded text all kinds. */
	const char *event;
	struct sink_options by; /* result: the labels that the file names; .by and .by_len alone */
	uint64_t text_max;      /* result: bytes of text that may be made of the file */
};

/* *out is fresh from profile_init. Warns of samples of other events, which are left out, and of
 * lines that cannot be read. -EBADMSG with why: no supported format, or over 1 % of the lines
 * cannot be read; -EINVAL with why: no such event; -EFBIG with why: its stacks are more text than
 * text_max; other -errno with why. */
int input_load(struct input *input, struct profile *out, struct log *log, struct why *why);
/* For a format that writes the whole stack of each tick. The same -EFBIG with why, or -ENOMEM. */
int input_check_ticks(const struct input *input, const struct profile *profile, struct why *why);
