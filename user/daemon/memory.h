/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/memory.h - what a process takes, as the kernel says (proc_pid_statm(5)). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Bytes that are in memory now; 0: there is no such process. */
uint64_t memory_resident(pid_t pid);
