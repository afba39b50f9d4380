/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap_bundle.c - written beside its name and renamed, as all that the store holds: a folder
 * without the dot in front is whole. Room is made first, so that the disk may be full of what is to
 * go. One is written at a time, which is the caller's to see to. */
#include "traps/trap_bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/vec.h"
#include "output/bundle.h"
#include "output/output.h"
#include "store/answer.h"
#include "store/query.h"
#include "store/store.h"
#include "traps/first_page.h"
#include "worker/filter.h"

#define NICE 10
#define ABOUT "trap.json"
#define TRIED ".tried"    /* a folder that is made and removed */
#define ENTRIES_MAX 65536 /* entries of a folder that are looked at */

struct writing {
	const struct trap_bundle *bundle;
	const struct trap_capture *capture;
	char folder[OUTPUT_PATH_MAX - 512];
	char part[OUTPUT_PATH_MAX]; /* where it is written, below that */
	unsigned int number;
};

/* ---- what it was ---------------------------------------------------------------------------- */

static double seconds(const struct trap_capture *c, uint64_t at_ns)
{
	return ((double)at_ns - (double)c->fired_ns) / 1e9;
}

static json_t *utc(uint64_t real_ns)
{
	time_t s = (time_t)(real_ns / NSEC_PER_SEC);
	char text[64];
	struct tm tm;
	size_t len;

	gmtime_r(&s, &tm);
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, sizeof(text) - len, ".%03uZ",
		(unsigned int)(real_ns % NSEC_PER_SEC / NSEC_PER_MSEC));
	return json_string(text);
}

/* The values that made the trap fire, and the earlier ones that are still kept. */
static json_t *values_json(const struct trap_capture *c)
{
	const struct trap *t = &c->trap;
	uint64_t first = t->values_len > TRAP_VALUES_MAX ? t->values_len - TRAP_VALUES_MAX : 0;
	json_t *list = json_array();

	for (uint64_t i = first; i < t->values_len; i++) {
		const struct trap_value *v = &t->values[i % TRAP_VALUES_MAX];

		json_array_append_new(list,
			json_pack("{s:f, s:f}", "at_s", seconds(c, v->at_ns), "percent",
				(double)v->permille / 10));
	}
	return list;
}

static json_t *rates_json(const struct trap_capture *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->rates_len; i++)
		json_array_append_new(list,
			json_pack("{s:f, s:i}", "since_s", seconds(c, c->rates[i].since_ns), "hz",
				(int)c->rates[i].hz));
	return list;
}

static json_t *rule_json(const struct rule *r)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "container",
		r->container, "pod", r->pod, "unit", r->unit, "pid", (json_int_t)r->pid, "comm",
		r->comm, "metric", rule_metric_name(r->metric),
		r->above ? "above_percent" : "below_percent",
		(double)(r->above ? r->above : r->below) / 10, "for_s", (double)r->for_ns / 1e9,
		"before_s", (double)r->before_ns / 1e9, "capture_s", (double)r->capture_ns / 1e9,
		"cooldown_s", (double)r->cooldown_ns / 1e9);
}

static json_t *threads_json(const struct trap_threads *t)
{
	double wall_ns = (double)t->split.wall_ns;

	if (t->past_ns == 0 || wall_ns == 0)
		return json_null();
	return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f}", "threads", (int)t->threads,
		"running_percent", 100 * (double)t->split.running_ns / wall_ns, "runnable_percent",
		100 * (double)t->split.runnable_ns / wall_ns, "blocked_percent",
		100 * (double)t->split.blocked_ns / wall_ns, "other_percent",
		100 * (double)t->split.other_ns / wall_ns, "throttled_percent",
		100 * (double)t->split.throttled_ns / (double)t->past_ns);
}

/* NULL where it is the host. Names are what a stranger gave. */
static json_t *text_json(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();

	return json ? json : json_string("?");
}

