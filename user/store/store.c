/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.c - the directory decides, the index helps. The files are listed; a file with a line
 * of its name and size in the index is known by that; others are opened. Only files with a
 * segment's name are touched: others may be somebody's. */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "store/index.h"

#define INDEX_NAME "index"
#define INDEX_BYTES_MAX (512U << 20)
#define LOCK_NAME "lock"
#define DAMAGED_NAME "damaged"
#define SEGMENT_STEM "segment" /* of a segment's temporary file */
#define SAME_START_MAX 1000
#define LISTINGS_MAX 8
/* The index is made anew when it has this many lines too many. */
#define INDEX_SPARE_LINES 4096

struct store {
	int dir, lock;
	enum store_mode mode;
	struct index index; /* by start */
	uint64_t bytes;
	size_t lines; /* of the index file */
};

/* A file of the listing. */
struct listed {
	char name[STORE_NAME_MAX];
	uint64_t bytes;
	bool known; /* the index has it */
};

/* One look at the directory. */
struct scan {
	struct store *store;
	struct store_report *report;
	VEC(struct listed) files; /* by name */
	struct index index;
	size_t lines; /* of the index file */
};

static void scan_done(struct scan *scan)
{
	vec_done(&scan->files);
	index_done(&scan->index);
}

/* ---- the listing ---------------------------------------------------------------------------- */

