/* SPDX-License-Identifier: Apache-2.0 */
/* http/jobs.h - answers from the store, which may take seconds: one thread makes them, one after
 * the other, while the loop goes on. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "http/args.h"

#define HTTP_JOBS_MAX 16

struct http_answer {
	unsigned int status; /* of HTTP */
	const char *type;    /* Content-Type */
	const char *ending;  /* of the file's name; NULL: the answer is no file */
	bool shown;          /* a browser shows it; else the browser saves it */
	struct buf body;
};

/* Replaces the answer by a sentence for a person. */
void http_answer_say(struct http_answer *answer, unsigned int status, const char *text);

struct http_job {
	uint64_t id;
	bool heat; /* the page's heat map, in place of a profile */
	struct http_args args;
	struct http_answer answer;
	struct http_job *next;
};

void http_job_free(struct http_job *job);
DEFINE_CLEANUP(struct http_job, http_job_free)

struct http_jobs;

/* The store is the working directory. The thread runs until the process ends. */
int http_jobs_start(struct http_jobs **out);
/* Readable when a job is done. */
int http_jobs_fd(const struct http_jobs *jobs);
/* Takes the job over. -EBUSY: HTTP_JOBS_MAX jobs are waiting, and the job stays the caller's. */
int http_jobs_put(struct http_jobs *jobs, struct http_job *job);
/* A finished job, which becomes the caller's; NULL: none. */
struct http_job *http_jobs_take(struct http_jobs *jobs);

/* Answers a job, as the thread does: for tests. */
struct store;
void http_jobs_answer(struct store *store, struct http_job *job);
