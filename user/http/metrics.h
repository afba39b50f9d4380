/* SPDX-License-Identifier: Apache-2.0 */
/* http/metrics.h - the daemon's status as Prometheus text (exposition format 0.0.4), and the
 * daemon's health. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Numbers that the serving process counts itself. */
struct http_counts {
	uint64_t answers[600]; /* by status code */
	uint64_t connections;  /* now */
	uint64_t displaced;    /* closed for others, before they sent a request */
	uint64_t limited;      /* requests refused for want of a place */
};

/* Appends all metrics of which status has the number. Returns buf_err(out). */
int http_metrics_write(const json_t *status, const struct http_counts *counts, struct buf *out);

/* 0: intervals are written in time, and text has the age of the last one; -EIO: text has the cause.
 */
int http_metrics_health(const json_t *status, struct why *text);
