/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_note.c - numbers in hex and a path, whose odd bytes are written as %XX. A note is claimed
 * by renaming it, as its name has its writer: of two that start at once, one gets it, and if that
 * one is killed, too, a third gets it later. */
#include "jit/jit_note.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/line.h"
#include "base/new_file.h"
#include "proc/pid_namespace.h"
#include "proc/status.h"

#define VERSION 1
#define FIELDS 14
#define NAME_BYTES 96
#define PART_AGE_S 60 /* a file that is being written is younger */
#define HAD_SOCKET (1U << JIT_CONTROL_FILES)
#define START_SLACK_NS (2 * NSEC_PER_SEC)
#define BOOT_PATH "/proc/sys/kernel/random/boot_id"

/* ---- processes ------------------------------------------------------------------------------ */

static int read_stat(const char *pid, struct buf *out)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	err = fd_read_path(path, 4096, out);
	return err < 0 ? err : buf_putc(out, '\0');
}

static uint64_t read_boot(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char digits[17] = "";
	size_t len = 0;

	if (fd_read_path(BOOT_PATH, 64, &text) < 0)
		return 0;
	for (size_t i = 0; i < text.len && len < sizeof(digits) - 1; i++)
		if (text.data[i] != '-')
			digits[len++] = text.data[i];
	return strtoull(digits, NULL, 16);
}

int jit_note_self(struct jit_note_writer *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct jit_note_writer self = { .pid = (uint64_t)getpid(),
		.boot = read_boot(),
		.pid_ns = pid_namespace_number() };
	int err = read_stat("self", &text);

	if (err == 0)
		err = status_parse_start(text.data, &self.start_ticks);
	if (err == 0)
		*out = self;
	return err;
}

bool jit_note_lives(uint64_t pid, uint64_t start_ticks)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t start;
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, pid);
	return read_stat(number, &text) == 0 && !status_has_ended(text.data) &&
		status_parse_start(text.data, &start) == 0 && start == start_ticks;
}

/* ---- of a control --------------------------------------------------------------------------- */

int jit_note_make(const struct jit_control *control, struct jit_note *out)
{
	const struct jit_target *target = &control->target;
	uint64_t now = clock_ns(CLOCK_REALTIME);
	struct jit_note note = { .pid = (uint64_t)target->pid,
		.start_ticks = target->start_ticks,
		.runtime = control->runtime,
		.ns_pid = (uint64_t)target->ns_pid,
		.uid = target->uid,
		.had = control->had_socket ? HAD_SOCKET : 0,
		.since_ns = now - clock_ns(CLOCK_BOOTTIME) + target->start_ns - START_SLACK_NS,
		.noted_ns = now };
	struct stat dir, mounts;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", target->pid);
	if (stat(path, &mounts) < 0 || fstat(control->dir_fd, &dir) < 0)
		return -errno;
	for (enum jit_control_file file = 0; file < JIT_CONTROL_FILES; file++)
		note.had |= control->had[file] ? 1U << file : 0;
	note.mount_ns = mounts.st_ino;
	note.dir_dev = dir.st_dev;
	note.dir_ino = dir.st_ino;
	memcpy(note.dir, control->dir, sizeof(note.dir));
	*out = note;
	return 0;
}

void jit_note_restore(const struct jit_note *note, struct jit_control *control)
{
	control->had_socket = note->had & HAD_SOCKET;
	for (enum jit_control_file file = 0; file < JIT_CONTROL_FILES; file++)
		control->had[file] = note->had >> file & 1;
}

/* ---- the line ------------------------------------------------------------------------------- */

/* In the order of the line. */
static void list_fields(
	struct jit_note *note, struct jit_note_writer *writer, uint64_t *fields[FIELDS])
{
	uint64_t *const all[FIELDS] = { &writer->boot, &writer->pid_ns, &note->pid,
		&note->start_ticks, &note->runtime, &note->ns_pid, &note->uid, &note->had,
		&note->since_ns, &note->noted_ns, &note->mount_ns, &note->dir_dev, &note->dir_ino,
		NULL };

	memcpy(fields, all, sizeof(all));
}

static int put_path(const char *path, struct buf *out)
{
	int err = 0;

	for (const unsigned char *at = (const unsigned char *)path; *at && err == 0; at++)
		err = *at > ' ' && *at < 0x7f && *at != '%' ? buf_putc(out, (char)*at)
							    : buf_printf(out, "%%%02X", *at);
	return err;
}

