/* SPDX-License-Identifier: Apache-2.0 */
/* output/bundle.c - the files have the names that scripts around perf use. The archive is POSIX
 * ustar, which every tar reads; its members are in a folder with the bundle's name. output/output.c
 * writes them all; the capture's formats are left to sink/. */
#include "output/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "output/output.h"

#define BLOCK_BYTES 512
#define FILE_NAME_MAX 32 /* of those in the folder, with the slash */
#define READ_BYTES (256 * 1024)
#define SIZE_MAX_OCTAL 077777777777ULL /* eleven digits */

static const struct bundle_file files[] = {
	{ "perf_script.out", "perf" },
	{ "folded_stacks.out", "folded" },
	{ "flamegraph.svg", "svg" },
	{ "profile.html", "html" },
	{ "profile.speedscope.json", "speedscope" },
	{ "profile.pb.gz", "pprof" },
	{ 0 },
};

/* POSIX.1-1988, "ustar Interchange Format"; numbers are octal text. */
struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], device[16], prefix[155], pad[12];
};

_Static_assert(sizeof(struct tar_head) == BLOCK_BYTES, "a block");

const struct bundle_file *bundle_files(void)
{
	return files;
}

const struct bundle_file *bundle_file(size_t number)
{
	return number < ARRAY_SIZE(files) - 1 ? &files[number] : NULL;
}

static int try_file(const char *dir, const char *name, struct why *why)
{
	char path[OUTPUT_PATH_MAX];
	struct output output = { .pattern = path, .plain = true };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return output_try(&output, why);
}

int bundle_make(const char *dir, struct why *why)
{
	_cleanup_fd_ int fd = -1;
	int err;

	if (strlen(dir) + FILE_NAME_MAX >= OUTPUT_PATH_MAX)
		return why_set(why, -ENAMETOOLONG,
			"--bundle: the name of the directory is too long; choose a shorter one");
	err = place_open_folder(dir, true, &fd, why);
	if (err == 0)
		err = try_file(dir, BUNDLE_ARCHIVE, why);
	for (const struct bundle_file *file = files; file->name && err == 0; file++)
		err = try_file(dir, file->name, why);
	return err;
}

bool bundle_has(const char *dir, const struct place_id *file)
{
	const struct bundle_file *one = files;
	_cleanup_fd_ int fd = -1;
	struct stat st;
	struct why why;

	if (place_open_folder(dir, false, &fd, &why) < 0 || fstat(fd, &st) < 0 ||
		file->kind != PLACE_NEW || file->dev != st.st_dev || file->ino != st.st_ino)
		return false;
	while (one->name && strcmp(one->name, file->name) != 0)
		one++;
	return one->name || strcmp(file->name, BUNDLE_ARCHIVE) == 0;
}

static int put_head(
	struct buf *out, const char *folder, const char *name, uint64_t size, time_t when)
{
	struct tar_head head = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
	unsigned int sum = 0;

	if (size > SIZE_MAX_OCTAL)
		return -EFBIG;
	snprintf(head.name, sizeof(head.name), "%.40s/%s", folder, name);
	snprintf(head.mode, sizeof(head.mode), "%07o", 0644);
	snprintf(head.uid, sizeof(head.uid), "%07o", 0);
	snprintf(head.gid, sizeof(head.gid), "%07o", 0);
	snprintf(head.size, sizeof(head.size), "%011llo", (unsigned long long)size);
	snprintf(head.mtime, sizeof(head.mtime), "%011llo", (unsigned long long)when);
	memset(head.sum, ' ', sizeof(head.sum));
	for (size_t i = 0; i < sizeof(head); i++)
		sum += ((const unsigned char *)&head)[i];
	snprintf(head.sum, sizeof(head.sum), "%06o", sum & 0777777);
	return buf_put(out, &head, sizeof(head));
}

/* Zeros up to a whole block, or two blocks of them: the end. */
static int put_zeros(struct buf *out, size_t len)
{
	static const char zeros[2 * BLOCK_BYTES];

	return buf_put(out, zeros, len);
}

static int put_contents(struct output *output, int fd, uint64_t size, struct why *why)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	uint64_t left = size;
	int err = 0;

	while (left > 0 && err == 0) {
		size_t step = left < READ_BYTES ? (size_t)left : READ_BYTES;
		char *room;
		ssize_t n;

		buf_clear(&bytes);
		if (buf_reserve(&bytes, step, &room) < 0)
			return why_set(why, -ENOMEM, "out of memory");
		n = read(fd, room, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return why_set(why, -EIO, "a file of the bundle was changed meanwhile");
		buf_commit(&bytes, (size_t)n);
		left -= (uint64_t)n;
		err = output_put(output, &bytes, why);
	}
	buf_clear(&bytes);
	if (err == 0 && size % BLOCK_BYTES > 0) {
		if (put_zeros(&bytes, BLOCK_BYTES - size % BLOCK_BYTES) < 0)
			return why_set(why, -ENOMEM, "out of memory");
		err = output_put(output, &bytes, why);
	}
	return err;
}

/* dir_fd: the folder as it was before the archive was begun. Its name may lead elsewhere by now, if
 * the folder above it is another user's. */
static int put_file(struct output *output, int dir_fd, const char *dir, const char *name,
	time_t when, struct why *why)
{
	_cleanup_(buf_done) struct buf head = BUF_INIT;
	char path[OUTPUT_PATH_MAX], copy[OUTPUT_PATH_MAX];
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(copy, sizeof(copy), "%s", dir);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return why_set(why, -errno, "cannot read %s: %s", path, err_text(errno));
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EIO, "cannot read %s: it was replaced meanwhile", path);
	err = put_head(&head, basename(copy), name, (uint64_t)st.st_size, when);
	if (err < 0)
		return why_set(why, err, "%s: %s", path, err_text(err));
	err = output_put(output, &head, why);
	return err < 0 ? err : put_contents(output, fd, (uint64_t)st.st_size, why);
}

static int pack(struct output *output, const char *dir, time_t when, struct why *why)
{
	_cleanup_(buf_done) struct buf end = BUF_INIT;
	_cleanup_fd_ int dir_fd = -1;
	int err = place_open_folder(dir, false, &dir_fd, why);

	if (err == 0)
		err = output_begin(output, when, why);
	for (const struct bundle_file *file = files; file->name && err == 0; file++)
		err = put_file(output, dir_fd, dir, file->name, when, why);
	if (err == 0 && put_zeros(&end, 2 * BLOCK_BYTES) < 0)
		err = why_set(why, -ENOMEM, "out of memory");
	if (err == 0)
		err = output_put(output, &end, why);
	return err < 0 ? err : output_end(output, why);
}

int bundle_pack(const char *dir, time_t when, struct why *why)
{
	char path[OUTPUT_PATH_MAX];
	struct output output = { .pattern = path, .plain = true };
	int err;

	snprintf(path, sizeof(path), "%s/" BUNDLE_ARCHIVE, dir);
	err = pack(&output, dir, when, why);
	if (err < 0)
		output_abort(&output);
	return err;
}
