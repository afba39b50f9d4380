/* SPDX-License-Identifier: Apache-2.0 */
/* sink/file.h - one output of a format, from its first byte to its last.
 * A format that streams gets one profile after another, each with the ticks of some seconds, and
 * writes each at once. Other formats get one profile. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/lost.h"

#define SINK_OUT_BYTES (256 * 1024) /* bytes in buf from which on they are handed on */

/* The target of a sink's bytes. */
struct sink_out {
	struct buf buf;
	/* Writes all of buf. NULL: the bytes stay in buf. An error ends the output and stays in
	 * buf. */
	int (*take)(void *ctx, const struct buf *bytes);
	void *ctx;
};

/* Hands the bytes of buf on when there are SINK_OUT_BYTES or more. Called between the parts of an
 * output. Returns the output's first error. */
int sink_out_more(struct sink_out *out);

/* The calls of a format that streams, in place of `write`. */
struct sink_stream {
	int (*open)(const struct sink_options *options, void **state);
	/* The first call writes the head, too. */
	int (*put)(void *state, const struct profile *profile, struct sink_out *out);
	int (*end)(void *state, struct sink_out *out);
	void (*free)(void *state); /* in any state; state may be NULL */
};

struct sink_file {
	const struct sink *sink;
	const struct sink_options *options; /* the caller's */
	void *state;
	struct sink_out out;
	struct sink_lost lost; /* of the profiles that were put */
};

/* The caller sets out.take and out.ctx. All return 0, -ENOMEM or take's error. */
int sink_file_open(
	struct sink_file *file, const struct sink *sink, const struct sink_options *options);
int sink_file_put(struct sink_file *file, const struct profile *profile);
/* Hands the last bytes on. */
int sink_file_end(struct sink_file *file);
void sink_file_done(struct sink_file *file);
