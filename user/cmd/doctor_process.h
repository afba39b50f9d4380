/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_process.h - reports how the stacks of one process will be walked and named. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct doctor_tables;

/* Prints to stdout. The tables have a worker. -errno with why: no such process, or it may not be
 * inspected. */
int doctor_process(pid_t pid, struct doctor_tables *tables, struct why *why);
