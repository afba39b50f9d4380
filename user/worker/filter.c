/* SPDX-License-Identifier: Apache-2.0 */
/* worker/filter.c - lists of system calls. A call of another architecture kills in each of them. A
 * name that this architecture does not have is no rule. Some calls stand for those of older or
 * newer versions of libc, which asks for the same in another way. */
#include "worker/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "worker/sanitizer.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* One argument that must be, under the mask, the value. */
struct bound_call {
	int call;
	unsigned int argument;
	uint64_t mask, value;
};

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t len)
{
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++)
		err = seccomp_rule_add(filter, action, calls[i], 0);
	return err;
}

static int allow_bound(scmp_filter_ctx filter, const struct bound_call *calls, size_t len)
{
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i].call, 1,
			SCMP_CMP(calls[i].argument, SCMP_CMP_MASKED_EQ, calls[i].mask,
				calls[i].value));
	return err;
}

/* ---- worker --------------------------------------------------------------------------------- */

static const int worker_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(dup),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo), /* glibc's qsort asks how much memory there is */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef WITH_ASAN
	SCMP_SYS(sigaltstack),
#endif
};

/* Memory is never made executable. Nor is it shared: such memory is in no limit, and after
 * madvise(2) in no account. The only signal is abort()'s: whoever ends otherwise, others ended. */
static int allow_worker_calls(scmp_filter_ctx filter)
{
	const struct bound_call bound[] = {
		{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
		{ SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH },
	};
	int err = add_calls(filter, SCMP_ACT_ALLOW, worker_calls, ARRAY_SIZE(worker_calls));

	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
			SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
			SCMP_CMP(3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0));
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2,
			SCMP_CMP(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint64_t)getpid()),
			SCMP_CMP(2, SCMP_CMP_MASKED_EQ, UINT32_MAX, SIGABRT));
	return err < 0 ? err : allow_bound(filter, bound, ARRAY_SIZE(bound));
}

/* ---- opener --------------------------------------------------------------------------------- */

static const int opener_calls[] = { SCMP_SYS(openat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(sendfile), SCMP_SYS(ftruncate),
	SCMP_SYS(utimensat), SCMP_SYS(fcntl), SCMP_SYS(getdents64), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(process_vm_readv) };

/* Files are opened to be read; copies are made in memory. */
static int allow_opener_calls(scmp_filter_ctx filter)
{
	const uint64_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	const struct bound_call bound[] = {
		{ SCMP_SYS(openat), 2, writes, O_RDONLY },
		{ SCMP_SYS(memfd_create), 1,
			UINT32_MAX & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), 0 },
	};
	int err = add_calls(filter, SCMP_ACT_ALLOW, opener_calls, ARRAY_SIZE(opener_calls));

	return err < 0 ? err : allow_bound(filter, bound, ARRAY_SIZE(bound));
}

/* ---- server --------------------------------------------------------------------------------- */

/* Besides those of a worker. It has no network of its own to connect to: what it accepts is of the
 * listener's. */
static const int server_calls[] = {
	SCMP_SYS(accept4), SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(shutdown),
	SCMP_SYS(setsockopt), SCMP_SYS(getsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	SCMP_SYS(writev), SCMP_SYS(sendfile), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2), SCMP_SYS(pipe2), SCMP_SYS(fcntl), SCMP_SYS(getdents64),
	SCMP_SYS(newfstatat), SCMP_SYS(getrusage), SCMP_SYS(gettimeofday),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
	SCMP_SYS(prctl), /* a thread's name */
};

/* Files are opened to be read; what is cloned is a thread. glibc passes a thread's flags in memory
 * where it can, which no filter sees: so clone3 fails with ENOSYS. */
static int allow_server_calls(scmp_filter_ctx filter)
{
	const int no_write = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	const struct bound_call bound[] = {
		{ SCMP_SYS(openat), 2, (uint64_t)no_write, O_RDONLY },
		{ SCMP_SYS(clone), 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM },
	};
	int err = add_calls(filter, SCMP_ACT_ALLOW, server_calls, ARRAY_SIZE(server_calls));

	if (err == 0)
		err = allow_bound(filter, bound, ARRAY_SIZE(bound));
	return err < 0 ? err
		       : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* ---- agent ---------------------------------------------------------------------------------- */

static const int agent_calls[] = {
	/* memory and time */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(membarrier),
	SCMP_SYS(setitimer), /* the kill switch, where an end takes too long */
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	/* descriptors */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(fcntl),
	SCMP_SYS(ioctl),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(memfd_create),
	SCMP_SYS(eventfd2),
	SCMP_SYS(pipe2),
	SCMP_SYS(socketpair),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(signalfd4),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
	/* files */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(flock),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rmdir),
	SCMP_SYS(fchmod),
	SCMP_SYS(umask),
	SCMP_SYS(chdir),
	SCMP_SYS(fchdir),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(sendfile),
	/* processes, its own */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getsid),
	SCMP_SYS(setsid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(kill),
	SCMP_SYS(tgkill),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(prctl),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(times),
	SCMP_SYS(getpriority),
	SCMP_SYS(setpriority),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(getcpu),
	/* the kernel's events; bpf(2) is below */
	SCMP_SYS(perf_event_open),
#ifdef WITH_ASAN /* LeakSanitizer looks for leaks at the end */
	SCMP_SYS(ptrace),
	SCMP_SYS(getdents),
#endif
};

