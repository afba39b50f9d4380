/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/places.h - names the cgroups and roots that the agent knows: new tasks of them do not
 * wake it. For others BPF wakes it, because the process may end, and both go, before it looks.
 * Names the outermost cgroup of each account, too, so that accounts can share in BPF. */
#pragma once

#include <stdint.h>
#include <linux/types.h>

#include "bpf/abi.h"

#define PLACES_MAX 1024 /* the least recently used ones go */

struct sampler;

/* The cgroup has a path, and the root is open. */
void places_know(struct sampler *sampler, const struct event_task *event);
/* A root was closed: all places are unknown again. */
void places_forget(struct sampler *sampler);

/* A cgroup is the outermost one of its account, and is so no more. Without room, its tasks share
 * the account of the root (bpf/share.bpf.h). */
void places_add_account(const struct sampler *sampler, uint64_t cgroup);
void places_remove_account(const struct sampler *sampler, uint64_t cgroup);
