/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_share.h - the part of bpf/abi.h for what accounts share in BPF (bpf/share.bpf.h). */
#pragma once

enum share_what {
	SHARE_EVENTS,   /* bytes of the ring that user space has not read */
	SHARE_DEFERRED, /* of deferred samples that found half of the ring used */
	SHARE_COUNTS,   /* entries of a count map */
	SHARE_TALLY,    /* bytes of the stacks and tasks that user space has */
	SHARE_VISIT,    /* time of the walks of one pass over all threads */
	SHARES_LEN = 8, /* a power of two */
};

#define SHARE_TURN_SHIFT 32
#define ACCOUNTS_MAX 1024
#define TALLY_BYTES_MAX (512ULL << 20)
#define TALLY_CODES_BYTES_MAX (TALLY_BYTES_MAX / 4) /* then no more codes: ticks need the rest */
#define TALLY_TASK_BYTES 160 /* with all that refers to it: about */
#define TALLY_STACK_BYTES(frames) (160 + (__u64)(frames) * 8)