/* Maps are read and written, programs that are loaded are run, and iterators over processes. */
static const unsigned int agent_bpf[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_PROG_TEST_RUN,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_LINK_CREATE,
	BPF_ITER_CREATE,
};

/* Clones stay in its namespaces: glibc's fork passes the flags in a register, and its threads do
 * where clone3 is not there. Limits are its own. */
static int allow_agent_calls(scmp_filter_ctx filter)
{
	const uint64_t apart = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
		CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	const struct bound_call bound[] = {
		{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
		{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
		{ SCMP_SYS(clone), 0, apart, 0 },
		{ SCMP_SYS(prlimit64), 0, UINT32_MAX, 0 },
	};
	int err = add_calls(filter, SCMP_ACT_ALLOW, agent_calls, ARRAY_SIZE(agent_calls));

	if (err == 0)
		err = allow_bound(filter, bound, ARRAY_SIZE(bound));
	for (size_t i = 0; i < ARRAY_SIZE(agent_bpf) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
			SCMP_CMP(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, agent_bpf[i]));
	return err;
}

static int allow_inquirer_calls(scmp_filter_ctx filter)
{
	static const struct bound_call bound = { SCMP_SYS(socket), 0, UINT32_MAX, AF_UNIX };
	static const int call = SCMP_SYS(connect);
	int err = allow_bound(filter, &bound, 1);

	return err < 0 ? err : add_calls(filter, SCMP_ACT_ALLOW, &call, 1);
}

/* ---- idle ----------------------------------------------------------------------------------- */

static const int idle_calls[] = { SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(timerfd_settime), SCMP_SYS(memfd_create), SCMP_SYS(fcntl), SCMP_SYS(pidfd_open),
	SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(getuid), SCMP_SYS(clock_getres) };

static int allow_idle_calls(scmp_filter_ctx filter)
{
	static const struct bound_call bound = { SCMP_SYS(openat), 2,
		(uint64_t)(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC), O_RDONLY };
	int err = allow_worker_calls(filter);

	if (err == 0)
		err = add_calls(filter, SCMP_ACT_ALLOW, idle_calls, ARRAY_SIZE(idle_calls));
	return err < 0 ? err : allow_bound(filter, &bound, 1);
}

/* ---- fetcher -------------------------------------------------------------------------------- */

/* Fetching files needs none of these: other programs, other processes (those of its user too), the
 * kernel's own doors, and changing files. */
static const int no_fetcher_calls[] = { SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork),
	SCMP_SYS(vfork), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
	SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(process_madvise), SCMP_SYS(kcmp), SCMP_SYS(bpf), SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
	SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(mount), SCMP_SYS(umount2),
	SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(pivot_root),
	SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(open_by_handle_at),
	SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(acct), SCMP_SYS(mknod), SCMP_SYS(mknodat),
	SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(symlink), SCMP_SYS(symlinkat), SCMP_SYS(rename),
	SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(lchown),
	SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(truncate), SCMP_SYS(setxattr),
	SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr) };

/* ---- load ----------------------------------------------------------------------------------- */

static int add_rules(scmp_filter_ctx filter, enum filter which)
{
	int err;

	switch (which) {
	case FILTER_WORKER:
		return allow_worker_calls(filter);
	case FILTER_OPENER:
		err = allow_worker_calls(filter);
		return err < 0 ? err : allow_opener_calls(filter);
	case FILTER_SERVER:
		err = allow_worker_calls(filter);
		return err < 0 ? err : allow_server_calls(filter);
	case FILTER_FETCHER:
		return add_calls(filter, SCMP_ACT_KILL_PROCESS, no_fetcher_calls,
			ARRAY_SIZE(no_fetcher_calls));
	case FILTER_AGENT:
		return allow_agent_calls(filter);
	case FILTER_INQUIRER:
		err = allow_agent_calls(filter);
		return err < 0 ? err : allow_inquirer_calls(filter);
	case FILTER_IDLE:
		return allow_idle_calls(filter);
	}
	return -EINVAL;
}