static int list_one(struct scan *scan, const char *name)
{
	struct stat st;
	struct listed *file;

	if (scan->store->mode == STORE_WRITE &&
		(new_file_is_part(name, SEGMENT_STEM) || new_file_is_part(name, INDEX_NAME))) {
		unlinkat(scan->store->dir, name, 0);
		scan->report->leftover++;
	}
	if (!store_name_is_segment(name) ||
		fstatat(scan->store->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(st.st_mode))
		return 0;
	file = vec_add(&scan->files);
	if (!file)
		return -ENOMEM;
	memcpy(file->name, name, strlen(name) + 1); /* no longer than a segment's name may be */
	file->bytes = (uint64_t)st.st_size;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

/* Of too many, the newest. The others go, where that is ours to do: nobody would ever see them. */
static void limit_files(struct scan *scan)
{
	size_t extra =
		scan->files.len > STORE_SEGMENTS_MAX ? scan->files.len - STORE_SEGMENTS_MAX : 0;

	if (scan->files.len > 0)
		qsort(scan->files.data, scan->files.len, sizeof(*scan->files.data), by_name);
	if (extra == 0)
		return;
	for (size_t i = 0; scan->store->mode == STORE_WRITE && i < extra; i++)
		unlinkat(scan->store->dir, scan->files.data[i].name, 0);
	scan->report->beyond += (uint32_t)extra;
	scan->files.len -= extra;
	memmove(scan->files.data, scan->files.data + extra,
		scan->files.len * sizeof(*scan->files.data));
}

static int list_once(struct scan *scan)
{
	int fd = openat(scan->store->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		err = -errno;
		fd_close(&fd);
		return err;
	}
	while (err == 0 && (entry = readdir(dir)))
		err = list_one(scan, entry->d_name);
	closedir(dir);
	limit_files(scan);
	return err;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Again, where files came or went meanwhile: a reader would miss an hour that was not there yet,
 * and the minutes that are no longer. Who writes is alone. */
static int list(struct scan *scan)
{
	struct stat before, after = { 0 };
	int err = 0;

	for (int i = 0; err == 0 && i < LISTINGS_MAX; i++) {
		scan->files.len = 0;
		scan->report->beyond = 0;
		if (fstat(scan->store->dir, &before) < 0)
			return -errno;
		err = list_once(scan);
		if (scan->store->mode == STORE_WRITE || fstat(scan->store->dir, &after) < 0 ||
			is_same_time(&before.st_mtim, &after.st_mtim))
			break;
	}
	return err;
}

/* ---- the index file ------------------------------------------------------------------------- */

static int read_file(int dir, const char *name, size_t bytes_max, struct buf *out)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd_read_all(fd, bytes_max, out);
}

/* Leaves the entries whose files are there. */
static void keep_listed(struct scan *scan)
{
	struct index *index = &scan->index;
	size_t len = 0;

	vec_each (&index->entries, entry) {
		struct listed *file = scan->files.len == 0
			? NULL
			: bsearch(entry->name, scan->files.data, scan->files.len,
				  sizeof(*scan->files.data), by_name);

		if (!file || file->known || file->bytes != entry->bytes)
			continue;
		file->known = true;
		index->entries.data[len++] = *entry;
	}
	index->entries.len = len;
}

/* Whatever is wrong with the index, it can be made anew. */
static int read_index(struct scan *scan)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = 0;

	if (read_file(scan->store->dir, INDEX_NAME, INDEX_BYTES_MAX, &text) == 0)
		err = index_parse(
			&scan->index, (struct bytes){ (const uint8_t *)text.data, text.len });
	scan->lines = scan->index.entries.len + scan->index.bad;
	keep_listed(scan);
	return err;
}

/* Files that are no segments are moved aside and not removed: they may be of use to somebody. */
static int move_damaged(int dir, const char *name)
{
	char to[STORE_NAME_MAX + sizeof(DAMAGED_NAME) + 1];

	mkdirat(dir, DAMAGED_NAME, 0755);
	snprintf(to, sizeof(to), DAMAGED_NAME "/%s", name);
	return renameat(dir, name, dir, to) < 0 ? -errno : 0;
}

static void set_aside(struct scan *scan, const char *name)
{
	scan->report->damaged++;
	memccpy(scan->report->last, name, '\0', sizeof(scan->report->last) - 1);
	if (scan->store->mode == STORE_WRITE)
		move_damaged(scan->store->dir, name);
}

static int load(int dir, const char *name, struct store_file *out, struct why *why)
{
	struct store_file file = { 0 };
	int err = read_file(dir, name, STORE_BYTES_MAX, &file.bytes);

	if (err < 0)
		why_set(why, err, "cannot read %s: %s", name, err_text(err));
	else
		err = segment_open(file.bytes.data, file.bytes.len, &file.segment, why);
	if (err < 0)
		store_file_done(&file);
	else
		*out = file;
	return err;
}

static int look_at(struct scan *scan, const struct listed *file)
{
	_cleanup_(store_file_done) struct store_file loaded = { 0 };
	int err = load(scan->store->dir, file->name, &loaded, &scan->report->why);

	if (err == -ENOEXEC || err == -EBADMSG)
		set_aside(scan, file->name);
	scan->report->unread += err == -EACCES;
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	return index_add(&scan->index, loaded.segment, file->name, file->bytes);
}

static int by_start(const void *x, const void *y)
{
	const struct store_entry *a = x, *b = y;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Those that another stands for are not to be counted beside it. */
static int drop_sources(struct scan *scan)
{
	_cleanup_(hash_done) struct hash ids = HASH_INIT;
	struct index *index = &scan->index;
	size_t len = 0;
	int err = 0;

	vec_each (&index->entries, entry)
		for (uint32_t i = 0; err == 0 && i < entry->sources_len; i++)
			err = hash_put(&ids, index->sources.data[entry->sources + i], 1);
	if (err < 0)
		return err;
	vec_each (&index->entries, entry) {
		if (!hash_find(&ids, entry->id)) {
			index->entries.data[len++] = *entry;
			continue;
		}
		scan->report->stale++;
		if (scan->store->mode == STORE_WRITE)
			unlinkat(scan->store->dir, entry->name, 0);
	}
	index->entries.len = len;
	return 0;
}

static int scan_run(struct scan *scan)
{
	int err = list(scan);

	if (err == 0)
		err = read_index(scan);
	for (size_t i = 0; err == 0 && i < scan->files.len; i++)
		if (!scan->files.data[i].known)
			err = look_at(scan, &scan->files.data[i]);
	if (err == 0)
		err = drop_sources(scan);
	if (err == 0 && scan->index.entries.len > 0)
		qsort(scan->index.entries.data, scan->index.entries.len,
			sizeof(*scan->index.entries.data), by_start);
	return err;
}

/* ---- writing files -------------------------------------------------------------------------- */

/* A crash leaves the old one or the new one; without it nothing is lost but time. */
static void write_index(struct store *store, const struct index *index)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = 0;

	vec_each (&index->entries, entry)
		if (err == 0)
			err = index_put_line(&text, index, entry);
	if (err == 0)
		err = new_file_write(store->dir, INDEX_NAME, text.data, text.len, NEW_FILE_SYNC);
	if (err == 0)
		store->lines = index->entries.len;
}

static void append_index(struct store *store, const struct buf *line)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	_cleanup_fd_ int fd = openat(store->dir, INDEX_NAME, flags, 0644);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		fd_write_all(fd, line->data, line->len);
	store->lines++;
}

