/* SPDX-License-Identifier: Apache-2.0 */
/* guard/guard.c - the mark is JSON, whole or absent (base/new_file.h), and synced with its folder
 * before anything is attached. The decision is a function of the mark and of what is now. */
#include "guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/new_file.h"
#include "base/own.h"
#include "output/place.h"
#include "store/store.h"

#define ENDING_MS 20 /* between looks whether a daemon has ended, */
#define ENDING_TRIES 100 /* and so many of them */
#define BOOT_PATH "/proc/sys/kernel/random/boot_id"
#define MARK_BYTES_MAX 4096

/* ---- the decision --------------------------------------------------------------------------- */

enum guard_verdict guard_decide(const struct guard_mark *found, const struct guard_facts *now,
	struct guard_mark *next)
{
	bool is_same = found && strcmp(found->facts.kernel, now->kernel) == 0 &&
		strcmp(found->facts.version, now->version) == 0;
	struct guard_mark mark = { .facts = *now };

	if (is_same)
		mark.deaths = found->deaths;
	/* Killed on this boot, it left a mark too: the host lives. */
	if (is_same && found->running && strcmp(found->facts.boot, now->boot) != 0)
		mark.deaths++;
	mark.running = mark.deaths < GUARD_DEATHS_MAX;
	*next = mark;
	return mark.running ? GUARD_GO : GUARD_STAY;
}

bool guard_after(const struct guard_mark *mark, uint64_t seconds, struct guard_mark *next)
{
	*next = *mark;
	next->running = false;
	return mark->deaths > 0 && (!mark->running || seconds < GUARD_FORGET_S);
}

void guard_facts_now(struct guard_facts *out)
{
	_cleanup_(buf_done) struct buf boot = BUF_INIT;
	struct utsname name;

	*out = (struct guard_facts){ 0 };
	if (fd_read_path(BOOT_PATH, sizeof(out->boot), &boot) == 0 && boot.data)
		snprintf(out->boot, sizeof(out->boot), "%.*s", (int)strcspn(boot.data, "\n"),
			boot.data);
	if (uname(&name) == 0)
		snprintf(out->kernel, sizeof(out->kernel), "%s %s", name.release, name.version);
	snprintf(out->version, sizeof(out->version), "%s", STOKER_VERSION);
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool take_text(const json_t *json, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (!text || strlen(text) >= size)
		return false;
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool parse(const struct buf *text, struct guard_mark *out)
{
	json_t *json = json_loadb(text->data ? text->data : "", text->len, 0, NULL);
	const json_t *running = json_object_get(json, "running");
	json_int_t deaths = json_integer_value(json_object_get(json, "deaths"));
	struct guard_mark mark = { .running = json_is_true(running) };
	bool good = json_is_boolean(running) && deaths >= 0 && deaths <= GUARD_DEATHS_MAX &&
		take_text(json, "boot", mark.facts.boot, sizeof(mark.facts.boot)) &&
		take_text(json, "kernel", mark.facts.kernel, sizeof(mark.facts.kernel)) &&
		take_text(json, "version", mark.facts.version, sizeof(mark.facts.version));

	json_decref(json);
	mark.deaths = (unsigned int)deaths;
	if (good)
		*out = mark;
	return good;
}

static int load(
	int dir, const char *store, struct guard_mark *out, struct stat *st, struct why *why)
{
	_cleanup_fd_ int fd =
		openat(dir, GUARD_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd < 0 || fstat(fd, st) < 0 ? -errno : fd_read_all(fd, MARK_BYTES_MAX, &text);

	if (err < 0)
		return why_set(
			why, err, "cannot read %s/" GUARD_FILE ": %s", store, err_text(err));
	return parse(&text, out)
		? 0
		: why_set(why, -EBADMSG, "%s/" GUARD_FILE " is damaged: remove it", store);
}

int guard_load(const char *store, struct guard_mark *out, struct why *why)
{
	_cleanup_fd_ int dir = -1;
	struct stat st;
	int err = place_open_folder(store, false, &dir, why);

	return err < 0 ? err : load(dir, store, out, &st, why);
}

static int save(int dir, const struct guard_mark *mark)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:b, s:i}", "boot", mark->facts.boot, "kernel",
		mark->facts.kernel, "version", mark->facts.version, "running", mark->running,
		"deaths", (int)mark->deaths);
	_cleanup_(freep) char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text ? new_file_write(dir, GUARD_FILE, text, strlen(text),
			      NEW_FILE_SYNC | NEW_FILE_GROUP)
		    : -ENOMEM;
}

int guard_save(const char *store, const struct guard_mark *mark, struct why *why)
{
	_cleanup_fd_ int dir = -1;
	int err = place_open_store(store, false, &dir, why);

	if (err < 0)
		return err;
	err = save(dir, mark);
	return err < 0 ? why_set(why, err, "cannot write %s/" GUARD_FILE ": %s", store,
				 err_text(err))
		       : 0;
}

static int forget(int dir)
{
	if (unlinkat(dir, GUARD_FILE, 0) < 0)
		return -errno;
	fsync(dir);
	return 0;
}

int guard_stopped(const char *store, struct why *why)
{
	_cleanup_fd_ int dir = -1;
	struct guard_mark mark = { 0 }, next;
	struct stat st = { 0 };
	time_t now = time(NULL);
	int err = place_open_store(store, false, &dir, why);

	if (err == 0)
		err = load(dir, store, &mark, &st, why);
	if (err < 0)
		return err;
	if (guard_after(&mark, now > st.st_mtime ? (uint64_t)(now - st.st_mtime) : 0, &next))
		err = save(dir, &next);
	else
		err = forget(dir);
	return err < 0 ? why_set(why, err, "cannot clear %s/" GUARD_FILE ": %s", store,
				 err_text(err))
		       : 0;
}

int guard_stopped_outside(const char *store, struct why *why)
{
	/* Where the first process of a daemon was killed the others end on their own. */
	for (int tries = 0; tries < ENDING_TRIES && store_is_written(store); tries++)
		usleep(ENDING_MS * 1000);
	if (store_is_written(store))
		return why_set(why, -EBUSY,
			"a daemon samples into %s: its mark stays until that ends", store);
	return guard_stopped(store, why);
}

int guard_forget(const char *store, struct why *why)
{
	_cleanup_fd_ int dir = -1;
	int err = place_open_store(store, false, &dir, why);

	if (err == 0)
		err = forget(dir);
	if (err < 0 && err != -ENOENT)
		return why_set(
			why, err, "cannot remove %s/" GUARD_FILE ": %s", store, err_text(err));
	return 0;
}
