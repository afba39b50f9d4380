/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jitdump.h - names and lines that a JIT writes into jit-PID.dump, read as the file grows. A
 * header, then records with their sizes. Code exists from its record's time (CLOCK_MONOTONIC) until
 * a later record reuses its bytes. Only byte order, size and flags of the header are used: writers
 * differ in its time. Source: the kernel's tools/perf/Documentation/jitdump-specification.txt, and
 * the files that runtimes write. */
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
#define JITDUMP_NAME_MAX 4096         /* longer names are cut */
#define JITDUMP_RECORD_MAX (1U << 28) /* longer records are damage */
#define JITDUMP_DEBUG_MAX (1U << 20)  /* parsed bytes of a DEBUG_INFO record */

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
	size_t bad;       /* malformed records; the rest of the file is still read */
	size_t unmoved;   /* moves of unknown code */
	size_t full;      /* names dropped at a limit, which lasts until the reset */
	size_t cut;       /* names cut */
	size_t lines_bad; /* DEBUG_INFO that was malformed or had no LOAD */
	size_t lines_full;
	size_t entries;
	size_t memory_bytes;
};

struct jitdump_entry {
	uint32_t name;  /* offset in names; 0: none */
	uint32_t lines; /* offset in lines; 0: none */
	uint32_t moved; /* distance from the base of the lines to the start, or 0 */
};

/* A DEBUG_INFO that waits for its LOAD. */
struct jitdump_pending {
	uint64_t code_addr;
	uint32_t lines; /* 0: none */
};

struct jitdump {
	struct jitdump_limits limits;
	enum {
		JITDUMP_IN_HEADER,
		JITDUMP_AFTER_HEADER,
		JITDUMP_IN_PREFIX,
		JITDUMP_IN_RECORD,
		JITDUMP_BROKEN,
	} state;
	struct buf head;  /* the gathered part of the header or record */
	size_t head_want; /* full length of the head */
	uint64_t skip;    /* bytes to skip after it */
	bool has_no_times;
	bool is_full;
	struct tenancy tenancy;
	VEC(struct jitdump_entry) entries; /* by the tenant's id */
	struct buf names;
	struct buf lines;
	uint32_t last_file;   /* offset in names */
	uint64_t lines_shift; /* smallest distance of a line from its code's start; up to 64 */
	struct jitdump_pending pending;
	struct jitdump_stats stats;
};

int jitdump_init(struct jitdump *dump, const struct jitdump_limits *limits);
void jitdump_done(struct jitdump *dump);
/* Takes the next bytes of the file, cut anywhere. A record counts when it is complete. -EBADMSG:
 * not a jitdump; -ENOTSUP: the other byte order or another version; -EINVAL: a record of an
 * impossible size, so no later record can be found; -ENOMEM. After an error the dump keeps its
 * names and refuses further bytes with -EBADMSG until the reset. */
int jitdump_feed(struct jitdump *dump, const void *data, size_t len, struct why *why);
/* For a file that was truncated and rewritten: drops everything except the limits. 0 or -ENOMEM. */
int jitdump_reset(struct jitdump *dump);

struct jitdump_name {
	const char *name; /* as written */
	const char *file; /* "" if unknown */
	uint32_t line;    /* 0: unknown */
	bool early;       /* the code was recorded after the requested time */
	uint64_t start;   /* of the code, in the process */
};

/* The code at an address at a time (UINT64_MAX: at the end). A runtime records code after it
 * compiled it, or, if recording was enabled late, hours later. So if no record is old enough, the
 * first later one answers, with early set. False: no record covers the address, or its code has no
 * name. Strings are valid until the next feed or reset. */
bool jitdump_find(struct jitdump *dump, uint64_t addr, uint64_t at_ns, struct jitdump_name *out);
void jitdump_stats(const struct jitdump *dump, struct jitdump_stats *out);

/* The number in the name of a jitdump: jit-NUMBER.dump, or jit-NUMBER-NUMBER-ANYTHING as one
 * runtime has it. It is the pid of the process that began it. 0: it is no such name. */
pid_t jitdump_number(const char *path);
