/* SPDX-License-Identifier: Apache-2.0 */
/* store/segment.h - one interval's profile as a file that `zstdcat` turns into folded text.
 *     a skippable frame (RFC 8878 §3.1.2): the head, as JSON
 *     another: the account, as JSON; in version 2 as a Zstandard frame
 *     a Zstandard frame for each group, one after the other: folded lines of CPU samples
 *     likewise of each other kind of value, in a skippable frame each; the text of all CPU samples
 *     is the prefix (ZSTD_CCtx_refPrefix) that it needs, as both have the same names
 * A group has the lines with the same first frame, which is the first label of the head's `by`. So
 * a query for one container unpacks the frames of that container alone. Nothing here opens a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "base/vec.h"

#define SEGMENT_VERSION 2 /* 1: has CPU samples alone, and is written where that is so */
#define SEGMENT_SKIPPABLE_MAGIC 0x184D2A53U
#define SEGMENT_SKIPPABLE_BYTES 8 /* of a skippable frame's magic and size */
#define SEGMENT_KINDS_MAX 16 /* beside CPU samples */
/* Of more names, or longer ones together, the rest is in a last group without a name. */
#define SEGMENT_GROUPS_MAX 4096
#define SEGMENT_NAMES_BYTES_MAX (256U << 10)
/* Limit of the head, and of the account. */
#define SEGMENT_HEAD_BYTES_MAX (8U << 20)
/* Limit of the segments that were merged into one. */
#define SEGMENT_SOURCES_MAX 4096
/* Limit of a group's text, and of the account's. */
#define SEGMENT_TEXT_BYTES_MAX (1U << 30)

/* A kind of value (profile/kinds.h) beside CPU samples. */
struct segment_kind {
	const char *name, *unit; /* unit "": samples */
	uint64_t period_ns;      /* of samples: the time that one stands for; 0: unknown */
	struct bytes text;       /* as of segment_write; only there */
};

/* The amount that a value stands for, in which those of several segments can be added up. */
static inline uint64_t segment_weight(const struct segment_kind *kind)
{
	return kind->unit[0] == '\0' && kind->period_ns > 0 ? kind->period_ns : 1;
}

/* Facts about the whole interval. Strings are the caller's, or the segment's. */
struct segment_about {
	const char *host;
	const char *by;      /* "container,comm": the labels that are the first frames of a line */
	const char *account; /* JSON; not read by segment_open */
	uint64_t id;         /* random; below 2^63 */
	const uint64_t *sources; /* ids of the segments that it was merged from and replaces */
	size_t sources_len;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint32_t hz;               /* of CPU samples */
	const struct segment_kind *kinds;
	size_t kinds_len;
};

struct segment_group {
	const char *name; /* "": lines of any first frame */
	uint64_t samples; /* the sum of its values */
	size_t at, bytes; /* of its Zstandard frame in the file */
	size_t text_bytes;
	uint32_t kind; /* 0: CPU samples; else the index in about.kinds + 1 */
};

struct segment {
	struct segment_about about;
	uint64_t samples;                 /* of CPU */
	VEC(struct segment_group) groups; /* by kind and name; the one without a name last */
	VEC(struct segment_kind) kinds;   /* about.kinds */
	VEC(uint64_t) sources;            /* about.sources */
	struct bytes account; /* as JSON */
	struct buf account_text, prefix; /* unpacked; the latter when it is needed first */
	struct bytes file; /* the caller's; outlives the segment */
	void *json, *zstd;
};

/* Appends the file to out. text: folded lines, sorted as sink/folded.c leaves them. -EBADMSG: a
 * line without a count; -EFBIG: a limit above; -ENOMEM; -EIO: the library refused. out has failed
 * then, too (buf_err). */
int segment_write(const struct segment_about *about, struct bytes text, struct buf *out);

/* Reads the head. -ENOEXEC: no segment; -EBADMSG: damaged or cut short; -ENOTSUP: a later version.
 * On success *out is the caller's. */
int segment_open(const void *data, size_t len, struct segment **out, struct why *why);
void segment_free(struct segment *segment);
DEFINE_CLEANUP(struct segment, segment_free)

/* Appends the text of a group's Zstandard frame. zstd: a ZSTD_DCtx; prefix: the text of all CPU
 * samples for other kinds, else NULL. -EBADMSG: damaged, or of another size; -ENOMEM. */
int segment_unpack(void *zstd, struct bytes frame, size_t text_bytes, const struct buf *prefix,
	struct buf *text);
/* Appends a group's text. -EBADMSG: damaged; -ENOMEM. i < groups.len */
int segment_read(struct segment *segment, size_t i, struct buf *text);