/* ---- the store ------------------------------------------------------------------------------ */

/* Frees the parts of an index that a writer does not use. */
static void forget_parts(struct index *index)
{
	vec_done(&index->groups);
	vec_done(&index->kinds);
	vec_done(&index->sources);
	vec_each (&index->entries, entry)
		entry->groups_len = entry->kinds_len = entry->sources_len = 0;
}

static void count_bytes(struct store *store)
{
	store->bytes = 0;
	vec_each (&store->index.entries, entry)
		store->bytes += entry->bytes;
}

int store_refresh(struct store *store, struct store_report *report, struct why *why)
{
	_cleanup_(scan_done) struct scan scan = { .store = store, .report = report };
	int err = index_init(&scan.index);

	if (err == 0)
		err = scan_run(&scan);
	if (err < 0)
		return why_set(why, err, "cannot read the store: %s", err_text(err));
	store->lines = scan.lines;
	if (store->mode == STORE_WRITE) {
		if (scan.lines != scan.index.entries.len || scan.index.bad > 0)
			write_index(store, &scan.index);
		forget_parts(&scan.index);
	}
	index_done(&store->index);
	store->index = scan.index;
	scan.index = (struct index){ 0 };
	count_bytes(store);
	return 0;
}

static int open_dir(struct store *store, int dir, const char *path, struct why *why)
{
	store->dir = openat(dir, dir == AT_FDCWD ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->dir < 0)
		return why_set(why, -errno, "cannot open the store %s: %s", path, err_text(errno));
	if (store->mode == STORE_READ)
		return 0;
	store->lock = openat(store->dir, LOCK_NAME,
		O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (store->lock < 0)
		return why_set(why, -errno, "cannot open %s/" LOCK_NAME ": %s", path,
			errno == ELOOP ? "a symbolic link is in its place; remove it"
				       : err_text(errno));
	/* Whoever can read the file can lock it, and earlier versions let everybody read it. */
	if (fchmod(store->lock, 0600) < 0 && errno != EPERM)
		return why_set(
			why, -errno, "cannot protect the lock of %s: %s", path, err_text(errno));
	if (flock(store->lock, LOCK_EX | LOCK_NB) < 0)
		return why_set(why, -EBUSY, "%s: another process writes there", path);
	return 0;
}

bool store_is_written(const char *path)
{
	_cleanup_fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int lock =
		openat(dir, LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int store_open(int dir, const char *path, enum store_mode mode, struct store **out,
	struct store_report *report, struct why *why)
{
	_cleanup_(store_freep) struct store *store = calloc(1, sizeof(*store));
	int err;

	*report = (struct store_report){ 0 };
	if (!store)
		return why_set(why, -ENOMEM, "out of memory");
	store->dir = store->lock = -1;
	store->mode = mode;
	err = open_dir(store, dir, path, why);
	if (err == 0)
		err = store_refresh(store, report, why);
	if (err == 0)
		*out = TAKE_PTR(store);
	return err;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	index_done(&store->index);
	fd_close(&store->lock);
	fd_close(&store->dir);
	free(store);
}

size_t store_len(const struct store *store)
{
	return store->index.entries.len;
}

const struct store_entry *store_entry(const struct store *store, size_t i)
{
	return &store->index.entries.data[i];
}

const struct store_group *store_group(
	const struct store *store, const struct store_entry *entry, size_t i)
{
	return &store->index.groups.data[entry->groups + i];
}

struct segment_kind store_kind(const struct store *s, const struct store_entry *entry, size_t i)
{
	const struct store_kind *kind = &s->index.kinds.data[entry->kinds + i];

	return (struct segment_kind){ .name = store_text(s, kind->name),
		.unit = store_text(s, kind->unit),
		.period_ns = kind->period_ns };
}

const char *store_text(const struct store *store, uint32_t id)
{
	return strtab_get(&store->index.texts, id);
}

uint64_t store_bytes(const struct store *store)
{
	return store->bytes;
}

/* Into the list where it belongs: mostly the end. */
static int insert(struct store *store, const struct store_entry *entry)
{
	struct store_entry *slot = vec_add(&store->index.entries);
	const struct store_entry *first = store->index.entries.data;

	if (!slot)
		return -ENOMEM;
	for (; slot > first && by_start(slot - 1, entry) > 0; slot--)
		*slot = slot[-1];
	*slot = *entry;
	slot->groups_len = slot->kinds_len = slot->sources_len = 0;
	store->bytes += entry->bytes;
	return 0;
}

/* Known to the store, and to those who read the index. */
static int enter(
	struct store *store, const struct segment *segment, const char *name, uint64_t bytes)
{
	_cleanup_(index_done) struct index one;
	_cleanup_(buf_done) struct buf line = BUF_INIT;
	struct store_entry entry;
	int err = index_init(&one);

	if (err == 0)
		err = index_add(&one, segment, name, bytes);
	if (err == 0)
		err = index_put_line(&line, &one, &one.entries.data[0]);
	if (err < 0)
		return err;
	append_index(store, &line);
	entry = one.entries.data[0];
	err = strtab_puts(&store->index.texts, segment->about.by, &entry.by);
	return err == 0 ? insert(store, &entry) : err;
}

/* Under the first free name. */
static int write_segment(const struct store *store, const struct segment_about *about,
	struct bytes bytes, char *name)
{
	struct new_file file;
	int err = new_file_open(&file, store->dir, SEGMENT_STEM);

	if (err < 0)
		return err;
	err = fd_write_all(file.fd, bytes.data, bytes.len);
	err = err == 0 ? -EEXIST : err;
	for (unsigned int n = 1; err == -EEXIST && n < SAME_START_MAX; n++) {
		store_name(about->start_ns, about->end_ns, n, name);
		err = new_file_commit(&file, name, NEW_FILE_SYNC | NEW_FILE_NO_OLD);
	}
	new_file_abort(&file);
	return err;
}

static void compact_index(struct store *store)
{
	struct store_report report = { 0 };
	struct why why;

	if (store->lines > store_len(store) + INDEX_SPARE_LINES)
		store_refresh(store, &report, &why);
}

int store_put(struct store *store, struct bytes bytes, struct why *why)
{
	_cleanup_(segment_freep) struct segment *segment = NULL;
	char name[STORE_NAME_MAX];
	int err = segment_open(bytes.data, bytes.len, &segment, why);

	if (err < 0)
		return err;
	err = write_segment(store, &segment->about, bytes, name);
	if (err == 0)
		err = enter(store, segment, name, bytes.len);
	if (err < 0) {
		why_set(why, err, "cannot write to the store: %s", err_text(err));
		return err == -ENOENT ? STORE_GONE : err;
	}
	compact_index(store);
	return 0;
}

static void forget(struct store *store, size_t i)
{
	struct store_entry *entries = store->index.entries.data;

	store->bytes -= entries[i].bytes;
	store->index.entries.len--;
	memmove(&entries[i], &entries[i + 1], (store->index.entries.len - i) * sizeof(*entries));
}

int store_drop(struct store *store, size_t i)
{
	if (unlinkat(store->dir, store_entry(store, i)->name, 0) < 0 && errno != ENOENT)
		return -errno;
	forget(store, i);
	return 0;
}

int store_set_aside(struct store *store, size_t i)
{
	int err = move_damaged(store->dir, store_entry(store, i)->name);

	if (err < 0)
		return err;
	forget(store, i);
	return 0;
}

int store_open_file(const struct store *store, const struct store_entry *entry)
{
	int fd = openat(store->dir, entry->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int store_load(const struct store *store, const struct store_entry *entry, struct store_file *out,
	struct why *why)
{
	return load(store->dir, entry->name, out, why);
}

void store_file_done(struct store_file *file)
{
	segment_free(file->segment);
	buf_done(&file->bytes);
	*file = (struct store_file){ 0 };
}
