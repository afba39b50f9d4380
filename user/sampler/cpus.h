/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/cpus.h - the number of CPUs in per-CPU maps. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The number of possible CPUs, from sysfs; if that is not mounted, why says so. */
int cpus_count(uint32_t *out, struct why *why);
