/* SPDX-License-Identifier: Apache-2.0 */
/* proc/pid_namespace.h - in whose numbers we know processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number of the pid namespace that we are in, as the kernel has it; 0: not known. */
uint32_t pid_namespace_number(void);
/* Is it the host's own? */
bool pid_namespace_is_host(void);
