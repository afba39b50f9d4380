/* SPDX-License-Identifier: Apache-2.0 */
/* ring_check.h - what its BPF programs and its user space agree on. */
#pragma once

#define RING_BYTES 4096
#define RUNS 200 /* of each program that makes an event */
#define MADE_LANGUAGE 1 /* its index */
#define COUNTS_MAX 1024
#define TARGETS_MAX 8 /* cgroups; the test's own is one */
