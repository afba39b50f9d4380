/* SPDX-License-Identifier: Apache-2.0 */
/* publish_driver.h - drives user/unwind/publish.c through any sequence of meetings, rows, pages,
 * drops and failures, as bytes say, and holds the maps against each other and against the rows that
 * were published. For the unit test, with bytes from a generator, and for the fuzzer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Runs the sequence; the first thing that is wrong ends the program, and is printed. */
void publish_drive(const uint8_t *data, size_t size);

/* Allocations of the program fail where a bit is set: bit i is the i-th from now. The bits that
 * are left. Needs the linker's --wrap for malloc, calloc and reallocarray. */
uint64_t failing_allocations(uint64_t bits);
