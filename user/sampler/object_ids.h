/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/object_ids.h - gives object ids back that BPF may use anew (bpf/object_id.bpf.h). */
#pragma once

#include <stdint.h>

struct sampler;

/* No frame that is still to be named, and no entry of BPF's, has this id any more. */
void object_ids_give(struct sampler *sampler, uint32_t id);
