/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/stack_copy.bpf.h - sends a deferred sample with a copy of its stack.
 * The stack is copied straight into the ring buffer: a value of a per-CPU map has at most 32 KiB
 * and is there for each possible CPU. The verifier demands a constant size of a reservation, so
 * there is one function for each of a few sizes. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/sample_maps.bpf.h"
#include "bpf/trampoline.bpf.h"

#define HEAD_BYTES offsetof(struct event_deferred, data)
/* With few frames, and with all that are kept. */
#define HEAD_FEW (HEAD_BYTES + 64 * sizeof(u64))
#define HEAD_ALL (HEAD_BYTES + DEFERRED_FRAMES_MAX * sizeof(u64))
#define STACK_COPY_SPARE sizeof(u64) /* see uprobe_mend_copy */
#define STACK_COPY_ROOM (HEAD_ALL + DEFERRED_STACK_BYTES + STACK_COPY_SPARE)
/* Time for the longest copy, from memory that no cache has, and once more if a page is absent. */
#define STACK_COPY_NS 20000

/* The head and the frames of the deferred sample, without its stack copy. */
static __always_inline struct event_deferred *deferred_of(struct scratch *s)
{
	return (struct event_deferred *)s->deferred_head;
}

/* ---- where the stack ends -------------------------------------------------------------------- */

#ifdef __TARGET_ARCH_x86
#define TLS_VECTOR_POINTER 8
#define TLS_VECTOR_WORDS 32

/* The lowest of a thread's TLS blocks, which are between its stack and its own data at `base`. The
 * second word of that points to the vector of their addresses (TLS variant II; glibc has two words
 * a block, musl has one). */
static __always_inline u64 tls_begin(struct scratch *s, u64 base)
{
	u64 vector, sp = s->regs.sp, *words = s->window.words; /* the walk is over */

	if (bpf_probe_read_user(&vector, sizeof(vector), (void *)(base + TLS_VECTOR_POINTER)) ||
		bpf_probe_read_user(words, TLS_VECTOR_WORDS * sizeof(u64), (void *)vector))
		return base;
	for (u32 i = 0; i < TLS_VECTOR_WORDS; i++) {
		u64 block = words[i];

		if (block - sp < base - sp)
			base = block;
	}
	return base;
}
#else
/* There are none. */
#define tls_begin(s, base) (base)
#endif

/* The end of a thread's stack in a mapping that ends at `end`: C libraries put the thread's own
 * data on top of it. 0: unknown, for that data is elsewhere; a coroutine's stack may be anywhere in
 * a heap. Not static, so that the verifier checks it once. */
__noinline u64 stack_end_of_thread(u64 walk, u64 end)
{
	struct scratch *s = scratch_of(walk);
	u64 sp, base;

	if (!s)
		return 0;
	sp = s->regs.sp;
	base = thread_base_of(s);
	return base - sp < end - sp ? tls_begin(s, base) : 0;
}

/* The end of the stack that holds sp, in a mapping that ends at `end`. 0: unknown. */
static __always_inline u64 stack_end(struct scratch *s, u64 end)
{
	u64 entry = start_stack_of(s), sp = s->regs.sp;

	return entry - sp < end - sp ? entry : stack_end_of_thread(walk_of(s), end);
}

