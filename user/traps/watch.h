/* SPDX-License-Identifier: Apache-2.0 */
/* traps/watch.h - the subjects of the traps: the current containers and the host, each with its
 * meter and state. New containers are watched as they appear. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/share.h"
#include "base/vec.h"
#include "traps/meter.h"
#include "traps/rule.h"
#include "traps/thread_times.h"
#include "traps/trap.h"

/* Minimum time before firing in a capture, unless less is configured. */
#define WATCHES_BEFORE_NS (5 * NSEC_PER_SEC)
#define WATCHES_VALUE_NS NSEC_PER_SEC /* the shortest time that a value may cover */
#define WATCHES_MAX 512               /* further containers are not watched, with a warning */
#define WATCH_TIMES_MAX 64            /* kept values of what its threads did, a ring */

struct containers;

struct watch {
	uint32_t rule; /* index in the configuration's traps */
	char *path; /* path of the cgroup; NULL: the host, or known by its labels alone */
	uint64_t cgroup, account; /* account: pays for a watch that is known by its labels */
	bool seen, stale; /* stale: its cgroup was removed */
	bool charged;     /* the account has paid */
	/* The same as in a profile's labels; NULL for the host. */
	char *container, *pod, *namespace_;
	const char *comm; /* of the rule; NULL: any, as the next */
	uint32_t pid;
	uint64_t start_ns;  /* of the process with that pid */
	struct meter meter; /* closed where the value is taken from threads */
	struct trap trap;
	struct watch_time {
		uint64_t at_ns;
		struct thread_time time;
	} times[WATCH_TIMES_MAX];
	uint64_t times_len; /* number so far */
};

/* The sources of values. */
struct watch_sources {
	const struct thread_times *times;
	struct waiting *waiting; /* NULL: threads cannot be read */
	struct containers *containers;
	bool visited; /* there was a visit at this turn */
};

struct watches {
	VEC(struct watch) all;
	struct share placed; /* watches that are known by their labels */
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
/* Follows containers that changed, and commands that appeared. 0 or -ENOMEM. */
int watches_follow(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns);
/* Takes the values of those whose latest one is a second old. A subject that is not there, or
 * cannot be read, has no value. Calls fired for each trap that fires. */
void watches_read(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns,
	void (*fired)(void *ctx, struct watch *watch), void *ctx);
/* With the times of traps/trap.h, as of these watches. */
struct trap_rule watches_rule(const struct watches *watches, const struct rule *rule);
struct thread_whose watch_whose(const struct watch *watch);
/* Puts "the host", "process 4711", "processes java in web" or a container's name. */
void watch_put_name(const struct watch *watch, char *out, size_t size);
