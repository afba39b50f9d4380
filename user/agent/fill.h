/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fill.h - an interval's counts become a profile's samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/account.h"
#include "agent/naming.h"
#include "profile/profile.h"
#include "sampler/tally.h"

#define FILL_RAW_MAX (STACK_USER_FRAMES_MAX + STACK_KERNEL_FRAMES_MAX + 3) /* and three marks */
#define FILL_FRAMES_MAX (4 * FILL_RAW_MAX) /* including inlined ones */

struct objects;
struct processes;
struct containers;

/* The callers in a raw half, under one root. Many halves differ in the leaf alone. */
struct fill_callers {
	uint64_t account; /* for whom they are wanted: who took least of the worker's time */
	uint32_t first;   /* index in fill.places: one for each caller */
	uint32_t stack;   /* a raw stack that has them, and its task */
	uint32_t task;
	uint32_t view;
	bool by_view;
};

struct fill_half {
	uint64_t account; /* as of callers */
	uint32_t leaf;    /* place (agent/naming.h) */
	uint32_t callers; /* index + 1; 0: none */
	uint32_t view;    /* the root of the latest task */
	bool made;
	bool by_view; /* the names depend on the root */
};

/* All pointers are borrowed. */
struct fill {
	struct profile *profile;
	struct tally *tally;
	struct naming *naming; /* after naming_begin */
	struct objects *objects;
	struct processes *processes;
	struct containers *containers;
	struct account *account;
	struct why note;              /* of fill_fit; "": none */
	uint32_t wall;                /* the kind of waits, */
	bool wait_kernel;             /* with frames of the kernel */
	bool last;                    /* sampling has ended: there is time to wait */
	VEC(uint64_t) accounts;       /* the payer, by id of labels: base/share.h */
	VEC(struct fill_half) halves; /* by index of the raw stack */
	VEC(struct fill_callers) callers;
	struct hash callers_index;         /* hash of callers → index */
	VEC(uint32_t) places;              /* of callers */
	struct hash labels;                /* task and CPU → labels */
	VEC(struct profile_sample) filled; /* stack and labels by index of the count */
	uint32_t frames[FILL_FRAMES_MAX];  /* the current stack */
};

/* Collects all counted frames and resolves their names. */
int fill_names(struct fill *fill);
/* Adds all counts: stacks, labels, number of samples; and the due ticks with their times. After an
 * error the profile has the part that was done. */
int fill_samples(struct fill *fill);
/* Limits the profile's text (profile/fit.h), and that of the store to stored_max. The
 * note says whose names are left out. */
int fill_fit(struct fill *fill, uint64_t stored_max);
void fill_done(struct fill *fill);
