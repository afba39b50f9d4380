/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sandbox.c - the order matters, because each step removes what earlier steps needed:
 * namespaces, root, user, capabilities, Landlock, limits, system calls. The list of system calls is
 * enough for malloc, memcpy from a mapped file and one socket; any other call kills the process
 * rather than fails, so that an attempt is noticed. */
#include "worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "worker/sanitizer.h"
#include "worker/users.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* ---- root ----------------------------------------------------------------------------------- */

/* An empty file system over a place that is there, as it is how we were started; then that is all
 * there is. */
static int empty_root(void)
{
	unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", "/proc", "tmpfs", flags, "size=4k,nr_inodes=2,mode=555") < 0 ||
		chdir("/proc") < 0)
		return -errno;
	/* pivot_root(2), Notes: the old root ends up on top of the new one, and is taken off. A
	 * root that is the kernel's first cannot be moved. */
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
	return chroot(".") < 0 || chdir("/") < 0 ? -errno : 0;
}

static void leave_namespaces(uint32_t *report)
{
	int apart = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

	if (unshare(apart) == 0)
		*report |= SANDBOX_NAMESPACES;
	else if (unshare(CLONE_NEWUSER | apart) == 0)
		*report |= SANDBOX_NAMESPACES | SANDBOX_USER_NS;
}

static void leave_root(uint32_t *report)
{
	leave_namespaces(report);
	if ((*report & SANDBOX_NAMESPACES) && empty_root() == 0)
		return;
	*report &= ~SANDBOX_NAMESPACES;
	/* A directory that holds nothing but our own descriptors, and goes away with us. */
	if (chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0)
		*report |= SANDBOX_CHROOT;
}

/* Makes the directory the root or, where that is not allowed, the working directory. */
static int move_root(int directory, uint32_t *report)
{
	leave_namespaces(report);
	if (fchdir(directory) < 0)
		return -errno;
	if (chroot(".") == 0)
		*report |= SANDBOX_CHROOT;
	return 0;
}

/* ---- who we are ----------------------------------------------------------------------------- */

/* Without CAP_KILL, which we have if it has, our starter could not end another user's process. */
/* uid 0: each of ours is somebody's. */
static int leave_user(uid_t uid, gid_t gid, uint32_t *report)
{
	if (geteuid() != 0 || (*report & SANDBOX_USER_NS) ||
		!(caps_effective() & CAPS_BIT(CAP_KILL)))
		return 0;
	if (uid == 0)
		return -EUSERS;
	if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
		setresuid(uid, uid, uid) == 0)
		*report |= SANDBOX_USER;
	return 0;
}

/* With which group a user that owns nothing may read there; false: with none. */
static bool find_group(int directory, uid_t uid, gid_t *gid)
{
	struct stat st;

	if (fstat(directory, &st) < 0)
		return false;
	if ((st.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH))
		*gid = uid;
	else if ((st.st_mode & (S_IRGRP | S_IXGRP)) == (S_IRGRP | S_IXGRP))
		*gid = st.st_gid;
	else
		return false;
	return true;
}

static int drop_capabilities(void)
{
	int err = caps_limit(0);

	if (err == 0 &&
		(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		err = -errno;
	return err;
}

/* ---- Landlock ------------------------------------------------------------------------------- */

/* All file access that this kernel can deny, with no rule that allows any but to read below the
 * directory; -1: not even that. */
static void deny_files(int directory, uint32_t *report)
{
	static const uint64_t rights[] = {
		[1] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
		[2] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 2) - 1, /* refer */
		[3] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 3) - 1, /* truncate */
	};
	struct landlock_ruleset_attr attr = { 0 };
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
		.parent_fd = directory,
	};
	_cleanup_fd_ int fd = -1;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1)
		return;
	attr.handled_access_fs = rights[abi < 3 ? abi : 3];
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd >= 0 && directory >= 0 &&
		syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return;
	if (fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		*report |= SANDBOX_LANDLOCK;
}

/* ---- limits --------------------------------------------------------------------------------- */

static int set_limits(rlim_t fds_max)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, fds_max },
		{ RLIMIT_FSIZE, SANDBOX_FILE_BYTES_MAX },
		{ RLIMIT_MEMLOCK, 0 },
#ifndef WITH_ASAN
		{ RLIMIT_DATA, SANDBOX_DATA_BYTES_MAX },
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit limit = { limits[i].max, limits[i].max };
		struct rlimit now;

		/* A lower hard limit than ours cannot be raised, and need not be. */
		if (getrlimit(limits[i].resource, &now) == 0 && now.rlim_max < limit.rlim_max)
			limit.rlim_cur = limit.rlim_max = now.rlim_max;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

