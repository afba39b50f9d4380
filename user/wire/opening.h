/* SPDX-License-Identifier: Apache-2.0 */
/* wire/opening.h - requests of the agent to an opener (worker/opening.h), and its replies: messages
 * of fixed sizes over a SOCK_SEQPACKET pair, each with a descriptor or none. Requests are answered
 * in their order, one reply each. */
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/opener.h"

/* Requests that one opener has at a time, and files that it may hold meanwhile. */
#define OPENING_IN_FLIGHT_MAX 16
#define OPENING_HELD_MAX (2 * OPENING_IN_FLIGHT_MAX)
#define OPENING_COPY_BYTES_MAX (32UL << 20) /* of a file */
#define OPENING_READ_BYTES_MAX (64UL << 20)

enum opening_kind {
	/* A mapped file: its descriptor; or, if a call of its file system may wait, no descriptor,
	 * but where the opener holds it mapped until OPENING_TAKE. */
	OPENING_MAPPED,
	OPENING_TAKE, /* what it holds there */
	OPENING_ROOT, /* a process's root directory, as an O_PATH descriptor */
	/* Those below have a path; their errors are -errno. */
	OPENING_DIR,      /* in the process's root: as opener_dir */
	OPENING_READ,     /* of /proc/PID: its text, in memory; -EFBIG: it is longer */
	OPENING_MEMORY,   /* ranges of the process's memory, one after another; zeros: unreadable */
	OPENING_PERF_MAP, /* in the directory that is given: opener_perf_map, else as OPENING_MAPPED
			   */
	/* The first of some paths, from a number on, that there is, in the root that is given: by a
	 * rule, and given in a way. */
	OPENING_FILES,
	OPENING_LIST, /* the names in a folder of the root that is given, each with its NUL */
	OPENING_CWD,  /* the folder above a process's working folder, as an O_PATH descriptor, and
		       * the working folder's path */
	OPENING_COPY_TEXT, /* what can be read from the descriptor that is given, in memory; it is
			    * cut at OPENING_READ_BYTES_MAX */
	OPENING_KINDS,
};

/* Ways to give a file that is held, or one of OPENING_FILES. */
enum opening_how {
	OPENING_OFFER, /* as OPENING_MAPPED */
	OPENING_PASS,  /* the descriptor itself */
	OPENING_COPY,  /* a sealed copy in memory, with its time of modification */
	OPENING_DROP,  /* not at all */
};

enum opening_rule {
	OPENING_FOR_USER, /* as opener_for_user */
	OPENING_ITSELF,   /* as opener_itself */
	OPENING_ANY,      /* as opener_in_root */
	OPENING_RULES,
};

struct opening_range {
	uint64_t start, end;
};

#define OPENING_RANGES_MAX (PATH_MAX / sizeof(struct opening_range))

struct opening_request {
	uint32_t kind; /* enum opening_kind; first, for base/orders.h */
	uint32_t how;  /* enum opening_how */
	uint64_t seq;  /* the reply repeats it */
	struct opener_mapping mapping; /* of OPENING_ROOT: the process alone */
	uint64_t held_at;              /* of OPENING_TAKE */
	uid_t uid;                     /* of OPENING_PERF_MAP and OPENING_FILES */
	pid_t ns_pid;                  /* of OPENING_PERF_MAP */
	uint32_t first, paths_len;     /* of OPENING_FILES */
	uint32_t rule;                 /* of OPENING_FILES */
	uint64_t bytes_max;            /* of OPENING_READ, OPENING_LIST, and of copies of files */
	uint64_t ranges_len;           /* of OPENING_MEMORY */
};

struct opening_message {
	struct opening_request request;
	union {
		char path[PATH_MAX]; /* several follow one another, each with its NUL */
		struct opening_range ranges[OPENING_RANGES_MAX];
	};
};

struct opening_reply {
	uint64_t seq;
	int32_t err;      /* -errno; -ETOOMANYREFS: as of fd_pass, so ask again later; for
			   * OPENING_MAPPED and OPENING_TAKE 1: refused, for this: */
	uint32_t reason;  /* enum object_reason */
	uint64_t held_at; /* 0: it is not held */
	uint64_t size_bytes;
	uint64_t dev, ino;   /* of stat(2) */
	uid_t uid;           /* the file's owner */
	uint32_t number;     /* of the path that was found; if none was, the number of paths */
	char path[PATH_MAX]; /* "": unknown */
};
