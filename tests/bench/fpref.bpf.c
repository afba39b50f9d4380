/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* fpref.bpf.c - the profiler to measure against: what every libbpf profiler does at a tick.
 * Frame pointers by bpf_get_stackid, kernel and user, and one count in a hash. Nothing of it is
 * part of stoker. */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define STACK_DEPTH 127
#define STACKS_MAX 16384

struct count_key {
	__u32 tgid;
	__s32 kernel_stack;
	__s32 user_stack;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKS_MAX);
	__type(key, struct count_key);
	__type(value, __u64);
} counts SEC(".maps");

SEC("perf_event")
int on_tick(void *ctx)
{
	struct count_key key = {};
	__u64 one = 1, *count;

	key.tgid = bpf_get_current_pid_tgid() >> 32;
	if (!key.tgid)
		return 0;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	key.kernel_stack = (__s32)bpf_get_stackid(ctx, &stacks, 0);
	key.user_stack = (__s32)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	count = bpf_map_lookup_elem(&counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
