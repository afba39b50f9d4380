/* SPDX-License-Identifier: Apache-2.0 */
/* sink/guessed.h - computes the share of a profile that is guessed, as a remark in its formats. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/sink.h"

#define GUESSED_MAX 64

/* The share of the samples whose stacks have PROFILE_GUESSED, as a few words, perhaps with
 * '<' or '>'; "": none. */
const char *guessed_text(const struct profile *profile, char text[GUESSED_MAX]);
/* folded_write, and the words as a last line: a comment for us, for other readers a stack of no
 * samples. */
int guessed_write_folded(
	const struct profile *profile, const struct sink_options *options, struct buf *out);
