/* SPDX-License-Identifier: Apache-2.0 */
/* containers/containers.h - the existing cgroups and their names: container, pod, image, unit. A
 * cgroup is kept from its creation until nothing refers to it, so that samples of a removed one
 * still get its name. Names come from the runtimes' own files, which are read when a container
 * appears, and again until they exist. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"
#include "containers/container_state.h"

#define CONTAINERS_CGROUPS_MAX 65536 /* places, which accounts share */

struct cgroup_tree;
struct sampler;
struct tally;
struct inquiry;
struct worker_client;
struct containers;

struct containers_stats {
	uint64_t cgroups, containers, named; /* current */
	uint64_t made, removed, renamed;     /* as reported by the kernel */
	uint64_t refused;                    /* had no place, or gave it up */
	uint64_t rescans;                    /* after lost events, without the first scan */
	uint64_t postponed; /* look-ups of names: their account took too much time */
	struct container_state_stats files;
};

/* tree is borrowed; NULL: none is mounted, and there are no names. */
int containers_new(
	struct worker_client *worker, const struct cgroup_tree *tree, struct containers **out);
void containers_free(struct containers *all);

/* Sets the runtime to query if no file has a container's name, and the sampler that is informed of
 * the outermost cgroup of each account. Both are borrowed, and may be NULL. Call it before any
 * cgroup is known. */
void containers_use(
	struct containers *all, struct inquiry *inquiry, const struct sampler *sampler);

/* Adds all existing cgroups. */
int containers_scan(struct containers *all);
/* Handles one that was made, removed or renamed. path ends with a NUL. CGROUP_LOST: events were
 * lost; the next containers_poll or containers_settle scans all cgroups again. */
int containers_changed(struct containers *all, const struct event_cgroup *event);
/* A task of this cgroup and process was sampled. CONTAINERS_KNOWN: the cgroup has a path. */
#define CONTAINERS_KNOWN 1
int containers_sampled(struct containers *all, uint64_t cgroup, uint32_t tgid);

/* Reads state files that may exist by now; does not take long. Call it when it is due
 * (CLOCK_NEVER_NS: nothing is), or earlier. */
void containers_poll(struct containers *all);
uint64_t containers_due_ns(const struct containers *all);
/* The same for all containers without a name, until the deadline: call it before labels are
 * written. */
void containers_settle(struct containers *all, uint64_t until_ns);

/* Never NULL, valid until the next call of another function; "": none. */
struct containers_labels {
	const char *container, *pod, *namespace_, *image, *unit;
	uint64_t account; /* as container_account; 0: unknown */
};

void containers_labels(struct containers *all, uint64_t cgroup, struct containers_labels *out);
/* The labels' account alone. */
uint64_t containers_account(const struct containers *all, uint64_t cgroup);

/* The end of an interval: drops removed cgroups without tasks in the tally. */
void containers_next(struct containers *all, const struct tally *tally);
void containers_stats(const struct containers *all, struct containers_stats *out);

/* One cgroup, for lists. */
struct containers_item {
	uint64_t cgroup;
	const char *path;
	const struct cgroup_identity *identity;
	const struct state_facts *facts; /* of its container; NULL: unknown */
};

/* Calls fn for each, unordered; ends at fn's first negative result and returns it. */
int containers_each(struct containers *all,
	int (*fn)(void *ctx, const struct containers_item *item), void *ctx);