static int enter(enum filter which)
{
	static const uint32_t others[] = { [FILTER_WORKER] = SCMP_ACT_KILL_PROCESS,
		[FILTER_OPENER] = SCMP_ACT_KILL_PROCESS,
		[FILTER_SERVER] = SCMP_ACT_KILL_PROCESS,
		[FILTER_FETCHER] = SCMP_ACT_ALLOW,
		[FILTER_AGENT] = SCMP_ACT_ERRNO(ENOSYS),
		[FILTER_INQUIRER] = SCMP_ACT_ERRNO(ENOSYS),
		[FILTER_IDLE] = SCMP_ACT_ERRNO(ENOSYS) };
	scmp_filter_ctx filter = seccomp_init(others[which]);
	int err = filter ? 0 : -ENOMEM;

	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (err == 0)
		err = add_rules(filter, which);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* A list of allowed calls cannot leave some arguments out, so this is a filter of its own. */
int filter_enter(enum filter which)
{
	bool sends = which == FILTER_SERVER || which == FILTER_FETCHER;
	int err = filter_deny(sends ? FILTER_DENY_LINGER : 0);

	return err < 0 ? err : enter(which);
}

/* ---- denied --------------------------------------------------------------------------------- */

static const int kernel_calls[] = {
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
#ifndef WITH_ASAN /* LeakSanitizer looks for leaks by it */
	SCMP_SYS(ptrace),
#endif
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
};

static const int bpf_calls[] = { SCMP_SYS(bpf) };

static const int event_calls[] = { SCMP_SYS(perf_event_open) };

static const int outside_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(process_madvise),
	SCMP_SYS(kcmp),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(process_mrelease),
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsmount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
};

/* The kernel takes the lower half of each argument. */
static int deny_linger(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setsockopt), 2,
		SCMP_CMP(1, SCMP_CMP_MASKED_EQ, UINT32_MAX, SOL_SOCKET),
		SCMP_CMP(2, SCMP_CMP_MASKED_EQ, UINT32_MAX, SO_LINGER));
}

/* A descriptor that has an owner signals it, with any signal and this process's rights. */
static int deny_owners(scmp_filter_ctx filter)
{
	static const struct {
		int call;
		uint64_t value;
	} rows[] = { { SCMP_SYS(fcntl), F_SETOWN }, { SCMP_SYS(fcntl), F_SETOWN_EX },
		{ SCMP_SYS(fcntl), F_SETSIG }, { SCMP_SYS(fcntl), F_NOTIFY },
		{ SCMP_SYS(fcntl), F_SETLEASE }, { SCMP_SYS(ioctl), FIOASYNC },
		{ SCMP_SYS(ioctl), FIOSETOWN }, { SCMP_SYS(ioctl), SIOCSPGRP } };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), rows[i].call, 1,
			SCMP_CMP(1, SCMP_CMP_MASKED_EQ, UINT32_MAX, rows[i].value));
	return err;
}

/* Signals to its own threads are for abort(). */
static int deny_others_threads(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
		SCMP_CMP(0, SCMP_CMP_NE, (uint64_t)getpid(), 0));
}

int filter_keep_listener(int fd)
{
	static const int calls[] = { SCMP_SYS(shutdown), SCMP_SYS(setsockopt), SCMP_SYS(fcntl) };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
			SCMP_CMP(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint64_t)fd));
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int filter_deny(unsigned int what)
{
	const struct {
		unsigned int what;
		const int *calls;
		size_t len;
	} lists[] = {
		{ FILTER_DENY_KERNEL, kernel_calls, ARRAY_SIZE(kernel_calls) },
		{ FILTER_DENY_BPF, bpf_calls, ARRAY_SIZE(bpf_calls) },
		{ FILTER_DENY_EVENTS, event_calls, ARRAY_SIZE(event_calls) },
		{ FILTER_DENY_OUTSIDE, outside_calls, ARRAY_SIZE(outside_calls) },
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? 0 : -ENOMEM;

	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_SIZE(lists) && err == 0; i++)
		if (what & lists[i].what)
			err = add_calls(
				filter, SCMP_ACT_ERRNO(EPERM), lists[i].calls, lists[i].len);
	err = err == 0 && (what & FILTER_DENY_LINGER) ? deny_linger(filter) : err;
	err = err == 0 && (what & FILTER_DENY_OUTSIDE) ? deny_others_threads(filter) : err;
	err = err == 0 ? deny_owners(filter) : err;
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
