/* SPDX-License-Identifier: Apache-2.0 */
/* traps/watch.h - which containers the traps are about, now: each with its meter and its state.
 * Those that appear later are watched from then on. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "traps/meter.h"
#include "traps/rule.h"
#include "traps/trap.h"

/* Of the time before it fires a capture has so much at least, or all that is asked for. */
#define WATCHES_BEFORE_NS (5 * NSEC_PER_SEC)
#define WATCHES_MAX 512 /* beyond it containers are not watched, which is said */

struct containers;

struct watch {
	uint32_t rule; /* in the traps of the configuration */
	char *path;    /* of the container's cgroup; NULL: the host */
	uint64_t cgroup;
	bool seen;
	/* As in a profile's labels; NULL for the host. */
	char *container, *pod, *namespace_;
	struct meter meter;
	struct trap trap;
};

struct watches {
	VEC(struct watch) all;
	struct meter_mounts mounts;
	struct log *log;
	uint64_t started_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t changes;    /* of the containers, when they were looked through */
	uint64_t again_ns;   /* they are looked through in any case */
	bool begun, said_full;
	uint32_t untold; /* by bit: of a metric it was said that the kernel does not tell it */
};

int watches_init(struct watches *watches, struct log *log);
void watches_done(struct watches *watches);
/* Others from now on; what goes on being watched by a trap of the same name keeps resting. */
void watches_reload(struct watches *watches, const struct rules *before, const struct rules *now);
/* Looks at the containers, if there was a change. 0 or -ENOMEM. */
int watches_follow(struct watches *watches, const struct rules *rules,
	struct containers *containers, uint64_t now_ns);
/* Reads each meter, and calls fired for each trap that does. */
void watches_read(struct watches *watches, const struct rules *rules, uint64_t now_ns,
	void (*fired)(void *ctx, struct watch *watch), void *ctx);
/* "the host", or what the container is called. */
const char *watch_name(const struct watch *watch);
