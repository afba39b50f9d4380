/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/resource.bpf.h - the socket, file or futex for which a thread waits: its system call names
 * it, in the registers with which the thread entered the kernel. Another thread may have put
 * another file there since: of a socket the thread has to be in its queue. No lock is taken and
 * nothing is held, so memory may be given back and used again meanwhile: all is read twice in a
 * short time, and counts if it is the same, and if the thread still waits afterwards. */
#pragma once

#include "vmlinux/net.h"
#include <bpf/bpf_core_read.h>

#include "bpf/abi.h"
#include "bpf/mapping.bpf.h"
#include "bpf/pages.bpf.h"
#include "bpf/regs.bpf.h"

enum call_kind {
	CALL_OTHER,
	CALL_FILE,  /* the first argument is a descriptor */
	CALL_POLL,  /* an array of struct pollfd, their number */
	CALL_SELECT, /* more than the largest descriptor */
	CALL_FUTEX, /* an address */
};

#ifdef ARCH_DWARF_LR
#include "bpf/calls_arm64.bpf.h"
#else
#include "bpf/calls_x86.bpf.h"
#endif

/* The kernel's: linux/socket.h, linux/in.h, linux/stat.h, linux/magic.h. */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFBLK 0060000
#define S_IFREG 0100000
#define S_IFSOCK 0140000
#define PIPEFS_MAGIC 0x50495045

#define RESOURCE_STEPS 8    /* up to the root of the path */
#define RESOURCE_WAITERS 32 /* in a queue; of more it is not known who they are */
#define RESOURCE_POLLED 4   /* descriptors of a poll */
#define RESOURCE_NS 100000  /* for both reads; an emulated CPU takes more than 20,000 */

struct resource_reads {
	struct visit_resource reads[2];
	struct {
		u32 fd;
		u16 events, revents;
	} polled[RESOURCE_POLLED];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct resource_reads);
} visit_resources SEC(".maps");

static __always_inline struct resource_reads *resource_reads_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&visit_resources, &zero);
}

/* Does the thread wait in the socket's queue, itself or by a poll? */
static __always_inline bool resource_waits(struct sock *sk, struct task_struct *task)
{
	struct socket_wq *queue = BPF_CORE_READ(sk, sk_wq);
	struct list_head *head, *at;
	struct wait_queue_entry *entry;
	struct poll_wqueues *polls;

	if (!queue)
		return false;
	head = (void *)queue + bpf_core_field_offset(struct socket_wq, wait) +
		bpf_core_field_offset(struct wait_queue_head, head);
	at = BPF_CORE_READ(head, next);
	NOT_UNROLLED
	for (u32 i = 0; i < RESOURCE_WAITERS; i++) {
		if (!at || at == head)
			return false;
		entry = (void *)at - bpf_core_field_offset(struct wait_queue_entry, entry);
		polls = BPF_CORE_READ(entry, private);
		if ((void *)polls == (void *)task || BPF_CORE_READ(polls, polling_task) == task)
			return true;
		at = BPF_CORE_READ(at, next);
	}
	return true;
}

static __always_inline void resource_inet(struct visit_resource *w, struct sock *sk, u32 v6)
{
	u16 port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	const void *from = (const void *)&sk->__sk_common.skc_daddr;
	struct inet_connection_sock *tcp = (void *)sk;
	struct inet_bind_bucket *bound;

	w->kind = RESOURCE_INET;
	w->v6 = v6;
	w->protocol = (u8)BPF_CORE_READ(sk, sk_protocol);
	w->port = (u16)(port << 8 | port >> 8);
	w->own_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (w->protocol == IPPROTO_TCP) {
		bound = BPF_CORE_READ(tcp, icsk_bind_hash);
		w->asked = bound && BPF_CORE_READ(bound, fastreuse) < 0;
	}
	if (v6)
		from = (const void *)&sk->__sk_common.skc_v6_daddr;
	bpf_probe_read_kernel(w->address, v6 ? 16 : 4, from);
}

/* The other end has the name, if this one has none. */
static __always_inline void resource_unix(struct visit_resource *w, struct sock *sk)
{
	struct unix_sock *own = (void *)sk, *peer;
	struct unix_address *addr;
	int len;

	if (!bpf_core_field_exists(own->addr))
		return;
	addr = BPF_CORE_READ(own, addr);
	peer = (void *)BPF_CORE_READ(own, peer);
	if (!addr && peer)
		addr = BPF_CORE_READ(peer, addr);
	if (!addr)
		return;
	len = BPF_CORE_READ(addr, len) - (int)offsetof(struct sockaddr_un, sun_path);
	if (len <= 0 || len > (int)sizeof(((struct sockaddr_un *)0)->sun_path))
		return;
	bpf_probe_read_kernel(w->text, sizeof(((struct sockaddr_un *)0)->sun_path),
		(const char *)addr + bpf_core_field_offset(addr->name) +
			offsetof(struct sockaddr_un, sun_path));
	w->len = (u8)len;
	w->kind = RESOURCE_UNIX;
}

static __always_inline void resource_socket(
	struct visit_resource *w, struct task_struct *task, struct file *file)
{
	struct socket *socket = (void *)BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u32 family = sk && resource_waits(sk, task)
		? BPF_CORE_READ(sk, __sk_common.skc_family)
		: 0;