/* Bytes from sp to its mapping's end. */
static __always_inline u64 stack_mapped(struct scratch *s)
{
	u64 sp = s->regs.sp;
	struct vm_area_struct *vma = vma_find(s->mm, sp, ASKER_TICK);

	return vma ? BPF_CORE_READ(vma, vm_end) - sp : 0;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Bytes from sp on, up to the first page that nobody has touched. Not static, so that the verifier
 * checks it once. */
__noinline u64 stack_readable(u64 sp, u64 bytes)
{
	u64 page_bytes = 1ULL << page_shift, at = page_bytes - (sp & (page_bytes - 1));
	u8 byte;

	for (u32 i = 0; i <= DEFERRED_STACK_BYTES / 4096; i++) {
		if (at >= bytes)
			return bytes;
		if (bpf_probe_read_user(&byte, sizeof(byte), (void *)(sp + at)))
			return at;
		at += page_bytes;
	}
	return bytes;
}

/* The bytes copied, or 0. limit is constant, at least bytes and the room at `to`. */
static __always_inline u64 copy_stack(u8 *to, u64 sp, u64 bytes, const u32 limit)
{
	/* The check must be of the register that is passed, and of one bound: 6.1 does not carry
	 * bounds to a copy, and 5.10 not back from a difference. */
	asm volatile("" : "+r"(bytes));
	if (bytes > limit)
		return 0;
	if (bpf_probe_read_user(to, bytes, (void *)sp) == 0)
		return bytes;
	bytes = stack_readable(sp, bytes);
	asm volatile("" : "+r"(bytes));
	if (bytes > limit)
		return 0;
	return bpf_probe_read_user(to, bytes, (void *)sp) ? 0 : bytes;
}

/* Bytes below end, down to the first page that nobody has touched. */
__noinline u64 stack_readable_below(u64 end, u64 bytes)
{
	u64 page_bytes = 1ULL << page_shift, len = 0;
	u8 byte;

	for (u32 i = 0; i <= DEFERRED_ROOT_BYTES / 4096; i++) {
		if (len >= bytes)
			return bytes;
		if (bpf_probe_read_user(&byte, sizeof(byte), (void *)(end - len - 1)))
			return len;
		len = end - ((end - len - 1) & ~(page_bytes - 1));
	}
	return bytes;
}

/* 0, or -1: nothing was sent. head_max and limit are constant. */
static __always_inline int send_copy(
	struct scratch *s, u64 bytes, const u32 head_max, const u32 limit)
{
	const u32 size = head_max + limit + STACK_COPY_SPARE;
	u64 head = HEAD_BYTES + s->deferred_frames, sp = s->regs.sp, copied, root = 0, root_at = 0;
	struct event_deferred *event = bpf_ringbuf_reserve(&events, size, 0);

	if (!event) {
		event_lost(EVENT_DEFERRED);
		return -1;
	}
	asm volatile("" : "+r"(head));
	if (head > head_max || bpf_probe_read_kernel(event, head, s->deferred_head))
		goto nothing;
	if (limit == DEFERRED_STACK_BYTES && bytes == limit && s->root_end) {
		root = stack_readable_below(s->root_end, DEFERRED_ROOT_BYTES);
		root_at = s->root_end - root;
		root = copy_stack((u8 *)event + head + DEFERRED_ROOT_OFFSET, root_at, root,
			DEFERRED_ROOT_BYTES);
	}
	if (root)
		bytes = DEFERRED_ROOT_OFFSET;
	copied = copy_stack((u8 *)event + head, sp, bytes, limit);
	/* With a part of the stack, user space would cut it there. */
	if (copied == 0 || (s->end == END_TIME && copied < bytes))
		goto nothing;
	event->stack_bytes = copied;
	event->root_bytes = root;
	event->root_at = root_at;
	if (limit == DEFERRED_STACK_BYTES && s->uprobe_returns) {
		s->copied = copied;
		s->root_at = root_at;
		s->root_copied = root;
		uprobe_mend_copy(s, (u8 *)event + head, limit);
	}
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	event_sent(size);
	return 0;
nothing:
	bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
	return -1;
}

/* Not static, so that the verifier checks each once. */
#define SEND_COPY(name, head_max, limit)                                       \
	__noinline int name(u64 walk, u64 bytes)                               \
	{                                                                      \
		struct scratch *s = scratch_of(walk);                          \
                                                                               \
		return s ? send_copy(s, bytes, (u32)(head_max), (limit)) : -1; \
	}

SEND_COPY(send_copy_4k, HEAD_FEW, 4096)
SEND_COPY(send_copy_8k, HEAD_FEW, 8192)
SEND_COPY(send_copy_16k, HEAD_FEW, 16384)
SEND_COPY(send_copy_32k, HEAD_FEW, 32768)
SEND_COPY(send_copy_64k, HEAD_ALL, DEFERRED_STACK_BYTES)

/* Sends deferred_of(s) with so many bytes of the stack, fewer if a page of them is absent. 0, or
 * -1: nothing was sent. */
static __always_inline int stack_copy_send(struct scratch *s, u64 bytes)
{
	/* One function mends uprobes' return addresses: the verifier pays for each that does. */
	bool few = s->deferred_frames <= HEAD_FEW - HEAD_BYTES && !s->uprobe_returns;

	if (few && bytes <= 4096)
		return send_copy_4k(walk_of(s), bytes);
	if (few && bytes <= 8192)
		return send_copy_8k(walk_of(s), bytes);
	if (few && bytes <= 16384)
		return send_copy_16k(walk_of(s), bytes);
	if (few && bytes <= 32768)
		return send_copy_32k(walk_of(s), bytes);
	return send_copy_64k(walk_of(s), bytes);
}