static int write_about(const struct writing *w, struct why *why)
{
	const struct trap_capture *c = w->capture;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[OUTPUT_PATH_MAX + 32];
	struct output output = { .pattern = path, .plain = true, .sync = true };
	json_t *json = json_pack(
		"{s:s, s:i, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:I, "
		"s:I, s:I}",
		"trap", c->rule.name, "number", (int)w->number, "host", text_json(w->bundle->host),
		"fired", utc(c->fired_real_ns), "fired_clock_s", (double)c->fired_ns / 1e9,
		"container", text_json(c->container), "pod", text_json(c->pod), "namespace",
		text_json(c->namespace_), "rule", rule_json(&c->rule), "values", values_json(c),
		"threads_before", threads_json(&c->before), "threads_after",
		threads_json(&c->after), "begins_s", seconds(c, c->since_ns), "ends_s",
		seconds(c, c->until_ns), "rates", rates_json(c), "ticks",
		(json_int_t)c->slice.taken, "samples", (json_int_t)profile_total(&c->profile),
		"left_out", (json_int_t)c->slice.left_out);
	_cleanup_(freep) char *dump =
		json ? json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) : NULL;
	int err = dump ? buf_puts(&text, dump) : -ENOMEM;

	json_decref(json);
	if (err == 0)
		err = buf_putc(&text, '\n');
	if (err < 0)
		return why_set(why, err, "%s", err_text(err));
	snprintf(path, sizeof(path), "%s/" ABOUT, w->part);
	return output_write(&output, &text, why);
}

/* ---- its first page ------------------------------------------------------------------------- */

/* Waits of the same time, which a store may lack. */
static bool add_waits(struct store *store, const struct query *of, struct profile *out)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	struct query query = *of;
	struct why why;

	query.kind = PROFILE_WALL;
	if (query_answer_init(&answer) < 0)
		return false;
	return query_run(store, &query, &answer, &why) < 0 || answer.segments == 0 ||
		answer_add(&answer, out) == 0;
}

/* Its subject in the store, in the time before it fired; false: the store has none of it, or no
 * labels by which it differs from others. */
static bool read_earlier(const struct writing *w, struct profile *out)
{
	const struct trap_capture *c = w->capture;
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	struct query query = { .since_ns = c->fired_real_ns - FIRST_PAGE_EARLIER_NS,
		.until_ns = c->fired_real_ns };
	const char *const labels[][2] = { { "container", c->container }, { "pod", c->pod },
		{ "namespace", c->namespace_ } };
	struct store_report report = { 0 };
	struct why why;

	/* Segments have the names of threads, and no pids. */
	if (!w->bundle->store || c->pid || c->rule.comm[0])
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (labels[i][1] && *labels[i][1] &&
			sink_wants(w->bundle->sink,
				profile_key_known(labels[i][0], strlen(labels[i][0]))))
			query.matches[query.matches_len++] =
				(struct query_match){ labels[i][0], labels[i][1] };
	if (c->container && query.matches_len == 0)
		return false;
	return store_open(AT_FDCWD, w->bundle->store, STORE_READ, &store, &report, &why) == 0 &&
		query_answer_init(&answer) == 0 && query_run(store, &query, &answer, &why) == 0 &&
		answer.segments > 0 && answer_profile(&answer, out) == 0 &&
		add_waits(store, &query, out);
}

