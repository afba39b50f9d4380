/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming.h - resolves raw frames to frames with names, in a profile.
 * Names are resolved in batches, one a file or process: first naming_want collects the places of an
 * interval's frames, each once, then naming_resolve names them, then naming_frames returns each.
 * There may not be time for all: so accounts (base/share.h) whose names took much of the worker's
 * time come last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/share.h"
#include "base/vec.h"
#include "agent/account.h"
#include "agent/calls.h"
#include "sampler/kernel_names.h"
#include "files/objects.h"
#include "files/processes.h"
#include "profile/profile.h"
#include "sampler/tally.h"
#include "client/client.h"
#include "client/codes.h"

struct agent_options;

#define UNNAMED(reason) (-1 - (int32_t)(reason))

struct naming_place {
	uint64_t owner;   /* kind, and object or process */
	uint64_t address; /* in a file with ELF_SYM_CALLER, if the frame is not a leaf */
	uint64_t account; /* of those whose samples are here, one that took least of the worker */
	uint64_t samples; /* weights given to naming_frames */
	uint32_t id;      /* of naming_want */
	uint32_t first, len; /* range in frame_ids: the inlined functions, then the function */
	int32_t source;      /* enum name_source, or UNNAMED() of enum unnamed_reason */
	bool interpreter;    /* code that runs a language's */
};

/* The places of one owner. */
struct naming_run {
	size_t first, len;
	uint64_t account;
};

struct naming {
	struct objects *objects; /* owned by the agent, like the next four */
	struct containers *containers;
	struct processes *processes;
	struct java_tables *tables; /* NULL: none */
	struct worker_client *worker;
	struct kernel_names *kernel;
	struct tally *tally;
	bool demangle;
	bool keep_tiers;                 /* of JIT names */
	bool keep_native;                /* frames of interpreters in stacks of their code */
	bool keep_runs;                  /* of code of JITs without a name: each frame */
	bool spare;                      /* save memory rather than time */
	bool lines;                      /* inlined frames, source files and lines */
	struct profile *profile;         /* the profile that receives frames */
	VEC(struct naming_place) places; /* after naming_resolve: sorted */
	VEC(uint32_t) place_at;          /* by id: index in places */
	struct hash place_ids;           /* hash of a place → id */
	VEC(struct naming_run) runs;     /* from the next one on: not named yet */
	struct share_turns turns;        /* accounts' turns of the worker's time */
	VEC(uint32_t) frame_ids;         /* ids in the profile, innermost first */
	VEC(uint64_t) addresses;         /* of the current batch */
	VEC(struct proto_code) codes;    /* the same, of code of languages, */
	VEC(uint32_t) asked;             /* and the index in the batch of each of their places */
	struct calls calls;              /* what is known of calls in the same files */
	struct hash frames_of;   /* tgid → frames of the process in the interval */
	struct hash sets;        /* object and view → set of debug files, of the interval */
	uint32_t task, view;     /* the latest task, its view, */
	uint64_t account;        /* and its account */
	bool by_view;            /* the latest naming_want depends on the view */
	uint64_t until_ns;       /* deadline for workers */
	uint64_t lines_until_ns; /* deadline for lines; then only names are requested */
	uint64_t at_ns;          /* CLOCK_MONOTONIC of the samples, for code that is unloaded */
	struct why note;         /* a note for the user; "": none */
};

/* Takes the options that are about names. */
void naming_set(struct naming *naming, const struct agent_options *options);
void naming_done(struct naming *naming);
/* Frames go to this profile from now on; their samples end at at_ns. */
void naming_begin(
	struct naming *naming, struct profile *profile, uint64_t until_ns, uint64_t at_ns);
/* The number of the root that a task's process has (files/views.h). */
uint32_t naming_view(struct naming *naming, const struct tally_task *task);
/* The latest task's account took less of the worker's time than this one: what names both have are
 * to be wanted for it again. */
bool naming_pays(const struct naming *naming, uint64_t account);
/* caller: the frame is not a leaf. *id, of the frame's place, is valid until the next naming_begin.
 * After naming_resolve there are no new places. */
int naming_want(struct naming *naming, const struct tally_task *task, uint64_t raw, bool caller,
	uint32_t *id);
int naming_resolve(struct naming *naming);

/* The profile's frames for the place `id`, sampled `weight` times, innermost first; the last is
 * the function itself, the others are inlined into it. *ids is valid until the next naming_begin;
 * returns its length. */
uint32_t naming_frames(
	struct naming *naming, uint32_t id, uint64_t weight, const uint32_t **ids);
/* Is the place code that runs a language's, of which the stack has frames, too? */
bool naming_is_interpreter(const struct naming *naming, uint32_t id);
/* Is the place code of a JIT's without a name? Those of a process have one name. */
bool naming_is_unnamed_jit(const struct naming *naming, uint32_t id);
/* Adds the samples of all places to the account: under the source of their name, or the reason for
 * none. */
void naming_count(struct naming *naming, struct account *account);
