/* SPDX-License-Identifier: Apache-2.0 */
/* files/object.h - one mapped file: its descriptors and its known facts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "bpf/reasons.h"
#include "files/debug_files.h"
#include "elf/build_id.h"
#include "proc/opener.h"
#include "wire/status.h"

struct language_trial;
struct openers;
struct openers_answer;
struct worker_rows;

#define OBJECT_HUNG_SECONDS 40

enum object_state {
	OBJECT_OPENED,
	OBJECT_ASKED,  /* an opener is asked for it */
	OBJECT_FAILED, /* see reason */
};

/* Debug files that are seen from a root; roots that lead to the same ones share the set. */
struct object_set {
	uint64_t key; /* hash of the files' keys; 0: unknown */
	uint32_t view;
	struct debug_files files;
};

struct object {
	uint32_t id;
	uint32_t met; /* the second of objects_trim */
	enum object_state state;
	enum object_reason reason;
	struct object_key key;
	uint32_t samples; /* samples that waited for the rows before the file was opened: */
	uint64_t account; /* of the latest of them */
	uint64_t payer;   /* account that was met with it first; who pays for its place if: */
	bool placed;
	int fd;
	uid_t uid;                      /* the file's owner */
	struct openers *openers;        /* NULL: it has no copy of the file */
	uint64_t copied, copier;        /* bytes of the copy, and the account that has them */
	bool again;                     /* hung, but it may be opened for another process */
	uint32_t view;                  /* of the process that mapped it first (files/views.h) */
	struct debug_files debug_files; /* debug files that name it for everybody */
	VEC(struct object_set) sets;    /* sets that name it for some; numbered from 1 on */
	struct hash seen;               /* view that was searched → number of its set, or 0 */
	char *path;                     /* in the mapping process's view; "": unknown */
	char *link;                     /* name in its .gnu_debuglink; NULL: none */
	char name[OBJECT_NAME_LEN];
	struct build_id build_id; /* len 0: none or unknown */
	size_t symbols;           /* set by the first query for names */
	uint32_t sources;         /* 1 << enum elf_sym_source, of the names */
	uint32_t names_status;    /* enum worker_status of the latest query for names */
	uint64_t unnamed;         /* frames, weighted by samples */
	uint32_t contents;        /* WORKER_HAS_*, set by a worker */
	struct hotspot_facts *hotspot; /* NULL: it is none */
	struct opener_process process; /* the latest that was met with it, */
	uint64_t base;                 /* where its offset 0 is or would be there */
	uint32_t language;             /* enum language_state */
	uint32_t language_version;     /* of LANGUAGE_UNKNOWN: CPython 3.version */
	struct language_trial *trial;  /* NULL: no trial runs */
	bool known;               /* a worker has examined it */
	bool wanted;              /* a frame of it was sampled */
	bool fetching;            /* a debug file is being fetched */
	bool wrong_index;         /* all of its unwind table is compiled at once */
};

/* State OBJECT_OPENED, without descriptors yet. NULL: no memory. */
struct object *object_new(uint32_t id, const char *name);
/* The file that BPF met in this second of objects_trim. */
struct object *object_meet(const struct event_object *event, uint32_t second);
/* BPF met it again, perhaps in another process. */
void object_meet_again(struct object *object, const struct event_object *event, uint32_t second);
/* Closes its descriptors. */
void object_free(struct object *object);
DEFINE_CLEANUP(struct object, object_free)

/* Takes an opener's answer: the mapped file; or the object fails, for a reason. */
void object_take(struct object *object, struct openers *openers, struct openers_answer *answer);
void object_drop_debug_files(struct object *object);
/* Closes the file, for this reason. */
void object_fail(struct object *object, enum object_reason reason);
bool object_is_forgotten(const struct object *object);
/* Was there no room for it, no descriptor, or no time? */
bool object_is_refused(const struct object *object);
bool object_lacks_place(const struct object *object);
bool object_lacks_time(const struct object *object);
/* Did its file system not answer? */
bool object_is_hung(const struct object *object);
/* Either of the two. */
bool object_waits(const struct object *object);
/* Is it time to try it again, as it was refused, or hung OBJECT_HUNG_SECONDS ago? */
bool object_is_due(const struct object *object, uint32_t second);
/* Did opening fail only because of the process that mapped it? */
bool object_may_come_again(const struct object *object);
/* Takes what a worker found in the file itself. */
void object_learn(struct object *object, const struct worker_rows *rows);
/* A worker answered so: enum worker_status, not WORKER_OK. */
void object_refuse(struct object *object, uint32_t status);
/* Why an object failed that a worker answered so for: enum worker_status. */
enum object_reason object_reason_of(uint32_t status);
/* Adds its debug files. */
void object_count_debug_files(const struct object *object, uint64_t *found, uint64_t *used,
	uint64_t refused[DEBUG_REASONS_LEN], uint64_t unread[FILE_REASONS_LEN]);
/* The number of objects that our limit of descriptors leaves room for. */
size_t object_places(void);
