/* SPDX-License-Identifier: Apache-2.0 */
/* base/caps.h - this process's capabilities (capabilities(7)), as sets with a bit for each. */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#define CAPS_BIT(cap) (1ULL << (cap))

/* What may be done now; empty when the kernel does not say. */
uint64_t caps_effective(void);

/* Keeps of what there is only these, permitted and effective; nothing is inherited by what is
 * executed. There is no way back for this process. */
int caps_limit(uint64_t keep);

/* And what is executed cannot have more than these either: without CAP_SETPCAP this does nothing.
 */
void caps_bound(uint64_t keep);

/* What is executed has what we are permitted, also where neither it nor we are root's. 0 or -errno.
 * For a child about to execute: what else it executes has it too. */
int caps_hand_on(void);
