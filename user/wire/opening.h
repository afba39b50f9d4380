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
#define OPENING_COPY_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

enum opening_kind {
	/* A mapped file: its descriptor; or, if a call of its file system may wait, no descriptor,
	 * but where the opener holds it mapped until OPENING_TAKE. */
	OPENING_MAPPED,
	OPENING_TAKE, /* what it holds there */
	OPENING_ROOT, /* a process's root directory, as an O_PATH descriptor */
	/* Those below have a path; their errors are -errno. */
	OPENING_DIR,      /* in the process's root: as opener_dir */
	OPENING_READ,     /* of /proc/PID: its text, in memory */
	OPENING_PERF_MAP, /* in the directory that is given: opener_perf_map, else as OPENING_MAPPED
			   */
	/* The first of some paths, from a number on, that there is, in the root that is given: as
	 * opener_for_user, else as OPENING_MAPPED. */
	OPENING_USER_FILES,
	OPENING_COPY_TEXT, /* all that can be read from the descriptor that is given, in memory */
	OPENING_KINDS,
};

/* Ways to give a file that is held. */
enum opening_how {
	OPENING_PASS, /* its descriptor */
	OPENING_COPY, /* a sealed copy in memory, with its time of modification */
	OPENING_DROP, /* not at all */
};

struct opening_request {
	uint64_t seq; /* the reply repeats it */
	uint32_t kind, how;
	struct opener_mapping mapping; /* of OPENING_ROOT: the process alone */
	uint64_t held_at;              /* of OPENING_TAKE */
	uid_t uid;                     /* of OPENING_PERF_MAP and OPENING_USER_FILES */
	pid_t ns_pid;                  /* of OPENING_PERF_MAP */
	uint32_t first, paths_len;     /* of OPENING_USER_FILES */
	uint32_t itself;               /* of OPENING_USER_FILES: not 0: as opener_itself */
};

struct opening_message {
	struct opening_request request;
	char path[PATH_MAX]; /* several follow one another, each with its NUL */
};

struct opening_reply {
	uint64_t seq;
	int32_t err;      /* 1 of OPENING_MAPPED and OPENING_TAKE: refused; of the others -errno */
	uint32_t reason;  /* if refused: enum object_reason */
	uint64_t held_at; /* 0: it is not held */
	uint64_t size_bytes;
	uint64_t dev, ino;   /* of stat(2) */
	uid_t uid;           /* the file's owner */
	uint32_t number;     /* of the path that was found; if none was, the number of paths */
	char path[PATH_MAX]; /* "": unknown */
};
