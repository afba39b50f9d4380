/* SPDX-License-Identifier: Apache-2.0 */
/* containers/target.h - finds a container, pod, unit or cgroup by the user's name for it, and
 * describes it for the sampler. Call it before the sampler is opened. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

enum target_kind { TARGET_NONE, TARGET_CGROUP, TARGET_CONTAINER, TARGET_POD, TARGET_UNIT };

struct worker_client;

struct target {
	int fd;                /* the folder that perf events attach to; -1: none, BPF filters */
	VEC(uint64_t) cgroups; /* the target and all cgroups below it; only if there is no fd */
	int alive_fd;          /* one of its folders */
	char *path;
};

#define TARGET_INIT                       \
	{                                 \
		.fd = -1, .alive_fd = -1, \
	}

/* Parses "all", or "container NAME" and the like; returns the name inside text. NULL: neither. */
const char *target_parse(const char *text, enum target_kind *kind);
/* name: of a cgroup, its path or number; of a container its name, id, or a unique beginning of
 * either; of a pod its name, NS/NAME, or uid; of a unit its name, with or without `.service`.
 * -ENOENT, -ENOTUNIQ: why lists candidates. */
int target_find(struct worker_client *worker, enum target_kind kind, const char *name,
	struct target *out, struct why *why);
void target_done(struct target *target);
/* Does it still exist? True if unknown. */
bool target_exists(const struct target *target);
