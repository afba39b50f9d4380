/* SPDX-License-Identifier: Apache-2.0 */
/* proc/pid_namespace.h - the pid namespace of this process: BPF translates pids into it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Number of our pid namespace in the kernel; 0: unknown. */
uint32_t pid_namespace_number(void);
/* Is it the host's own? */
bool pid_namespace_is_host(void);
