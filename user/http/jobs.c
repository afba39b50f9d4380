/* SPDX-License-Identifier: Apache-2.0 */
/* http/jobs.c - a queue to the thread, a list back, and an eventfd that wakes the loop. The store's
 * own readers read the names of strangers, in this process, which has no rights. If the store's
 * directory is removed, this process exits and the daemon starts another one with the new
 * directory. */
#include "http/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/heat.h"
#include "sink/compress.h"
#include "sink/sink.h"
#include "store/answer.h"

#define TOP_DEFAULT 20
#define PLAIN "text/plain; charset=utf-8"

struct http_jobs {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct http_job *queue, *done; /* both in the order they came */
	size_t waiting;
	int event_fd;
	struct store *store;
};

void http_job_free(struct http_job *job)
{
	if (job)
		buf_done(&job->answer.body);
	free(job);
}

/* ---- an answer ------------------------------------------------------------------------------ */

void http_answer_say(struct http_answer *a, unsigned int status, const char *text)
{
	buf_clear(&a->body);
	a->status = status;
	a->type = PLAIN;
	a->ending = NULL;
	a->shown = true;
	buf_puts(&a->body, text);
	buf_putc(&a->body, '\n');
}

static int write_profile(const struct query_answer *found, int format, struct buf *out)
{
	const struct http_format *f = &http_formats[format];
	const struct sink *sink = sink_find(f->name);
	_cleanup_(profile_done) struct profile profile = { 0 };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct sink_options options = { 0 };
	struct why why;
	int err = profile_init(&profile);

	if (err < 0)
		return err;
	err = sink_parse_by(buf_text(&found->by), &options, &why);
	if (err < 0)
		return err;
	err = answer_profile(found, &profile);
	if (err < 0)
		return err;
	sink->write(&profile, &options, &bytes);
	return compress_all(sink->needs & SINK_GZIP ? COMPRESS_GZIP : COMPRESS_NONE, &bytes, out);
}

static int write_found(
	const struct http_args *args, const struct query_answer *found, struct http_answer *a)
{
	uint64_t dropped;

	*a = (struct http_answer){ .status = 200, .type = PLAIN, .shown = true };
	if (args->trend)
		return answer_put_trend(found, &a->body);
	if (args->format < 0)
		return answer_put_top(
			found, args->top > 0 ? args->top : TOP_DEFAULT, &a->body, &dropped);
	a->type = http_formats[args->format].type;
	a->ending = http_formats[args->format].ending;
	a->shown = http_formats[args->format].shown;
	return write_profile(found, args->format, &a->body);
}

/* why is set on failure. */
static int run_query(struct store *store, const struct http_args *args, struct pattern *function,
	struct http_answer *a, struct why *why)
{
	_cleanup_(query_answer_done) struct query_answer found = { 0 };
	struct query query = { .since_ns = args->since_ns,
		.until_ns = args->until_ns,
		.matches_len = args->matches_len,
		.function = function,
		.kind = args->event[0] ? args->event : NULL };
	int err = query_answer_init(&found);

	why_set(why, 0, "out of memory");
	if (err < 0)
		return err;
	for (size_t i = 0; i < args->matches_len; i++)
		query.matches[i] =
			(struct query_match){ args->matches[i].key, args->matches[i].value };
	err = query_run(store, &query, &found, why);
	if (err < 0)
		return err;
	if (merge_total(&found.merge) == 0)
		return why_set(why, -ENOENT, "nothing in the store matches");
	return write_found(args, &found, a);
}

/* Files that cannot be read may have what was not found. */
static int name_unread(const struct store_report *report, int err, struct why *why)
{
	if (err != -ENOENT || report->unread == 0)
		return err;
	return why_set(why, -EACCES,
		"%u profiles cannot be read: %.300s; give them the group of the store",
		report->unread, report->why.text);
}

static void answer_query(
	struct store *store, const struct store_report *report, struct http_job *job)
{
	_cleanup_(pattern_freep) struct pattern *function = NULL;
	struct why why;
	int err = job->args.function[0] ? pattern_new(job->args.function, &function, &why) : 0;

