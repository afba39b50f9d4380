/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_process.h - how the stacks of one process will be walked and named. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Prints to stdout. -errno with why when there is no such process or it may not be looked at. */
int doctor_process(pid_t pid, struct why *why);
