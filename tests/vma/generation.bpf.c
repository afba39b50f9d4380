/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* generation.bpf.c - vma_generation of the task that runs the program by BPF_PROG_TEST_RUN, and
 * the way that it uses on this kernel. */
#include "bpf/shim.h"
#include "bpf/vma.bpf.h"

/* Nothing is searched here. */
static __always_inline struct vma_scratch *vma_scratch_of(u32 asker)
{
	return NULL;
}

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp")
int ask(void *ctx)
{
	return (int)vma_generation(TASK_READ(task_current(), mm));
}

SEC("raw_tp")
int ask_way(void *ctx)
{
	return (int)vma_numbers();
}
