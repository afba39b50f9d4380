/* SPDX-License-Identifier: Apache-2.0 */
/* containers/containers.h - which cgroups there are, and what they are called: container, pod,
 * image, unit. A cgroup is known from the moment it is made until nothing refers to it any more, so
 * that what is gone when its samples are written still has its name. Names come from the runtimes'
 * own files, read when a container appears and until they are there. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "cgroup/identity.h"
#include "cgroup/state_file.h"
#include "containers/container_state.h"

#define CONTAINERS_CGROUPS_MAX 65536 /* known at a time; beyond it those that are gone go first */

struct cgroup_tree;
struct tally;
struct inquiry;
struct worker_client;
struct containers;

struct containers_stats {
	uint64_t cgroups, containers, named; /* known now */
	uint64_t made, removed, renamed;     /* told by the kernel */
	uint64_t refused;                    /* not known, for want of room */
	uint64_t rescans;                    /* for events that were lost, since the first scan */
	struct container_state_stats files;
};

/* tree is borrowed; NULL: none is mounted, and nothing has a name. */
int containers_new(
	struct worker_client *worker, const struct cgroup_tree *tree, struct containers **out);
void containers_free(struct containers *all);

/* Who may be asked where no file has a container's name; borrowed. */
void containers_inquire(struct containers *all, struct inquiry *inquiry);

/* Meets all cgroups there are. */
int containers_scan(struct containers *all);
/* One was made, removed or renamed. path ends with a NUL. CGROUP_LOST: events were lost; the next
 * containers_poll or containers_settle looks at all cgroups again. */
int containers_changed(struct containers *all, const struct event_cgroup *event);
/* A task of this cgroup was sampled, of that process. */
int containers_sampled(struct containers *all, uint64_t cgroup, uint32_t tgid);

/* Reads what may be there by now; does not take long. To be called often. */
void containers_poll(struct containers *all);
/* The same for all that has no name yet, until then: labels are about to be written. */
void containers_settle(struct containers *all, uint64_t until_ns);

/* Never NULL, good until the next call of another function; "": it has none. */
struct containers_labels {
	const char *container, *pod, *namespace_, *image, *unit;
};

void containers_labels(struct containers *all, uint64_t cgroup, struct containers_labels *out);

/* An interval is over: forgets cgroups that are gone and in which no task of the tally was. */
void containers_next(struct containers *all, const struct tally *tally);
void containers_stats(const struct containers *all, struct containers_stats *out);

/* One cgroup, for whoever lists them. */
struct containers_item {
	uint64_t cgroup;
	const char *path;
	const struct cgroup_identity *identity;
	const struct state_facts *facts; /* of its container; NULL: nothing is known */
};

/* All that are there, in no order; ends with fn's first negative, and returns it. */
int containers_each(struct containers *all,
	int (*fn)(void *ctx, const struct containers_item *item), void *ctx);
