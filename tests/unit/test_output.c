/* SPDX-License-Identifier: Apache-2.0 */
/* test_output.c - what may be at the place of an output, and what becomes of it there. Each row
 * makes a folder, tries and writes an output in it, and looks at what is left.
 * LINK: -Wl,--wrap=statx */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/new_file.h"
#include "make_place.h"
#include "output/bundle.h"
#include "output/output.h"

#define STALL_MS 10
#define NOBODY 65534

enum how { EXACT, PATTERN, OURS, AS_IS };

struct row {
	const char *what;
	const char *made; /* before: "file NAME", "link NAME TARGET", ... with commas between */
	const char *path;
	enum how how;
	int err;
	const char *says; /* part of the message */
	const char *has;  /* the file that the output is in; NULL: path */
	uid_t as;         /* 0: whoever runs the tests */
	bool root;        /* needs root */
	bool late;        /* fails while it is written */
};

/* ---- a row ---------------------------------------------------------------------------------- */

static int counted;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	counted++;
	if (strstr(path, ".part"))
		fail_msg("%s: %s is left", current, path);
	return 0;
}

/* What is here; a temporary file among them is a failure. */
static int count_files(void)
{
	counted = 0;
	assert_int_equal(nftw(".", count_file, 8, FTW_PHYS), 0);
	return counted;
}

/* *tried: what output_try said. */
static int try_and_write(const struct row *row, int *tried, struct why *why)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output output = { .pattern = row->path,
		.plain = row->how == OURS,
		.as_is = row->how == AS_IS,
		.stall_ms = STALL_MS };
	int err;

	assert_int_equal(buf_puts(&bytes, "new\n"), 0);
	*tried = output_try(&output, why);
	err = *tried < 0 ? *tried : output_write(&output, &bytes, why);
	output_abort(&output);
	return err;
}

static void look_for_bytes(const struct row *row)
{
	const char *path = row->has ? row->has : row->path;
	bool kept = strcmp(path, "/dev/null") != 0;
	_cleanup_fd_ int fd = reader >= 0 ? TAKE_FD(reader) : open(path, O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
		strcmp(text, kept ? "new\n" : "") != 0)
		fail_msg("%s: %s has \"%s\"", row->what, path, text);
}

static void run(const struct row *row)
{
	void *place = NULL;
	struct why why = { "" };
	int err, tried, before;

	assert_int_equal(make_place(&place), 0);
	current = row->what;
	make_all(row->made);
	before = count_files();
	assert_int_equal(row->as > 0 ? seteuid(row->as) : 0, 0);
	err = try_and_write(row, &tried, &why);
	assert_int_equal(row->as > 0 ? seteuid(0) : 0, 0);
	if (err != row->err || (row->says && !strstr(why.text, row->says)))
		fail_msg("%s: %d (%s), \"%s\"", row->what, err, strerror(-err), why.text);
	if (tried != row->err && !row->late)
		fail_msg("%s: found too late", row->what);
	if (err == 0)
		look_for_bytes(row);
	else if (count_files() != before || !strstr(why.text, "cannot write "))
		fail_msg("%s: something is left, or \"%s\"", row->what, why.text);
	count_files();
	assert_int_equal(remove_place(&place), 0);
}

