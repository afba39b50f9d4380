/* SPDX-License-Identifier: Apache-2.0 */
/* containers/target.h - one container, pod, unit or cgroup, as a person calls it → what the sampler
 * is told. To be found before the sampler is opened. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum target_kind { TARGET_NONE, TARGET_CGROUP, TARGET_CONTAINER, TARGET_POD, TARGET_UNIT };

struct worker_client;

struct target {
	int fd; /* the folder that perf events are bound to; -1: there is none, and BPF filters */
	VEC(uint64_t) cgroups; /* it, or they, and all below; where there is no fd */
	int alive_fd;          /* a folder of it */
	char *path;
};

#define TARGET_INIT                       \
	{                                 \
		.fd = -1, .alive_fd = -1, \
	}

/* "all", or "container NAME" and the like: the name, in text. NULL: it is neither. */
const char *target_parse(const char *text, enum target_kind *kind);
/* name: of a cgroup, its path or number; of a container its name, id, or the beginning of either
 * that no other has; of a pod its name, NS/NAME, or uid; of a unit its name, `.service` may be left
 * out. -ENOENT, -ENOTUNIQ: why lists what there is. */
int target_find(struct worker_client *worker, enum target_kind kind, const char *name,
	struct target *out, struct why *why);
void target_done(struct target *target);
/* Is it still there? True where that is not known. */
bool target_exists(const struct target *target);
