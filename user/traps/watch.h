/* SPDX-License-Identifier: Apache-2.0 */
/* traps/watch.h - the subjects of the traps: the current containers and the host, each with its
 * meter and state. New containers are watched as they appear. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "traps/meter.h"
#include "traps/rule.h"
#include "traps/trap.h"

/* Minimum time before firing in a capture, unless less is configured. */
#define WATCHES_BEFORE_NS (5 * NSEC_PER_SEC)
#define WATCHES_VALUE_NS NSEC_PER_SEC /* the shortest time that a value may cover */
#define WATCHES_MAX 512 /* further containers are not watched, with a warning */

struct containers;

struct watch {
	uint32_t rule; /* index in the configuration's traps */
	char *path;    /* path of the cgroup; NULL: the host */
	uint64_t cgroup;
	bool seen;
	/* The same as in a profile's labels; NULL for the host. */
	char *container, *pod, *namespace_;
	struct meter meter;
	struct trap trap;
};

struct watches {
	VEC(struct watch) all;
	struct meter_mounts mounts;
	struct log *log;
	uint64_t started_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t changes;    /* the containers' change counter at the latest check */
	uint64_t again_ns;   /* time of the next unconditional check */
	bool begun, said_full;
	uint32_t missing; /* by bit: the user was warned that the kernel lacks this metric */
};

int watches_init(struct watches *watches, struct log *log);
void watches_done(struct watches *watches);
/* Replaces the rules; a subject watched by a trap of the same name keeps its cool-down. */
void watches_reload(struct watches *watches, const struct rules *before, const struct rules *now);
/* Follows containers that changed. 0 or -ENOMEM. */
int watches_follow(struct watches *watches, const struct rules *rules,
	struct containers *containers, uint64_t now_ns);
/* Reads meters whose latest reading is a second old. Calls fired for each trap that fires. */
void watches_read(struct watches *watches, const struct rules *rules, uint64_t now_ns,
	void (*fired)(void *ctx, struct watch *watch), void *ctx);
/* "the host", or the container's name. */
const char *watch_name(const struct watch *watch);