static int write_first_page(const struct writing *w, struct why *why)
{
	_cleanup_(profile_done) struct profile earlier = { 0 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[OUTPUT_PATH_MAX + 32];
	struct output output = { .pattern = path, .plain = true, .sync = true };
	struct first_page page = { .capture = w->capture, .host = w->bundle->host };
	int err = profile_init(&earlier);

	if (err == 0 && read_earlier(w, &earlier))
		page.earlier = &earlier;
	if (err == 0)
		err = first_page_put(&page, &text);
	if (err < 0)
		return why_set(why, err, "%s", err_text(err));
	snprintf(path, sizeof(path), "%s/" FIRST_PAGE, w->part);
	return output_write(&output, &text, why);
}

/* ---- its files ------------------------------------------------------------------------------ */

static int write_file(const struct writing *w, const struct bundle_file *file, struct why *why)
{
	const struct sink *sink = sink_find(file->format);
	struct sink_options options = *w->bundle->sink;
	char path[OUTPUT_PATH_MAX + 64];
	struct output output = { .pattern = path, .plain = true, .sync = true };

	snprintf(path, sizeof(path), "%s/%s", w->part, file->name);
	/* Some formats are in the order of time if there is a profile for each thread. */
	if (sink->needs & SINK_TIMES_BY_TID && !sink_wants(&options, PROFILE_KEY_TID))
		options.by[options.by_len++] = PROFILE_KEY_TID;
	return output_write_profile(&output, sink, &options, &w->capture->profile, why);
}

static int write_files(const struct writing *w, struct why *why)
{
	int err = write_about(w, why);

	if (err == 0)
		err = write_first_page(w, why);
	for (const struct bundle_file *file = bundle_files(); file->name && err == 0; file++)
		err = write_file(w, file, why);
	return err;
}

/* ---- its folder ----------------------------------------------------------------------------- */

/* A bundle's folder, or what is left of one: files only. */
static void remove_folder(int dir, const char *name)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!files)
		return;
	while ((entry = readdir(files)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	closedir(files);
	(void)TAKE_FD(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

struct bundles {
	VEC(struct bundle_name {
		unsigned int number;
		char name[NAME_MAX + 1];
	})
	all;
};

static void bundles_done(struct bundles *b)
{
	vec_done(&b->all);
}

static int by_number(const void *a, const void *b)
{
	const struct bundle_name *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int take_entry(int dir, const char *file, const char *name, struct bundles *out)
{
	bool half = file[0] == '.';
	unsigned int number = traps_bundle_number(file + half, name);
	struct bundle_name *slot;

	if (number == 0)
		return 0;
	if (half) {
		remove_folder(dir, file);
		return 0;
	}
	slot = vec_add(&out->all);
	if (!slot)
		return -ENOMEM;
	slot->number = number;
	snprintf(slot->name, sizeof(slot->name), "%s", file);
	return 0;
}

/* The trap's own, the oldest first; what was left half done goes. */
static int list(int dir, const char *name, struct bundles *out)
{
	_cleanup_fd_ int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!entries)
		return -errno;
	(void)TAKE_FD(fd);
	for (int i = 0; err == 0 && i < ENTRIES_MAX && (entry = readdir(entries)); i++)
		err = take_entry(dir, entry->d_name, name, out);
	closedir(entries);
	if (out->all.len > 0)
		qsort(out->all.data, out->all.len, sizeof(*out->all.data), by_number);
	return err;
}

/* The next number, with room for it. */
static int make_room(int dir, const struct rule *rule, unsigned int *number)
{
	_cleanup_(bundles_done) struct bundles bundles = { 0 };
	int err = list(dir, rule->name, &bundles);
	size_t len = bundles.all.len;

	if (err < 0)
		return err;
	*number = len > 0 ? bundles.all.data[len - 1].number + 1 : 1;
	for (size_t i = 0; i < len && len - i >= rule->most; i++)
		remove_folder(dir, bundles.all.data[i].name);
	return 0;
}

int trap_bundle_check(const struct trap_bundle *bundle, struct why *why)
{
	_cleanup_fd_ int folder = -1;
	struct stat st;
	int err = place_open_folder(bundle->folder, false, &folder, why);

	return err == -ENOENT && lstat(bundle->folder, &st) < 0 ? 0 : err;
}

static int open_folder(struct writing *w, int *dir, struct why *why)
{
	_cleanup_fd_ int folder = -1;
	int err;

	snprintf(w->folder, sizeof(w->folder), "%s", w->bundle->folder);
	err = place_open_folder(w->folder, true, &folder, why);
	if (err < 0)
		return err;
	*dir = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *dir < 0 ? why_set(why, -errno, "cannot open %s: %s", w->folder, err_text(errno))
			: 0;
}

int trap_bundle_try(const struct trap_bundle *bundle, struct why *why)
{
	struct writing w = { .bundle = bundle };
	_cleanup_fd_ int dir = -1;
	int err = open_folder(&w, &dir, why);

	if (err < 0)
		return err;
	if (mkdirat(dir, TRIED, 0755) < 0 && errno != EEXIST)
		return why_set(
			why, -errno, "cannot write to %s: %s", bundle->folder, err_text(errno));
	unlinkat(dir, TRIED, AT_REMOVEDIR);
	return 0;
}

/* Its files are on the disk by now, but for their names. */
static int finish(const struct writing *w, int dir, const char *name, struct why *why)
{
	_cleanup_fd_ int part =
		openat(dir, w->part + strlen(w->folder) + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = part < 0 || fsync(part) < 0 ? -errno : 0;

	if (err == 0 && renameat(dir, w->part + strlen(w->folder) + 1, dir, name) < 0)
		err = -errno;
	if (err == 0)
		fsync(dir);
	return err < 0 ? why_set(why, err, "cannot write %s/%s: %s", w->folder, name, err_text(err))
		       : 0;
}

static int write_bundle(struct writing *w, struct why *why)
{
	const struct trap_capture *c = w->capture;
	time_t when = (time_t)(c->fired_real_ns / NSEC_PER_SEC);
	char name[NAME_MAX], time_text[32];
	_cleanup_fd_ int dir = -1;
	struct tm tm;
	int err = open_folder(w, &dir, why);

	if (err < 0)
		return err;
	err = make_room(dir, &c->rule, &w->number);
	if (err < 0)
		return why_set(why, err, "cannot look into %s: %s", w->folder, err_text(err));
	gmtime_r(&when, &tm);
	strftime(time_text, sizeof(time_text), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(name, sizeof(name), "%.200s-%0*u-%s", c->rule.name, TRAPS_NUMBER_DIGITS, w->number,
		time_text);
	snprintf(w->part, sizeof(w->part), "%s/.%s", w->folder, name);
	if (mkdirat(dir, w->part + strlen(w->folder) + 1, 0755) < 0)
		return why_set(why, -errno, "cannot make %s: %s", w->part, err_text(errno));
	err = write_files(w, why);
	if (err == 0)
		err = finish(w, dir, name, why);
	if (err < 0)
		remove_folder(dir, w->part + strlen(w->folder) + 1);
	else
		log_note(w->bundle->log, "trap %s: wrote %s/%s, %llu ticks", c->rule.name,
			w->folder, name, (unsigned long long)c->slice.taken);
	return err;
}

/* ---- the process that writes it ------------------------------------------------------------- */

/* Signals that end the daemon do not end it: the capture is written in any case. */
static int run_writer(void *ctx, int fd)
{
	struct writing *w = ctx;
	struct why why;

	(void)fd;
	if (filter_deny(FILTER_DENY_ALL_BUT_FILES) < 0)
		why_set(&why, -EPERM, "the kernel must support seccomp filters");
	else if (write_bundle(w, &why) == 0)
		return 0;
	log_error(w->bundle->log, "trap %s: %s; this bundle is lost", w->capture->rule.name,
		why.text);
	return 1;
}

int trap_bundle_start(
	const struct trap_bundle *bundle, const struct trap_capture *capture, struct child *writer)
{
	struct writing w = { .bundle = bundle, .capture = capture };
	const struct child_plan plan = { .run = run_writer,
		.ctx = &w,
		.name = "stoker-trap",
		.fds = child_standard,
		.fds_len = CHILD_STANDARD,
		.death_signal = SIGCONT,
		.limited = true,
		.nice = NICE };

	return child_start(&plan, writer);
}

int trap_bundle_end(struct child *writer, int wait_ms)
{
	struct child_end end;
	int err = child_wait(writer, wait_ms, &end);

	if (err == -EAGAIN)
		return err;
	return err == 0 && WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
}
