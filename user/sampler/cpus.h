/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/cpus.h - how many CPUs per-CPU maps are for. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* All that can ever be online. Read in sysfs: where that is not mounted, why says so. */
int cpus_count(uint32_t *out, struct why *why);
