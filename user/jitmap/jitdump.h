/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jitdump.h - the names and lines that a JIT writes into jit-PID.dump, read as the file
 * grows. A header, then records of which each tells its size. Code that a record names is there
 * from the record's time (CLOCK_MONOTONIC) until a later record takes its bytes. Of the header only
 * the byte order, the size and the flags count: writers fill its time as they like. Source: the
 * kernel's tools/perf/Documentation/jitdump-specification.txt, and what runtimes really write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "jitmap/tenancy.h"

#define JITDUMP_ENTRIES_MAX (1U << 18)
#define JITDUMP_NAMES_BYTES_MAX (64U << 20)
#define JITDUMP_LINES_BYTES_MAX (32U << 20)
#define JITDUMP_NAME_MAX 4096         /* a longer name is cut */
#define JITDUMP_RECORD_MAX (1U << 28) /* a longer record cannot be meant */
#define JITDUMP_DEBUG_MAX (1U << 20)  /* bytes of a DEBUG_INFO record that are read */

struct jitdump_limits {
	size_t entries_max;
	size_t names_bytes_max;
	size_t lines_bytes_max;
};

#define JITDUMP_LIMITS                                                                \
	{                                                                             \
		JITDUMP_ENTRIES_MAX, JITDUMP_NAMES_BYTES_MAX, JITDUMP_LINES_BYTES_MAX \
	}

struct jitdump_stats {
	size_t loads;
	size_t moves;
	size_t bad;     /* records whose fields make no sense; the rest of the file is still read */
	size_t unmoved; /* moves of code that no record named */
	size_t full;    /* names dropped: a limit is reached, and that stays so until the reset */
	size_t cut;     /* names cut */
	size_t lines_bad; /* DEBUG_INFO that made no sense, and went with no LOAD */
	size_t lines_full;
	size_t entries;
	size_t memory_bytes;
};

struct jitdump_entry {
	uint32_t name;  /* offset in names; 0: none */
	uint32_t lines; /* offset in lines; 0: none */
	uint32_t moved; /* 0, or what lies between where the lines count from and the start */
};

/* DEBUG_INFO that waits for its LOAD. */
struct jitdump_pending {
	uint64_t code_addr;
	uint32_t lines; /* 0: there is none */
};

struct jitdump {
	struct jitdump_limits limits;
	enum {
		JITDUMP_IN_HEADER,
		JITDUMP_BEHIND_HEADER,
		JITDUMP_IN_PREFIX,
		JITDUMP_IN_RECORD,
		JITDUMP_BROKEN,
	} state;
	struct buf head;  /* what has come of the header or record, as far as it is read */
	size_t head_want; /* and how much of it will be */
	uint64_t skip;    /* bytes behind it that are not */
	bool has_no_times;
	bool is_full;
	struct tenancy tenancy;
	VEC(struct jitdump_entry) entries; /* by the tenant's id */
	struct buf names;
	struct buf lines;
	uint32_t last_file;   /* offset in names */
	uint64_t lines_shift; /* the least distance of a line from its code's start; up to 64 */
	struct jitdump_pending pending;
	struct jitdump_stats stats;
};

int jitdump_init(struct jitdump *dump, const struct jitdump_limits *limits);
void jitdump_done(struct jitdump *dump);
/* Takes the next bytes of the file, cut anywhere. A record counts when its last byte is there.
 * -EBADMSG: no jitdump; -ENOTSUP: of the other byte order or another version; -EINVAL: a record of
 * an impossible size, behind which nothing can be found; -ENOMEM. After these the dump takes no
 * more bytes until the reset (they answer -EBADMSG), and what it holds stays. */
int jitdump_feed(struct jitdump *dump, const void *data, size_t len, struct why *why);
/* The file was written anew: forgets everything but the limits. 0 or -ENOMEM. */
int jitdump_reset(struct jitdump *dump);

struct jitdump_name {
	const char *name; /* as written */
	const char *file; /* "" where the writer told none */
	uint32_t line;    /* 0: not told */
	bool early;       /* the code was told of only after the time asked for */
	uint64_t start;   /* of the code, in the process */
};

/* The code at this address at this time (UINT64_MAX: in the end). A runtime tells of code after it
 * made it, or, when asked late, after it ran it for hours: where nothing is known of the address by
 * then, the first record after it answers, with early set. False: no record covers the address, or
 * the one that does has no name. Strings live until the next feed or reset. */
bool jitdump_find(struct jitdump *dump, uint64_t addr, uint64_t at_ns, struct jitdump_name *out);
void jitdump_stats(const struct jitdump *dump, struct jitdump_stats *out);