/* Should the machine run out of memory, this is the process to take first. */
static void volunteer(void)
{
	_cleanup_fd_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

/* ---- system calls --------------------------------------------------------------------------- */

static const int free_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(ftruncate),
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

/* Further calls of a process that serves. It has no network of its own to connect to: it accepts
 * connections of the listener's network alone. */
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

/* One argument that must be, under the mask, the value. */
struct bound_call {
	int call;
	unsigned int argument;
	uint64_t mask, value;
};

static int allow_calls(scmp_filter_ctx filter)
{
	const struct bound_call bound[] = {
		{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 }, { SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
		{ SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH },
		{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_ADD_SEALS },
		{ SCMP_SYS(memfd_create), 1,
			UINT32_MAX & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), 0 },
		{ SCMP_SYS(tgkill), 0, UINT32_MAX, (uint64_t)getpid() }, /* abort() */
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(free_calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, free_calls[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(bound) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, bound[i].call, 1,
			SCMP_CMP(bound[i].argument, SCMP_CMP_MASKED_EQ, bound[i].mask,
				bound[i].value));
	return err;
}

/* Files are opened to be read; what is cloned is a thread. glibc tells a thread's flags in memory
 * where it can, which no filter sees: it is told that it cannot. */
static int allow_server_calls(scmp_filter_ctx filter)
{
	const int no_write = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(server_calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, server_calls[i], 0);
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_CMP(2, SCMP_CMP_MASKED_EQ, (uint64_t)no_write, O_RDONLY));
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
			SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM,
				CLONE_THREAD | CLONE_VM));
	return err < 0 ? err
		       : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Of one that opens files of others. */
static const int opener_calls[] = {
	SCMP_SYS(openat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(sendfile),
	SCMP_SYS(utimensat),
	SCMP_SYS(fcntl),
};

/* Files are opened to be read. */
static int allow_opener_calls(scmp_filter_ctx filter)
{
	const uint64_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(opener_calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, opener_calls[i], 0);
	if (err == 0)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_CMP(2, SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
	return err;
}

enum shut_in { WORKER, SERVER, OPENER };

static int limit_calls(enum shut_in who)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = filter ? 0 : -ENOMEM;

	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (err == 0)
		err = allow_calls(filter);
	if (err == 0 && who == SERVER)
		err = allow_server_calls(filter);
	if (err == 0 && who == OPENER)
		err = allow_opener_calls(filter);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

static const int kernel_calls[] = {
	SCMP_SYS(bpf),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
#ifndef WITH_ASAN /* which looks for leaks by it */
	SCMP_SYS(ptrace),
#endif
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
};

static const int outside_calls[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(kill),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mknodat),
};

int sandbox_deny(enum sandbox_denied what)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	size_t outside = what == SANDBOX_DENY_ALL_BUT_FILES ? ARRAY_SIZE(outside_calls) : 0;
	int err = filter ? 0 : -ENOMEM;

	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_SIZE(kernel_calls) && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), kernel_calls[i], 0);
	for (size_t i = 0; i < outside && err == 0; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), outside_calls[i], 0);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* directory: -1: none. */
static int shut_in(int directory, uid_t uid, uint32_t had, uint32_t *report)
{
	bool server = directory >= 0;
	gid_t gid = uid;
	int err = 0;

	caps_bound(0); /* while we still may */
	if (!server || find_group(directory, uid, &gid))
		err = leave_user(uid, gid, &had);
	if (err == 0)
		err = drop_capabilities();
	if (err == 0)
		err = set_limits(server ? SANDBOX_SERVER_FDS_MAX : SANDBOX_FDS_MAX);
	if (err < 0)
		return err;
	deny_files(directory, &had);
	/* Changing the user undid it, so not before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	err = limit_calls(server ? SERVER : WORKER);
	if (err == 0)
		*report = had;
	return err;
}

int sandbox_enter(uint32_t *report)
{
	uid_t uid = users_choose(USERS_WORKER);
	uint32_t had = 0;

	volunteer();
	leave_root(&had);
	return shut_in(-1, uid, had, report);
}

int sandbox_enter_server(int directory, uint32_t *report)
{
	uid_t uid = users_choose(USERS_SERVER);
	uint32_t had = 0;
	int err;

	volunteer();
	err = move_root(directory, &had);
	return err < 0 ? err : shut_in(directory, uid, had, report);
}

int sandbox_enter_opener(void)
{
	return limit_calls(OPENER);
}