static const struct row rows[] = {
	{ "a new file", "", "f", .err = 0 },
	{ "a new file by a whole path", "folder d", "./d/f", .has = "d/f" },
	{ "a file is replaced", "file f", "f", .err = 0 },
	{ "a file that may only be read is replaced", "file f, mode f 0400", "f", .err = 0 },
	{ "a pattern", "folder d", "d/%%", .how = PATTERN, .has = "d/%" },
	{ "stoker's own name has no pattern", "", "%%", .how = OURS },
	{ "an account's name has no pattern", "", "%H", .how = AS_IS },
	{ "an account is not compressed", "", "s.gz", .how = AS_IS },
	{ "no name", "", "", .err = -ENOENT, .says = "without a name" },
	{ "a folder is missing", "", "no/such/f", .err = -ENOENT, .says = "no directory no/such" },
	{ "a folder is missing, of a pattern", "", "no%%/f", .how = PATTERN, .err = -ENOENT,
		.says = "directory no%" },
	{ "a folder is a file", "file d", "d/f", .err = -ENOTDIR, .says = "d" },
	{ "a folder is no longer there", "link d gone", "d/f", .err = -ENOENT, .says = "d" },
	{ "a folder is in the place", "folder f", "f", .err = -EISDIR, .says = "f: it is a dir" },
	{ "a folder is in the place, of a pattern", "folder %", "%%", .how = PATTERN,
		.err = -EISDIR, .says = "%: it is a dir" },
	{ "the name ends in a slash", "folder f", "f/", .err = -EISDIR, .says = "name a file" },
	{ "the folder itself", "", ".", .err = -EISDIR, .says = "name a file" },
	{ "the root", "", "/", .err = -EISDIR, .says = "name a file" },
	{ "a socket", "socket f", "f", .err = -EOPNOTSUPP, .says = "f: it is a socket" },
	{ "a socket, of a pattern", "socket %", "%%", .how = PATTERN, .err = -EOPNOTSUPP,
		.says = "a socket" },
	{ "a FIFO with a reader", "read-fifo f", "f", .err = 0 },
	{ "a FIFO with a reader, for an account", "read-fifo f", "f", .how = AS_IS },
	{ "a FIFO without a reader", "fifo f", "f", .err = -ENXIO, .says = "start the reader" },
	{ "a FIFO in the place of a pattern", "fifo %", "%%", .how = PATTERN, .err = -EEXIST,
		.says = "%: a FIFO is in the place" },
	{ "a FIFO in the place of a pattern, with a reader", "read-fifo %", "%%", .how = PATTERN,
		.err = -EEXIST, .says = "a FIFO is in the place" },
	{ "a FIFO in the place of a bundle's file", "read-fifo f", "f", .how = OURS, .err = -EEXIST,
		.says = "a FIFO is in the place" },
	{ "a link to a file", "folder d, file d/t, link f d/t", "f", .has = "d/t" },
	{ "a link to a file that is not there yet", "folder d, link f d/t", "f", .has = "d/t" },
	{ "a link to a file, of a pattern", "link % t", "%%", .how = PATTERN, .has = "t" },
	{ "a link in another folder", "folder d, folder e, link d/f ../e/t", "d/f", .has = "e/t" },
	{ "a folder by an own link", "folder d, link l d", "l/f", .has = "d/f" },
	{ "a folder by an own link, and up", "folder d, folder e, link d/l ../e", "d/l/f",
		.has = "e/f" },
	{ "a folder by links in a circle", "link l m, link m l", "l/f", .err = -ELOOP },
	{ "a file for a folder", "file l", "l/f", .err = -ENOTDIR },
	{ "a link that dangles", "link f gone/t", "f", .err = -ENOENT,
		.says = "no directory gone; make it first (f is a symbolic link to gone/t)" },
	{ "a link to a link", "link f g, link g t", "f", .err = -ELOOP,
		.says = "f: it is a symbolic link to another one, g" },
	{ "a link to itself", "link f f", "f", .err = -ELOOP, .says = "another one, f" },
	{ "a link to a folder", "folder d, link f d", "f", .err = -EISDIR,
		.says = "d: it is a directory" },
	{ "a link to a FIFO", "read-fifo t, link f t", "f", .err = 0 },
	{ "a link to a FIFO, of a pattern", "read-fifo t, link % t", "%%", .how = PATTERN,
		.err = -EEXIST, .says = "t: a FIFO" },
	{ "a link to a FIFO without a reader", "fifo t, link f t", "f", .err = -ENXIO,
		.says = "t: no process reads" },
	{ "a link in the place of a bundle's file", "file t, link f t", "f", .how = OURS,
		.err = -EEXIST, .says = "f: a symbolic link is in the place" },
	{ "a link in a folder like /tmp", "folder d, mode d 1777, link d/f t", "d/f", .err = -EPERM,
		.says = "d/f: it is a symbolic link in a directory that others" },
	{ "a link in a folder of a group", "folder d, mode d 0775, link d/f t", "d/f",
		.err = -EPERM, .says = "others can write" },
	{ "a link to a device", "link f /dev/null", "f", .has = "/dev/null" },
	{ "a file of /proc", "", "/proc/sys/kernel/hostname", .err = -EPERM,
		.says = "no file can be made in /proc", .root = true },
	{ "a file of a process", "", "/proc/self/x", .err = -EPERM,
		.says = "no file can be made in /proc" },
	{ "a full device", "", "/dev/full", .err = -ENOSPC, .says = "/dev/full: no space left",
		.late = true },
	{ "another user's link", "link f t, owner f 65534", "f", .err = -EPERM,
		.says = "f: it is a symbolic link of another user (uid 65534)", .root = true },
	{ "a folder by another user's link", "folder d, link l d, owner l 65534", "l/f",
		.err = -EPERM, .says = "l goes through a symbolic link of another user",
		.root = true },
	{ "another user's link in a folder like /tmp, to our FIFO",
		"folder d, mode d 1777, read-fifo t, link d/f ../t, owner d/f 65534", "d/f",
		.err = -EPERM, .says = "d/f: it is a symbolic link of another user", .root = true },
	{ "our link in another user's folder", "folder d, link d/f t, owner d 65534", "d/f",
		.err = -EPERM, .says = "others can write", .root = true },
	{ "another user's FIFO in a folder like /tmp",
		"folder d, mode d 1777, read-fifo d/f, owner d/f 65534", "d/f", .err = -EPERM,
		.says = "a FIFO of another user (uid 65534)", .root = true },
	{ "another user's FIFO in that user's folder",
		"folder d, read-fifo d/f, owner d/f 65534, owner d 65534", "d/f", .root = true },
	{ "another user's file in a folder like /tmp", "folder d, mode d 1777, file d/f", "d/f",
		.err = -EPERM, .says = "d/f: it is a file of another user (uid 0)", .as = NOBODY,
		.root = true },
	{ "a folder that we may not write to", "folder d", "d/f", .err = -EACCES,
		.says = "d/f: no permission to write to its directory", .as = NOBODY,
		.root = true },
	{ "a file in a folder that we may not write to", "folder d, file d/f, owner d/f 65534",
		"d/f", .err = -EACCES, .says = "no permission to write to its directory",
		.as = NOBODY, .root = true },
	{ "a folder that we may not look into", "folder d, mode d 0700", "d/f", .err = -EACCES,
		.says = "d/f", .as = NOBODY, .root = true },
};

