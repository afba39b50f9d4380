/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_visit.h - the part of bpf/abi.h for bpf/visit.bpf.c: one thread at one visit, with its
 * stack if it has another one than at the last visit. */
#pragma once

#include "bpf/abi_threads.h"

/* Flags beside THREAD_*. */
#define VISIT_ASIDE 8 /* waits for the reader of the iterator, which took its CPU */
#define VISIT_RESOURCE 16 /* a struct visit_resource follows */
#define VISIT_SAME 4 /* has not switched since the last visit: the same stack; no frames follow */

/* Visits give the last of the object ids. */
#define OBJECT_VISIT_IDS (1U << 16)
#define OBJECT_VISIT_FIRST (OBJECT_ID_MAX + 1 - OBJECT_VISIT_IDS)

/* Of all walks of a pass; one account alone gets a third. Then threads have records alone. */
#define VISIT_WALK_NS 60000000ULL
#define VISIT_THREAD_NS 1000000ULL /* after which a thread's walk ends */

enum resource_kind {
	RESOURCE_NONE,
	RESOURCE_INET,  /* address, ports, protocol, asked */
	RESOURCE_UNIX,  /* text: the path; an abstract one begins with a NUL */
	RESOURCE_FILE,  /* parts: the ends of the path, innermost first */
	RESOURCE_FUTEX, /* futex: its address in the process */
	RESOURCE_TIME,  /* a poll for nothing but the time */
};

#define RESOURCE_PARTS 4
#define RESOURCE_PART 32 /* bytes, cut; with the NUL */

/* A socket, file or futex for which a thread waits. */
struct visit_resource {
	__u8 kind;     /* enum resource_kind */
	__u8 protocol; /* IPPROTO_* */
	__u8 v6;       /* address has 16 bytes, and else 4 */
	__u8 len;      /* of parts; bytes of text, with the NUL that ends it */
	__u8 more;     /* the path is longer */
	__u8 cut;      /* bit i: parts[i] is longer, too */
	__u8 asked;    /* the kernel chose the own port for a connection that goes there */
	__u8 pad[1];
	__u16 port, own_port; /* the other end's, 0: none */
	__u16 pad2[2];
	union {
		__u8 address[16]; /* of the other end, in the net's byte order */
		__u64 futex;
		char text[RESOURCE_PARTS * RESOURCE_PART];
		char parts[RESOURCE_PARTS][RESOURCE_PART];
	};
};

/* Frames follow it: kernel_len, then user_len words, leaf first, encoded as in struct event_stack;
 * then a struct visit_resource, with VISIT_RESOURCE.
 * Without frames and without VISIT_SAME the thread has no known stack: it is on a CPU, or there was
 * no time to walk it. */
struct visit_record {
	__u64 start_ns, process_start_ns; /* CLOCK_BOOTTIME, as in struct thread_record */
	__u64 cgroup;
	__u64 switches;  /* voluntary and involuntary ones so far */
	__u64 now_ns;    /* CLOCK_MONOTONIC */
	__u64 waited_ns; /* since it got a CPU last: it waits for at most so long; 0: unknown */
	__u64 delay_ns, run_ns;
	__u32 tid, tgid;
	__u8 class;      /* enum thread_class */
	__u8 flags;      /* THREAD_*, VISIT_SAME */
	__u8 user_end;   /* enum stack_end of the user half */
	__u8 anon;       /* as in struct event_stack */
	__u16 kernel_len, user_len;
	__u32 task;      /* id of its struct task_key, if frames follow; 0: it could not be sent */
	char comm[COMM_LEN];
};

/* Since the start. */
struct visit_totals {
	__u64 threads; /* visited */
	__u64 same;    /* of them: with VISIT_SAME */
	__u64 walked;  /* of them: with frames */
	__u64 moved;   /* got a CPU while they were walked */
	__u64 refused; /* no time was left for their walk, or none of their account's share */
	__u64 unread;  /* walks that ended where memory could not be read */
	__u64 walk_ns; /* time that walks took */
};

_Static_assert(sizeof(struct visit_record) == 104, "visit_record");
_Static_assert(sizeof(struct visit_resource) == 144, "visit_resource");
_Static_assert(sizeof(struct visit_totals) == 56, "visit_totals");
