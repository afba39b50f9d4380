/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sandbox.c - the order matters, because each step removes what earlier steps needed:
 * namespaces, root, user, capabilities, Landlock, limits, system calls (worker/filter.h). */
#include "worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"
#include "worker/filter.h"
#include "worker/sanitizer.h"
#include "worker/users.h"

/* ---- root ----------------------------------------------------------------------------------- */

#ifndef OPEN_TREE_CLONE /* glibc before 2.36 */
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#define MOVE_MOUNT_F_EMPTY_PATH 4
#endif

#define NOTHING_ODD (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* The file system in which we are becomes all there is. */
static int take_root(void)
{
	/* pivot_root(2), Notes: the old root ends up on top of the new one, and is taken off. A
	 * root that is the kernel's first cannot be moved. */
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
	return chroot(".") < 0 || chdir("/") < 0 ? -errno : 0;
}

/* An empty file system over a place that is there, as it is how we were started. */
static int empty_root(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", "/proc", "tmpfs", MS_RDONLY | NOTHING_ODD,
			"size=4k,nr_inodes=2,mode=555") < 0 ||
		chdir("/proc") < 0)
		return -errno;
	return take_root();
}

/* In an empty file system: this mount of /proc, read-only, and nothing else. */
static int put_proc(int proc)
{
	if (mkdir("proc", 0555) < 0 ||
		syscall(SYS_move_mount, proc, "", AT_FDCWD, "proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
		mount(NULL, "proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | NOTHING_ODD, NULL) <
			0 ||
		mount(NULL, ".", NULL, MS_REMOUNT | MS_RDONLY | NOTHING_ODD, NULL) < 0)
		return -errno;
	return 0;
}

/* No other mounts, so the host's can be unmounted while we run; none of those below /proc either.
 * After a failure /proc is as before. */
static int proc_root(void)
{
	_cleanup_fd_ int proc = -1;
	int err;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	proc = (int)syscall(
		SYS_open_tree, AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (proc < 0 ||
		mount("none", "/proc", "tmpfs", NOTHING_ODD, "size=4k,nr_inodes=2,mode=755") < 0)
		return -errno;
	err = chdir("/proc") < 0 ? -errno : put_proc(proc);
	if (err == 0)
		err = take_root();
	if (err == 0)
		return 0;
	(void)!chdir("/");
	umount2("/proc", MNT_DETACH);
	return err;
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

/* Makes the directory the root, or where that is refused the working directory. */
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
static bool may_leave_user(uint32_t report)
{
	return geteuid() == 0 && !(report & SANDBOX_USER_NS) &&
		(caps_permitted() & CAPS_BIT(CAP_KILL));
}

/* uid 0: each of ours is somebody's. */
static int leave_user(uid_t uid, gid_t gid, uint32_t *report)
{
	if (!may_leave_user(*report))
		return 0;
	if (uid == 0)
		return -EUSERS;
	if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
		setresuid(uid, uid, uid) == 0)
		*report |= SANDBOX_USER;
	return 0;
}

/* The directory's group, where it may read there: then it may read the files in it. */
static gid_t find_group(int directory, gid_t own)
{
	const mode_t needed = S_IRGRP | S_IXGRP;
	struct stat st;

	return directory >= 0 && fstat(directory, &st) == 0 && (st.st_mode & needed) == needed
		? st.st_gid
		: own;
}

static int drop_capabilities(uint64_t keep)
{
	int err = caps_limit(keep);

	if (err == 0 &&
		(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		err = -errno;
	return err;
}

/* ---- Landlock ------------------------------------------------------------------------------- */

/* Denies as much of this file access as the kernel can, with one exception: below the directory
 * (-1: none) files may be read. */
static bool deny_access(uint64_t access, int directory)
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
		return false;
	attr.handled_access_fs = rights[abi < 3 ? abi : 3] & access;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd >= 0 && directory >= 0 &&
		syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return false;
	return fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

bool sandbox_deny_writing(void)
{
	return deny_access(~(uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
				   LANDLOCK_ACCESS_FS_EXECUTE),
		-1);
}

/* ---- limits --------------------------------------------------------------------------------- */

int sandbox_limit(uint64_t fds_max, uint64_t file_bytes_max, uint64_t data_bytes_max)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, fds_max },
		{ RLIMIT_FSIZE, file_bytes_max },
		{ RLIMIT_MEMLOCK, 0 },
#ifndef WITH_ASAN
		{ RLIMIT_DATA, data_bytes_max },
#endif
	};

	(void)data_bytes_max; /* a sanitizer has data of its own, without a limit */
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

/* Both are -1: it is no server. */
static int shut_in(int listener, int directory, uid_t uid, uint32_t had, uint32_t *report)
{
	bool server = directory >= 0;
	int err;

	caps_bound(0); /* while we still may */
	err = leave_user(uid, find_group(directory, uid), &had);
	if (err == 0)
		err = drop_capabilities(0);
	if (err == 0)
		err = sandbox_limit(server ? SANDBOX_SERVER_FDS_MAX : SANDBOX_FDS_MAX,
			SANDBOX_FILE_BYTES_MAX, SANDBOX_DATA_BYTES_MAX);
	if (err < 0)
		return err;
	if (deny_access(~0ULL, directory))
		had |= SANDBOX_LANDLOCK;
	/* Changing the user undid it, so not before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	if (server)
		err = filter_keep_listener(listener);
	if (err == 0)
		err = filter_enter(server ? FILTER_SERVER : FILTER_WORKER);
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
	return shut_in(-1, -1, uid, had, report);
}

#define ALL_TAKEN(first, last) \
	"/etc/passwd has all of the users " #first " to " #last ": remove one of them"

const char *sandbox_opener_failure(void)
{
	return may_leave_user(0) && users_choose(USERS_OPENER) == 0 ? ALL_TAKEN(60800, 60809)
								    : NULL;
}

const char *sandbox_failure(bool server)
{
	if (geteuid() != 0 || users_choose(server ? USERS_SERVER : USERS_WORKER) != 0)
		return "the kernel must support seccomp filters";
	return server ? ALL_TAKEN(60770, 60779) : ALL_TAKEN(60760, 60769);
}

int sandbox_enter_server(int listener, int directory, uint32_t *report)
{
	uid_t uid = users_choose(USERS_SERVER);
	uint32_t had = 0;
	int err;

	volunteer();
	err = move_root(directory, &had);
	return err < 0 ? err : shut_in(listener, directory, uid, had, report);
}

/* ---- a process that has /proc --------------------------------------------------------------- */

static int enter_proc(uid_t first, uint64_t keep, enum filter filter, uint32_t *report)
{
	uid_t uid = users_choose(first);
	uint32_t had = proc_root() == 0 ? SANDBOX_PROC : 0;
	int err;

	caps_bound(0);
	if (may_leave_user(had)) {
		if (uid == 0)
			return -EUSERS;
		if (caps_become(uid) == 0)
			had |= SANDBOX_USER;
	}
	err = drop_capabilities(keep);
	/* Changing the user undid it, so not before. */
	if (err == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		err = -errno;
	if (err == 0)
		err = filter_enter(filter);
	if (err == 0)
		*report = had;
	return err;
}

int sandbox_enter_opener(uint64_t keep, uint32_t *report)
{
	return enter_proc(USERS_OPENER, keep, FILTER_OPENER, report);
}

int sandbox_enter_idle(uint32_t *report)
{
	return enter_proc(USERS_SERVER, 0, FILTER_IDLE, report);
}