static void each_place_has_its_rule(void **state)
{
	size_t skipped = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].root && geteuid() != 0) {
			print_message("skipped, needs root: %s\n", rows[i].what);
			skipped++;
		} else {
			run(&rows[i]);
		}
	}
	assert_true(ARRAY_SIZE(rows) - skipped >= 30);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static void an_open_descriptor_is_written_to(void **state)
{
	static const char *const formats[] = { "/dev/fd/%d", "/proc/self/fd/%d" };
	int ends[2], tried;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct row row = { .what = formats[i] };
		char path[64], text[16] = "";
		struct why why = { "" };

		snprintf(path, sizeof(path), formats[i], ends[1]);
		row.path = path;
		assert_int_equal(try_and_write(&row, &tried, &why), 0);
		assert_int_equal(read(ends[0], text, sizeof(text)), 4);
		assert_string_equal(text, "new\n");
		snprintf(path, sizeof(path), formats[i], ends[0]);
		assert_int_equal(try_and_write(&row, &tried, &why), -EBADF);
		assert_non_null(strstr(why.text, "is open for reading"));
		snprintf(path, sizeof(path), formats[i], 999999);
		assert_int_equal(try_and_write(&row, &tried, &why), -EBADF);
		assert_non_null(strstr(why.text, "descriptor 999999 is not open"));
	}
	close(ends[0]);
	close(ends[1]);
}

