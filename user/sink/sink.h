/* SPDX-License-Identifier: Apache-2.0 */
/* sink/sink.h - profile → bytes. A new format is a file here, its declaration below and its line in
 * sink.c; HACKING.md names the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "sink/file.h"

#define SINK_THREAD_CPU 100000U /* plus a thread's id: no CPU has such a number */

#define SINK_BY_MAX (PROFILE_KEYS + PROFILE_FREE_MAX)

struct sink_options {
	/* The leading frames of a folded stack, in order: enum profile_key, or PROFILE_KEYS + an
	 * index in free. */
	uint32_t by[SINK_BY_MAX];
	uint32_t by_len;
	char free[PROFILE_FREE_MAX][PROFILE_KEY_BYTES_MAX + 1]; /* names of free keys */
	uint32_t free_len;
	bool no_period;  /* of perf text: lines without the weight of a sample */
	bool label_line; /* of folded text: a first line that names the keys of by */
	bool lines_only; /* of folded text: no line that names the kind */
	bool idle_mark;  /* of folded text: idle threads have a mark at the end: store/line.h */
	uint32_t kind;   /* of folded text: the kind that is written, mostly 0 */
	bool perfview;   /* of perf text: an unknown CPU is SINK_THREAD_CPU + id; perf_idle.h */
};

/* The data that a format needs. A capture does not record what no format needs. */
enum sink_needs {
	SINK_TIMES = 1,        /* profile.ticks */
	SINK_TIDS = 2,         /* labels.tid */
	SINK_TIMES_BY_TID = 4, /* SINK_TIMES where --by has tid */
	SINK_GZIP = 8,         /* the file is compressed, whatever its name */
	SINK_TIMED = 16,       /* without profile.ticks the file would be empty or wrong */
};

/* The parts of a profile that a format has room for; lost.h counts the rest. */
enum sink_holds {
	SINK_KINDS = 1,     /* all kinds of value; else kind 0 */
	SINK_LABELS = 2,    /* all free labels */
	SINK_LABELS_BY = 4, /* free labels of --by */
	SINK_EVENTS = 8,
	SINK_ACCOUNT = 16,
};

struct sink {
	const char *name;    /* of -f */
	const char *endings; /* of file names, separated by blanks, each with its dot */
	const char *text;    /* for --help */
	uint32_t needs;      /* enum sink_needs */
	/* Appends the whole profile to out. Returns buf_err(out). NULL: it streams. */
	int (*write)(
		const struct profile *profile, const struct sink_options *options, struct buf *out);
	const struct sink_stream *stream;
	uint32_t holds; /* enum sink_holds */
};

/* NULL: no such format. */
const struct sink *sink_find(const char *name);
/* The format for the end of a file's name, without .gz or .zst; NULL: none. */
const struct sink *sink_for_path(const char *path);
/* All of them; the last has no name. */
const struct sink *sink_list(void);

/* "container,comm" → options->by. -EINVAL with why. */
int sink_parse_by(const char *text, struct sink_options *options, struct why *why);
/* enum sink_needs with these options; SINK_TIMES_BY_TID has become SINK_TIMES or nothing. */
uint32_t sink_needs(const struct sink *sink, const struct sink_options *options);
/* -EINVAL with why, which lists the others, if the format is SINK_TIMED and source has no times. */
int sink_check_times(const struct sink *sink, const char *source, bool timed, struct why *why);
/* The same of waits, which have none: formats of all kinds have a place for them. */
int sink_check_waits(const struct sink *sink, const char *source, struct why *why);
/* -EINVAL with why if an option is for another format. */
int sink_check_options(const struct sink *sink, const struct sink_options *o, struct why *why);
/* Takes --by of other options. */
void sink_copy_by(struct sink_options *options, const struct sink_options *from);
/* Is the well-known key one of --by? */
bool sink_wants(const struct sink_options *options, uint32_t key);
/* The name of the i-th key of --by, without PROFILE_FREE_PREFIX. */
const char *sink_by_name(const struct sink_options *options, uint32_t i);
/* Appends the keys of --by, as sink_parse_by reads them. */
int sink_put_by(struct buf *out, const struct sink_options *options);

/* The text of a label of a set; "?": not known. The text is raw: it may come from a stranger.
 * number is room for the text of labels that are numbers. */
#define SINK_NUMBER_MAX 16
const char *sink_label(const struct profile *profile, uint32_t labels, uint32_t key,
	char number[SINK_NUMBER_MAX]);
/* The same of the i-th key of --by. */
const char *sink_by_label(const struct profile *profile, const struct sink_options *options,
	uint32_t labels, uint32_t i, char number[SINK_NUMBER_MAX]);

extern const struct sink_stream perf_text_stream, perfview_stream;
int folded_write(
	const struct profile *profile, const struct sink_options *options, struct buf *out);
/* folded and an empty line, for a reader of several profiles in a row. */
int intervals_write(
	const struct profile *profile, const struct sink_options *options, struct buf *out);
int stoker_write(const struct profile *p, const struct sink_options *options, struct buf *out);
int pprof_write(const struct profile *profile, const struct sink_options *options, struct buf *out);
int speedscope_write(
	const struct profile *profile, const struct sink_options *options, struct buf *out);
int firefox_write(
	const struct profile *profile, const struct sink_options *options, struct buf *out);
int svg_write(const struct profile *profile, const struct sink_options *options, struct buf *out);
int html_write(const struct profile *profile, const struct sink_options *options, struct buf *out);
