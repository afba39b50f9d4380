/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/memory.h - the memory of a process (proc_pid_statm(5)). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Resident bytes; 0: no such process. */
uint64_t memory_resident(pid_t pid);
