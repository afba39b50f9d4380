/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sandbox.c - in this order, as each step takes away what the ones before it needed:
 * namespaces, root, user, capabilities, Landlock, limits, system calls. The list of system calls is
 * what malloc, memcpy over a mapped file and one socket need; what is not on it kills the process
 * rather than fails, so that an attempt is seen. */
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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/sanitizer.h"

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

static void leave_root(uint32_t *report)
{
	int apart = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

	if (unshare(apart) == 0)
		*report |= SANDBOX_NAMESPACES;
	else if (unshare(CLONE_NEWUSER | apart) == 0)
		*report |= SANDBOX_NAMESPACES | SANDBOX_USER_NS;
	if ((*report & SANDBOX_NAMESPACES) && empty_root() == 0)
		return;
	*report &= ~SANDBOX_NAMESPACES;
	/* A directory that holds nothing but our own descriptors, and goes away with us. */
	if (chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0)
		*report |= SANDBOX_CHROOT;
}

/* ---- who we are ----------------------------------------------------------------------------- */

/* Without CAP_KILL, which we have if it has, our starter could not end another user's process. */
static void leave_user(uint32_t *report)
{
	if (geteuid() != 0 || (*report & SANDBOX_USER_NS) ||
		!(caps_effective() & CAPS_BIT(CAP_KILL)))
		return;
	if (setgroups(0, NULL) == 0 && setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0 &&
		setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0)
		*report |= SANDBOX_USER;
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

/* All file access that this kernel can deny, with no rule that allows any. */
static void deny_files(uint32_t *report)
{
	static const uint64_t rights[] = {
		[1] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
		[2] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 2) - 1, /* refer */
		[3] = (LANDLOCK_ACCESS_FS_MAKE_SYM << 3) - 1, /* truncate */
	};
	struct landlock_ruleset_attr attr = { 0 };
	_cleanup_fd_ int fd = -1;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1)
		return;
	attr.handled_access_fs = rights[abi < 3 ? abi : 3];
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		*report |= SANDBOX_LANDLOCK;
}

/* ---- limits --------------------------------------------------------------------------------- */

static int set_limits(void)
{
	static const struct {
		__rlimit_resource_t resource;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, SANDBOX_FDS_MAX },
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

static int limit_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = filter ? 0 : -ENOMEM;

	if (err == 0)
		err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (err == 0)
		err = allow_calls(filter);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int sandbox_enter(uint32_t *report)
{
	uint32_t had = 0;
	int err;

	volunteer();
	leave_root(&had);
	caps_bound(0); /* while we still may */
	leave_user(&had);
	err = drop_capabilities();
	if (err == 0)
		err = set_limits();
	if (err < 0)
		return err;
	deny_files(&had);
	/* Changing the user undid it, so not before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	err = limit_calls();
	if (err == 0)
		*report = had;
	return err;
}