	if (family == AF_INET || family == AF_INET6)
		resource_inet(w, sk, family == AF_INET6);
	else if (family == AF_UNIX)
		resource_unix(w, sk);
}

/* The names on the way from the file up to the root. */
static __always_inline void resource_path(struct visit_resource *w, struct file *file)
{
	struct dentry *at = BPF_CORE_READ(file, f_path.dentry), *up;
	struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	struct mount *mount, *above;

	w->kind = RESOURCE_FILE;
	NOT_UNROLLED
	for (u32 i = 0; i < RESOURCE_STEPS && at; i++) {
		up = BPF_CORE_READ(at, d_parent);
		if (at == BPF_CORE_READ(mnt, mnt_root)) {
			mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
			above = BPF_CORE_READ(mount, mnt_parent);
			if (!above || above == mount)
				return;
			at = BPF_CORE_READ(mount, mnt_mountpoint);
			mnt = (void *)above + bpf_core_field_offset(struct mount, mnt);
			continue;
		}
		if (up == at)
			return;
		if (w->len >= RESOURCE_PARTS) {
			w->more = 1;
			return;
		}
		bpf_probe_read_kernel_str(w->parts[w->len & (RESOURCE_PARTS - 1)], RESOURCE_PART,
			BPF_CORE_READ(at, d_name.name));
		w->cut |= (BPF_CORE_READ(at, d_name.len) >= RESOURCE_PART) << w->len;
		w->len++;
		at = up;
	}
	w->more = 1;
}

static __always_inline void resource_file(
	struct visit_resource *w, struct task_struct *task, u64 fd)
{
	struct file *file = file_of_fd(task, fd);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	u32 type = inode ? BPF_CORE_READ(inode, i_mode) & S_IFMT : 0;

	if (type == S_IFSOCK)
		resource_socket(w, task, file);
	else if (type == S_IFREG || type == S_IFBLK ||
		(type == S_IFIFO && BPF_CORE_READ(inode, i_sb, s_magic) != PIPEFS_MAGIC))
		resource_path(w, file);
}

/* The kind of a descriptor's file, read into both places; RESOURCE_NONE: it is not the same.
 * Numbers only, for it is verified once. */
__noinline u32 resource_read(u64 thread, u32 fd)
{
	struct resource_reads *r = resource_reads_of();
	u64 *one, *two, began_ns = bpf_ktime_get_ns();

	if (!r)
		return RESOURCE_NONE;
	__builtin_memset(r->reads, 0, sizeof(r->reads));
	NOT_UNROLLED
	for (u32 i = 0; i < 2; i++)
		resource_file(&r->reads[i & 1], (struct task_struct *)thread, fd);
	one = (u64 *)&r->reads[0];
	two = (u64 *)&r->reads[1];
	NOT_UNROLLED
	for (u32 i = 0; i < sizeof(struct visit_resource) / sizeof(u64); i++)
		if (one[i] != two[i])
			r->reads[0].kind = RESOURCE_NONE;
	if (bpf_ktime_get_ns() - began_ns > RESOURCE_NS)
		r->reads[0].kind = RESOURCE_NONE;
	return r->reads[0].kind;
}

/* Of some descriptors the first that has a name. */
static __always_inline void resource_poll(struct resource_reads *r, u64 addr, u64 len)
{
	u64 bytes = len * sizeof(r->polled[0]);

	asm volatile("" : "+r"(bytes));
	if (len == 0 || len > RESOURCE_POLLED || bytes > sizeof(r->polled) ||
		page_read(r->polled, bytes, addr))
		return;
	NOT_UNROLLED
	for (u32 i = 0; i < RESOURCE_POLLED; i++)
		if (i < len && resource_read(visited, r->polled[i & (RESOURCE_POLLED - 1)].fd))
			return;
}

/* The first record of resource_reads_of. user: regs are those of the thread's entry, and its memory
 * may be read. */
static __noinline void resource_find(struct task_struct *task, arch_user_regs *regs, bool user)
{
	struct resource_reads *r = resource_reads_of();
	u64 args[2];
	u32 call;

	if (!r)
		return;
	r->reads[0].kind = RESOURCE_NONE;
	if (task->flags & PF_IO_WORKER ||
		(!user && bpf_probe_read_kernel(regs, sizeof(*regs), regs_saved_at(task))))
		return;
	call = call_of(task, regs, args);
	if (call == CALL_FUTEX) {
		__builtin_memset(&r->reads[0], 0, sizeof(r->reads[0]));
		r->reads[0].kind = RESOURCE_FUTEX;
		r->reads[0].futex = args[0];
	} else if ((call == CALL_POLL && args[1] == 0) || (call == CALL_SELECT && args[0] == 0)) {
		__builtin_memset(&r->reads[0], 0, sizeof(r->reads[0]));
		r->reads[0].kind = RESOURCE_TIME;
	} else if (call == CALL_FILE) {
		resource_read(visited, (u32)args[0]);
	} else if (call == CALL_POLL && user) {
		resource_poll(r, args[0], args[1]);
	}
}
