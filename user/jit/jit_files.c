/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_files.c - finds them by /proc. The jitdump is opened as a mapped file, so its path, maybe
 * in another mount namespace, does not matter. */
#include "jit/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "proc/maps.h"
#include "wire/mappings.h"

#define ENVIRON_BYTES_MAX (2UL << 20)

/* ---- by this process ------------------------------------------------------------------------ */

static int read_direct(void *ctx, const struct opener_process *process, const char *name,
	size_t size_max, struct buf *out)
{
	_cleanup_fd_ int dir_fd = -1, fd = -1;
	int err = opener_process(process, &dir_fd);

	(void)ctx;
	if (err < 0)
		return err;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_read_all(fd, size_max, out);
}

static int dir_direct(void *ctx, const struct opener_process *process, const char *path, int *fd)
{
	(void)ctx;
	return opener_dir(process, path, fd);
}

static int open_mapped(const struct opener_mapping *mapping, struct opener_found *found)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = -1;

	if (opener_mapped_file(mapping, &fd, path, sizeof(path)) != 0 || fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0) {
		fd_close(&fd);
		return -EIO;
	}
	*found = (struct opener_found){ fd, st.st_dev, st.st_ino, st.st_uid };
	return 0;
}

const struct jit_files_access jit_files_direct = {
	.read = read_direct, .dir = dir_direct
};

/* Appends /proc/PID/NAME and a NUL. */
static int read_proc(const struct jit_files_access *access, const struct opener_process *process,
	const char *name, size_t size_max, struct buf *out)
{
	int err = access->read(access->ctx, process, name, size_max, out);

	return err < 0 ? err : buf_putc(out, '\0');
}

/* ---- directories ---------------------------------------------------------------------------- */

/* An absolute path, or NULL. */
static const char *value_of(const struct buf *vars, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < vars->len; at += strlen(vars->data + at) + 1) {
		const char *entry = vars->data + at;

		if (strncmp(entry, name, len) == 0 && entry[len] == '=')
			return entry[len + 1] == '/' ? entry + len + 1 : NULL;
	}
	return NULL;
}

bool jit_files_unanswered(int err)
{
	return err == -EAGAIN || err == -ETIMEDOUT || err == -ETIME;
}

/* False: it was not answered. */
static bool add(const struct jit_files_access *access, struct jit_files_dirs *dirs,
	const struct opener_process *process, const char *path)
{
	int fd, err;

	if (!path || dirs->len == JIT_FILES_DIRS_MAX)
		return true;
	err = access->dir(access->ctx, process, path, &fd);
	if (err == 0)
		dirs->fds[dirs->len++] = fd;
	return !jit_files_unanswered(err);
}

bool jit_files_open_dirs(const struct jit_files_access *access,
	const struct opener_process *process, struct jit_files_dirs *out)
{
	_cleanup_(buf_done) struct buf vars = BUF_INIT;
	const char *path, *tmp;
	bool answered = true;
	int err;

	*out = (struct jit_files_dirs){ 0 };
	err = read_proc(access, process, "environ", ENVIRON_BYTES_MAX, &vars);
	if (err == 0) {
		path = value_of(&vars, "DOTNET_PerfMapJitDumpPath");
		if (!path)
			path = value_of(&vars, "COMPlus_PerfMapJitDumpPath");
		answered &= add(access, out, process, path);
		tmp = value_of(&vars, "TMPDIR");
		if (tmp && strcmp(tmp, "/tmp") != 0)
			answered &= add(access, out, process, tmp);
	}
	answered &= add(access, out, process, "/tmp");
	return answered && !jit_files_unanswered(err);
}

void jit_files_close_dirs(struct jit_files_dirs *dirs)
{
	for (size_t i = 0; i < dirs->len; i++)
		fd_close(&dirs->fds[i]);
	dirs->len = 0;
}

/* ---- the jitdump ---------------------------------------------------------------------------- */

static void note_dump(void *ctx, const struct maps_entry *entry)
{
	mappings_note(entry, ctx);
}

int jit_files_open_dump(
	const struct opener_process *process, struct opener_found *found, pid_t *number)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct mappings_facts facts = { 0 };
	const struct mappings_dump *dump = &facts.dump;
	int err;

	err = read_proc(&jit_files_direct, process, "maps", MAPPINGS_TEXT_BYTES_MAX, &text);
	if (err < 0)
		return err;
	maps_parse(text.data, note_dump, &facts);
	if (dump->end == 0)
		return -ENOENT;
	err = open_mapped(
		&(struct opener_mapping){
			*process, .vm_start = dump->start, .vm_end = dump->end, .ino = dump->ino },
		found);
	if (err == 0)
		*number = (pid_t)dump->number;
	return err;
}