/* Opened anew, a file would be written from its beginning. */
static void a_descriptor_of_a_file_goes_on_where_it_is(void **state)
{
	struct row row = { .what = "a file's descriptor" };
	char path[64], text[16] = "";
	struct why why;
	int fd, tried;

	(void)state;
	write_text("f", "old\n");
	fd = open("f", O_RDWR | O_APPEND | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	row.path = path;
	assert_int_equal(try_and_write(&row, &tried, &why), 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 8);
	assert_string_equal(text, "old\nnew\n");
	close(fd);
}

/* ---- names and files ------------------------------------------------------------------------ */

static void names_may_be_as_long_as_the_file_system_has_them(void **state)
{
	char longest[NAME_MAX + 2], path[OUTPUT_PATH_MAX + 2];
	struct row row = { .what = "a long name", .path = longest };
	struct why why;
	int tried;

	(void)state;
	memset(longest, 'n', sizeof(longest));
	longest[NAME_MAX] = '\0';
	assert_int_equal(try_and_write(&row, &tried, &why), 0);
	look_for_bytes(&row);
	longest[NAME_MAX] = 'n';
	longest[NAME_MAX + 1] = '\0';
	assert_int_equal(try_and_write(&row, &tried, &why), -ENAMETOOLONG);
	assert_non_null(strstr(why.text, "the name is too long"));
	memset(path, '/', sizeof(path));
	path[OUTPUT_PATH_MAX + 1] = '\0';
	row.path = path;
	assert_int_equal(try_and_write(&row, &tried, &why), -ENAMETOOLONG);
	path[OUTPUT_PATH_MAX] = '\0';
	assert_int_equal(try_and_write(&row, &tried, &why), -ENAMETOOLONG);
	count_files();
}

static void the_same_name_again_gets_a_number(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct output output = { .pattern = "a.b.c" };
	struct why why;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(output_write(&output, &bytes, &why), 0);
	assert_int_equal(access("a.b.c", F_OK), 0);
	assert_int_equal(access("a-2.b.c", F_OK), 0);
	assert_int_equal(access("a-3.b.c", F_OK), 0);
}

static void an_output_that_is_given_up_leaves_the_old_file(void **state)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct row row = { .what = "given up", .path = "f" };
	struct output output = { .pattern = "f" };
	struct why why;
	char text[16] = "";
	int fd, tried;

	(void)state;
	write_text("f", "old\n");
	assert_int_equal(buf_puts(&bytes, "new\n"), 0);
	assert_int_equal(output_begin(&output, 0, &why), 0);
	assert_int_equal(output_put(&output, &bytes, &why), 0);
	output_abort(&output);
	output_abort(&output);
	count_files();
	fd = open("f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "old\n");
	close(fd);
	assert_int_equal(try_and_write(&row, &tried, &why), 0);
	look_for_bytes(&row);
}

/* What has taken the place since is not followed, and the file stays beside it. */
static void a_file_that_cannot_get_its_name_is_kept(void **state)
{
	static const struct {
		const char *made;
		bool late; /* it comes while the file is written */
		const char *says;
	} all[] = {
		{ "folder f", false, "f: it is a directory; name a file; what was to be written" },
		{ "folder f", true,
			"f: the old file cannot be replaced: Is a directory; what was" },
		{ "fifo f", false, "start the reader first; what was to be written is in /" },
		{ "link f g, link g h", false, "link to another one, g; name what that leads to" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_(buf_done) struct buf bytes = BUF_INIT, kept = BUF_INIT;
		struct output output = { .pattern = "f", .keep = true };
		struct why why = { "" };
		void *place = NULL;
		const char *path;

		assert_int_equal(make_place(&place), 0);
		current = all[i].says;
		assert_int_equal(output_try(&output, &why), 0);
		assert_int_equal(buf_puts(&bytes, "new\n"), 0);
		if (!all[i].late)
			make_all(all[i].made);
		assert_int_equal(output_begin(&output, 0, &why), 0);
		if (all[i].late)
			make_all(all[i].made);
		assert_int_equal(output_put(&output, &bytes, &why), 0);
		assert_true(output_end(&output, &why) < 0);
		output_abort(&output);
		path = strstr(why.text, " is in ");
		if (!path || !strstr(why.text, all[i].says))
			fail_msg("%s", why.text);
		assert_int_equal(fd_read_path(path + strlen(" is in "), 64, &kept), 0);
		assert_int_equal(kept.len, 4);
		assert_int_equal(remove_place(&place), 0);
	}
}

/* As chattr(1). -errno: not on this file system. */
static int set_flags(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 || ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static void what_chattr_protects_is_refused_before_it_is_written(void **state)
{
	static const struct {
		const char *path;
		int flags;
		const char *says;
	} all[] = {
		{ "d", FS_IMMUTABLE_FL, "its directory is immutable; change that with chattr -i" },
		{ "d", FS_APPEND_FL, "its directory is append-only" },
		{ "d/f", FS_IMMUTABLE_FL, "the old file is immutable" },
		{ "d/f", FS_APPEND_FL, "the old file is immutable or append-only" },
	};

	(void)state;
	make_all("folder d, file d/f");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct output output = { .pattern = "d/f" };
		struct why why = { "" };
		int err = set_flags(all[i].path, all[i].flags);

		if (err < 0) {
			print_message("skipped: no chattr here: %s\n", strerror(-err));
			return;
		}
		err = output_try(&output, &why);
		assert_int_equal(set_flags(all[i].path, 0), 0);
		assert_int_equal(err, -EPERM);
		if (!strstr(why.text, all[i].says))
			fail_msg("%s", why.text);
		count_files();
	}
}

static bool clash(const char *one, const char *other)
{
	struct output a = { .pattern = one, .as_is = true }, b = { .pattern = other };
	struct why why = { "" };
	bool same;

	if (output_try(&a, &why) < 0 || output_try(&b, &why) < 0)
		fail_msg("%s", why.text);
	same = place_clashes(&a.tried, &b.tried);
	output_abort(&a);
	output_abort(&b);
	return same;
}

static void two_paths_to_one_file_clash(void **state)
{
	(void)state;
	make_all("folder d, link l d, file g, link m g, read-fifo p, link q p");
	assert_true(clash("f", "./f"));
	assert_true(clash("d/f", "l/f"));
	assert_true(clash("d/f", "d/../l//f"));
	assert_true(clash("g", "m"));
	assert_true(clash("p", "q"));
	assert_false(clash("f", "g"));
	assert_false(clash("f", "d/f"));
	assert_false(clash("/dev/null", "/dev/null"));
	assert_false(clash("-", "/dev/stdout"));
}

static void a_bundle_is_refused_before_it_is_written(void **state)
{
	static const struct {
		const char *what;
		const char *made;
		int err;
		const char *says;
	} all[] = {
		{ "a new folder", "", 0, NULL },
		{ "a folder", "folder b", 0, NULL },
		{ "our link to a folder", "folder t, link b t", 0, NULL },
		{ "a file in its place", "file b", -ENOTDIR, "b: it is no directory; name one" },
		{ "a FIFO in its place", "fifo b", -ENOTDIR, "b" },
		{ "a link that dangles", "link b t", -ENOENT,
			"t: there is no such directory; make it first (b is a symbolic" },
		{ "a link to a link", "folder t, link u t, link b u", -ELOOP,
			"b: it is a symbolic link to another one, u" },
		{ "a FIFO in the place of a file", "folder b, fifo b/profile.html", -EEXIST,
			"b/profile.html: a FIFO" },
		{ "a FIFO in the place of the archive", "folder b, read-fifo b/prof.tar.gz",
			-EEXIST, BUNDLE_ARCHIVE ": a FIFO" },
		{ "a folder in the place of a file", "folder b, folder b/profile.html", -EISDIR,
			"profile.html" },
		{ "a link in the place of a file", "folder b, link b/profile.html /etc/passwd",
			-EEXIST, "b/profile.html: a symbolic link" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		void *place = NULL;
		struct why why = { "" };
		int err;

		assert_int_equal(make_place(&place), 0);
		current = all[i].what;
		make_all(all[i].made);
		err = bundle_make("b", &why);
		if (err != all[i].err || (all[i].says && !strstr(why.text, all[i].says)))
			fail_msg("%s: %d, \"%s\"", all[i].what, err, why.text);
		count_files();
		assert_int_equal(remove_place(&place), 0);
	}
}

static void a_new_file_replaces_nothing_where_it_must_not(void **state)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct new_file file = NEW_FILE_INIT;

	(void)state;
	write_text("f", "old\n");
	assert_int_equal(new_file_open(&file, dir, "stem"), 0);
	assert_true(new_file_is_part(file.part, "stem"));
	assert_false(new_file_is_part(file.part, "ste"));
	assert_int_equal(fd_write_all(file.fd, "new\n", 4), 0);
	assert_int_equal(new_file_commit(&file, "f", NEW_FILE_NO_OLD | NEW_FILE_SYNC), -EEXIST);
	assert_int_equal(new_file_commit(&file, "g", NEW_FILE_NO_OLD | NEW_FILE_SYNC), 0);
	new_file_abort(&file);
	assert_int_equal(access("g", F_OK), 0);
	assert_int_equal(new_file_write(dir, "f", "x", 1, 0), 0);
	assert_int_equal(new_file_write(dir, "no/f", "x", 1, 0), -ENOENT);
	assert_int_equal(count_files(), 3); /* with the folder */
	close(dir);
}

/* ---- a mount that is swapped ------------------------------------------------------------------
 */

static bool swaps;

int __real_statx(int dir, const char *name, int how, unsigned int mask, struct statx *out);
int __wrap_statx(int dir, const char *name, int how, unsigned int mask, struct statx *out);
int __wrap_statx(int dir, const char *name, int how, unsigned int mask, struct statx *out)
{
	int err = __real_statx(dir, name, how, mask, out);

	if (err == 0 && swaps && strcmp(name, "f") == 0) {
		out->stx_attributes |= STATX_ATTR_MOUNT_ROOT;
		err = rename("other", "f");
	}
	return err;
}

static void a_mount_that_is_replaced_while_we_look_is_not_written_to(void **state)
{
	struct output output = { .pattern = "f" };
	struct why why = { "" };

	(void)state;
	write_text("f", "theirs");
	write_text("other", "another");
	swaps = true;
	assert_int_equal(output_try(&output, &why), -EBUSY);
	swaps = false;
	assert_string_equal(why.text, "cannot write f: it was replaced meanwhile; try again");
	output_abort(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_rule),
		cmocka_unit_test(a_bundle_is_refused_before_it_is_written),
		cmocka_unit_test_setup_teardown(
			a_mount_that_is_replaced_while_we_look_is_not_written_to, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			an_open_descriptor_is_written_to, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_descriptor_of_a_file_goes_on_where_it_is, make_place, remove_place),
		cmocka_unit_test(a_file_that_cannot_get_its_name_is_kept),
		cmocka_unit_test_setup_teardown(
			what_chattr_protects_is_refused_before_it_is_written, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			two_paths_to_one_file_clash, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			names_may_be_as_long_as_the_file_system_has_them, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			the_same_name_again_gets_a_number, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			an_output_that_is_given_up_leaves_the_old_file, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_new_file_replaces_nothing_where_it_must_not, make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
