/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_share.h - the part of bpf/abi.h for what accounts share. */
#pragma once

#define TALLY_BYTES_MAX (512ULL << 20)
#define TALLY_TASK_BYTES 160 /* with all that refers to it: about */
#define TALLY_STACK_BYTES(frames) (160 + (__u64)(frames) * 8)
