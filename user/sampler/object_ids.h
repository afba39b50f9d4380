/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/object_ids.h - gives object ids back that BPF may use anew (bpf/object_id.bpf.h), and
 * refuses them to cgroups. */
#pragma once

#include <stdint.h>

struct sampler;

/* No frame that is still to be named, and no entry of BPF's, has this id any more. */
void object_ids_give(struct sampler *sampler, uint32_t id);
/* The bits of the ids that visits give, which are the caller's; NULL: nobody visits. */
void object_ids_of_visits(struct sampler *sampler, uint64_t *bits);
/* There was no place or no time for a file of this cgroup: in this second, and so many in all, BPF
 * gives its new files no ids, and does not send them. */
void object_ids_refuse(struct sampler *sampler, uint64_t cgroup, uint32_t seconds);
