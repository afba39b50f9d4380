/* SPDX-License-Identifier: Apache-2.0 */
/* sink/file.h - one output of a format, from its first byte to its last.
 * A format that streams is given one profile after another, each the ticks of a while, and writes
 * each at once; others are given one profile. */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

struct sink;
struct sink_options;

#define SINK_OUT_BYTES (256 * 1024) /* that are gathered before they are handed on */

/* Where a sink's bytes go. */
struct sink_out {
	struct buf buf;
	/* Takes all of buf. NULL: they stay there. An error ends the output and stays in buf. */
	int (*take)(void *ctx, const struct buf *bytes);
	void *ctx;
};

/* Hands on what is in buf when it is much: to be called between the parts of an output. Returns
 * the output's first error. */
int sink_out_more(struct sink_out *out);

/* What a format that streams has in place of `write`. */
struct sink_stream {
	int (*open)(const struct sink_options *options, void **state);
	/* The first time its head, too. */
	int (*put)(void *state, const struct profile *profile, struct sink_out *out);
	int (*end)(void *state, struct sink_out *out);
	void (*free)(void *state); /* also half-way; NULL is fine */
};

struct sink_file {
	const struct sink *sink;
	const struct sink_options *options; /* the caller's */
	void *state;
	struct sink_out out;
};

/* out.take and out.ctx are the caller's to set. All return 0, -ENOMEM or what take does. */
int sink_file_open(
	struct sink_file *file, const struct sink *sink, const struct sink_options *options);
int sink_file_put(struct sink_file *file, const struct profile *profile);
/* The last bytes are handed on. */
int sink_file_end(struct sink_file *file);
void sink_file_done(struct sink_file *file);
