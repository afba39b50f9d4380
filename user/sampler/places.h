/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/places.h - names the cgroups and roots that the agent knows: new tasks of them do not
 * wake it. For others BPF wakes it, because the process may end, and both go, before it looks. */
#pragma once

#include "bpf/abi.h"

#define PLACES_MAX 1024 /* the least recently used ones go */

struct sampler;

/* The cgroup has a path, and the root is open. */
void places_know(struct sampler *sampler, const struct event_task *event);
/* A root was closed: all places are unknown again. */
void places_forget(struct sampler *sampler);