int jit_note_print(
	const struct jit_note *note, const struct jit_note_writer *writer, struct buf *out)
{
	struct jit_note_writer by = *writer;
	struct jit_note copy = *note;
	uint64_t *fields[FIELDS];
	int err = buf_printf(out, "%x ", VERSION);

	list_fields(&copy, &by, fields);
	for (size_t i = 0; fields[i] && err == 0; i++)
		err = buf_printf(out, "%" PRIx64 " ", *fields[i]);
	if (err == 0)
		err = put_path(note->dir, out);
	return err < 0 ? err : buf_putc(out, '\n');
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* An absolute path, to the end of the line. */
static bool take_path(struct bytes text, char *out, size_t size)
{
	size_t len = 0;

	for (size_t at = 0; at < text.len && len < size; at++) {
		char c = (char)text.data[at];

		if (c == '%' && text.len - at > 2) {
			int high = hex_digit((char)text.data[at + 1]);
			int low = hex_digit((char)text.data[at + 2]);

			c = high < 0 || low < 0 ? '\0' : (char)(high << 4 | low);
			at += 2;
		}
		if (c == '\0')
			return false;
		out[len++] = c;
	}
	if (len == 0 || len >= size || out[0] != '/')
		return false;
	out[len] = '\0';
	return true;
}

static bool is_good(const struct jit_note *note)
{
	return note->pid > 0 && note->pid <= INT32_MAX && note->ns_pid > 0 &&
		note->ns_pid <= INT32_MAX && note->uid < UINT32_MAX && note->had < 2 * HAD_SOCKET &&
		(note->runtime == JIT_CONTROL_DOTNET || note->runtime == JIT_CONTROL_JVM) &&
		note->since_ns <= note->noted_ns;
}

int jit_note_parse(const struct buf *text, struct jit_note *out, struct jit_note_writer *writer)
{
	struct cursor c = cursor_init(text->data, text->len), line;
	struct jit_note_writer by = { 0 };
	struct jit_note note = { 0 };
	uint64_t *fields[FIELDS], version = 0;
	bool good = line_next(&c, &line) && cursor_left(&c) == 0 && line_hex(&line, &version) &&
		version == VERSION && line_blanks(&line);

	list_fields(&note, &by, fields);
	for (size_t i = 0; fields[i] && good; i++)
		good = line_hex(&line, fields[i]) && line_blanks(&line);
	if (!good || !take_path(line_rest(&line), note.dir, sizeof(note.dir)) || !is_good(&note))
		return -EBADMSG;
	*out = note;
	*writer = by;
	return 0;
}

/* ---- the folder ----------------------------------------------------------------------------- */

static void name_of(uint64_t pid, uint64_t start_ticks, const struct jit_note_writer *writer,
	char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64, pid,
		start_ticks, writer->pid, writer->start_ticks);
}

/* Pid and start of the process, then of the writer. */
static bool parse_name(const char *name, uint64_t out[4])
{
	struct cursor c = cursor_init(name, strlen(name));
	bool good = strlen(name) < NAME_BYTES;

	for (size_t i = 0; i < 4 && good; i++)
		good = (i == 0 || cursor_u8(&c) == '-') && line_hex(&c, &out[i]);
	return good && cursor_left(&c) == 0;
}

int jit_note_write(int dir, const struct jit_note *note, const struct jit_note_writer *writer)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char name[NAME_BYTES];
	int err = jit_note_print(note, writer, &text);

	name_of(note->pid, note->start_ticks, writer, name);
	return err < 0 ? err : new_file_write(dir, name, text.data, text.len, 0);
}

int jit_note_remove(int dir, const struct jit_note *note, const struct jit_note_writer *writer)
{
	char name[NAME_BYTES];

	name_of(note->pid, note->start_ticks, writer, name);
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

static int read_note(int dir, const char *name, struct buf *out)
{
	_cleanup_fd_ int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_read_all(fd, JIT_NOTE_BYTES_MAX, out);
}

/* A killed writer left it, or it is no file of ours. */
static void clear(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
		st.st_mtime + PART_AGE_S < (time_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC))
		unlinkat(dir, name, 0);
}

struct taking {
	int dir;
	const struct jit_note_writer *self;
	bool (*found)(void *ctx, const struct jit_note *note, bool ended);
	void *ctx;
};

static void take(const struct taking *t, const char *name, const uint64_t ids[4])
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct jit_note_writer writer;
	struct jit_note note;
	char ours[NAME_BYTES];
	bool ended;

	if (read_note(t->dir, name, &text) < 0 || jit_note_parse(&text, &note, &writer) < 0 ||
		note.pid != ids[0] || note.start_ticks != ids[1]) {
		clear(t->dir, name);
		return;
	}
	ended = writer.boot != t->self->boot;
	if (!ended && (writer.pid_ns != t->self->pid_ns || jit_note_lives(ids[2], ids[3])))
		return;
	name_of(note.pid, note.start_ticks, t->self, ours);
	if (renameat(t->dir, name, t->dir, ours) < 0)
		return;
	ended |= !jit_note_lives(note.pid, note.start_ticks);
	if (t->found(t->ctx, &note, ended))
		unlinkat(t->dir, ours, 0);
}

int jit_note_take(int dir, const struct jit_note_writer *self,
	bool (*found)(void *ctx, const struct jit_note *note, bool ended), void *ctx)
{
	const struct taking taking = { dir, self, found, ctx };
	_cleanup_(dir_closep) DIR *list = NULL;
	const struct dirent *entry;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list = copy < 0 ? NULL : fdopendir(copy);
	if (!list) {
		int err = -errno;

		fd_close(&copy);
		return err;
	}
	for (size_t i = 0; i < JIT_NOTES_MAX && (entry = readdir(list)); i++) {
		uint64_t ids[4];

		if (parse_name(entry->d_name, ids))
			take(&taking, entry->d_name, ids);
		else if (entry->d_name[0] != '.')
			clear(dir, entry->d_name);
	}
	return 0;
}
