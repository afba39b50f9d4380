/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/resource.bpf.h - the socket, file or futex for which a thread waits: its system call names
 * it, in the registers with which the thread entered the kernel. No lock is taken and nothing is
 * held, so another thread may close it meanwhile, and the memory be used again: the descriptor is
 * read once more after all else, and whoever asked looks whether the thread still waits. */
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

#define RESOURCE_STEPS 8 /* up to the root of the path */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct visit_resource);
} visit_resources SEC(".maps");

static __always_inline struct visit_resource *resource_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&visit_resources, &zero);
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
	/* It holds the other end, and that its name. */
	if (BPF_CORE_READ(own, peer) == (void *)peer)
		w->kind = RESOURCE_UNIX;
}

static __always_inline void resource_socket(struct visit_resource *w, struct file *file)
{
	struct socket *socket = (void *)BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	u32 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : 0;

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
		resource_socket(w, file);
	else if (type == S_IFREG || type == S_IFBLK ||
		(type == S_IFIFO && BPF_CORE_READ(inode, i_sb, s_magic) != PIPEFS_MAGIC))
		resource_path(w, file);
	if (w->kind != RESOURCE_NONE && file_of_fd(task, fd) != file)
		w->kind = RESOURCE_NONE;
}

/* The record of resource_of. user: regs are those of the thread's entry, and its memory may be
 * read. */
static __noinline void resource_find(struct task_struct *task, arch_user_regs *regs, bool user)
{
	struct visit_resource *w = resource_of();
	u64 args[2], polled; /* a struct pollfd: the descriptor comes first */
	u32 call;

	if (!w)
		return;
	w->kind = RESOURCE_NONE;
	if (task->flags & PF_IO_WORKER ||
		(!user && bpf_probe_read_kernel(regs, sizeof(*regs), regs_saved_at(task))))
		return;
	call = call_of(task, regs, args);
	if (call == CALL_OTHER)
		return;
	__builtin_memset(w, 0, sizeof(*w));
	if (call == CALL_FUTEX) {
		w->kind = RESOURCE_FUTEX;
		w->futex = args[0];
	} else if (call == CALL_FILE) {
		resource_file(w, task, (u32)args[0]);
	} else if (user && args[1] == 1 && page_read(&polled, sizeof(polled), args[0]) == 0) {
		resource_file(w, task, (u32)polled);
	}
}
