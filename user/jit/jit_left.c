/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_left.c - a process that lives is opened as at first: its pid and start are those of the
 * note, and its root and user are read anew. If it has ended its folder is left, which the note
 * names by path, device and inode. */
#include "jit/jit_left.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "proc/opener.h"

#define PROCESSES_MAX 65536
#define ROOTS_MAX 16 /* of processes with the same mounts, until one has the folder */
/* A runtime makes its files within this time after the note was written. */
#define MADE_NS (60 * NSEC_PER_SEC)

/* ---- of a process that has ended ------------------------------------------------------------ */

static int open_dir(pid_t pid, const struct jit_note *note, int *fd)
{
	const struct opener_process process = { .pid = pid };
	_cleanup_fd_ int root = -1, dir = -1;
	struct stat st;
	int err = opener_root(&process, &root);

	if (err == 0)
		err = opener_folder(root, note->dir, &dir);
	if (err < 0)
		return err;
	if (fstat(dir, &st) < 0 || st.st_dev != note->dir_dev || st.st_ino != note->dir_ino)
		return -ENOENT;
	*fd = TAKE_FD(dir);
	return 0;
}

static bool has_mounts(const char *pid, uint64_t mount_ns)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
	return stat(path, &st) == 0 && st.st_ino == mount_ns;
}

static int find_dir(const struct jit_note *note, int *fd)
{
	_cleanup_(dir_closep) DIR *list = NULL;
	const struct dirent *entry;
	int err = open_dir(getpid(), note, fd), tries = 0;

	if (err == 0)
		return 0;
	list = opendir("/proc");
	for (int i = 0; i < PROCESSES_MAX && list && (entry = readdir(list)) && err < 0; i++) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || !has_mounts(entry->d_name, note->mount_ns))
			continue;
		err = open_dir(pid, note, fd);
		if (++tries == ROOTS_MAX)
			break;
	}
	return err;
}

static void clear_away(const struct jit_note *note)
{
	struct jit_control control = { .target = JIT_TARGET_INIT,
		.runtime = (enum jit_control_runtime)note->runtime,
		.since_ns = note->since_ns,
		.until_ns = note->noted_ns + MADE_NS,
		.dir_fd = -1 };

	control.target.ns_pid = (pid_t)note->ns_pid;
	control.target.uid = (uid_t)note->uid;
	jit_note_restore(note, &control);
	if (find_dir(note, &control.dir_fd) == 0)
		jit_control_remove(&control);
	jit_control_close(&control);
}

/* ---- public --------------------------------------------------------------------------------- */

int jit_left_undo(const struct jit_note *note, bool ended, struct why *why)
{
	struct jit_control control;
	unsigned int removed;
	int err = ended ? -ESRCH : jit_control_open((pid_t)note->pid, &control, why);

	/* A process that has executed another program since has another runtime, or none. */
	if (err == -ESRCH || err == -ENOTSUP) {
		clear_away(note);
		return 0;
	}
	if (err < 0)
		return err;
	if (control.target.start_ticks == note->start_ticks) {
		jit_note_restore(note, &control);
		err = jit_control_disable(&control, &removed, why);
	} else {
		clear_away(note);
	}
	jit_control_close(&control);
	return err;
}