	if (err == 0)
		err = run_query(store, &job->args, function, &job->answer, &why);
	err = name_unread(report, err, &why);
	if (err < 0)
		http_answer_say(&job->answer,
			err == -ENOENT                               ? 404
				: err == -EINVAL || err == -ETIMEDOUT ? 400
								      : 500,
			why.text);
}

static void answer_heat(struct store *store, struct http_job *job)
{
	struct http_answer *a = &job->answer;

	*a = (struct http_answer){ .status = 200, .type = "application/json", .shown = true };
	if (http_heat_write(store, &job->args, &a->body) < 0)
		http_answer_say(a, 500, "out of memory");
}

void http_jobs_answer(struct store *store, struct http_job *job)
{
	struct store_report report = { 0 };
	struct why why;

	if (store_refresh(store, &report, &why) < 0)
		http_answer_say(&job->answer, 500, why.text);
	else if (job->heat)
		answer_heat(store, job);
	else
		answer_query(store, &report, job);
}

/* ---- the thread ----------------------------------------------------------------------------- */

static int open_store(struct http_jobs *jobs, struct why *why)
{
	struct store_report report;
	struct stat st;

	int err = 0;

	/* The name "." would need the right to search there. */
	if (fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH) < 0 || st.st_nlink == 0)
		_exit(0);
	if (!jobs->store)
		err = store_open(AT_FDCWD, ".", STORE_READ, &jobs->store, &report, why);
	return err == -EACCES ? why_set(why, err,
					"the process that serves HTTP may not read the store "
					"(mode %04o, group %u): give the group the right with "
					"chmod g+rx; after chgrp restart the daemon",
					(unsigned int)st.st_mode & 07777, st.st_gid)
			      : err;
}

static struct http_job *next_job(struct http_jobs *jobs)
{
	struct http_job *job;

	pthread_mutex_lock(&jobs->lock);
	while (!jobs->queue)
		pthread_cond_wait(&jobs->more, &jobs->lock);
	job = jobs->queue;
	jobs->queue = job->next;
	job->next = NULL;
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

static void append(struct http_job **list, struct http_job *job)
{
	while (*list)
		list = &(*list)->next;
	*list = job;
}

_Noreturn static void *serve(void *arg)
{
	struct http_jobs *jobs = arg;

	for (;;) {
		struct http_job *job = next_job(jobs);
		uint64_t one = 1;
		struct why why;

		if (open_store(jobs, &why) < 0)
			http_answer_say(&job->answer, 503, why.text);
		else
			http_jobs_answer(jobs->store, job);
		malloc_trim(0);
		pthread_mutex_lock(&jobs->lock);
		append(&jobs->done, job);
		pthread_mutex_unlock(&jobs->lock);
		fd_write_all(jobs->event_fd, &one, sizeof(one));
	}
}

int http_jobs_start(struct http_jobs **out)
{
	struct http_jobs *jobs = calloc(1, sizeof(*jobs));
	pthread_t thread = 0;
	int err;

	if (!jobs)
		return -ENOMEM;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->more, NULL);
	jobs->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = jobs->event_fd < 0 ? -errno : -pthread_create(&thread, NULL, serve, jobs);
	if (err < 0) {
		fd_close(&jobs->event_fd);
		free(jobs);
		return err;
	}
	pthread_detach(thread);
	*out = jobs;
	return 0;
}

int http_jobs_fd(const struct http_jobs *jobs)
{
	return jobs->event_fd;
}

int http_jobs_put(struct http_jobs *jobs, struct http_job *job)
{
	int err = 0;

	pthread_mutex_lock(&jobs->lock);
	if (jobs->waiting == HTTP_JOBS_MAX) {
		err = -EBUSY;
	} else {
		jobs->waiting++;
		append(&jobs->queue, job);
		pthread_cond_signal(&jobs->more);
	}
	pthread_mutex_unlock(&jobs->lock);
	return err;
}

struct http_job *http_jobs_take(struct http_jobs *jobs)
{
	struct http_job *job;
	uint64_t count;

	(void)!read(jobs->event_fd, &count, sizeof(count));
	pthread_mutex_lock(&jobs->lock);
	job = jobs->done;
	if (job) {
		jobs->done = job->next;
		jobs->waiting--;
		job->next = NULL;
	}
	pthread_mutex_unlock(&jobs->lock);
	return job;
}
