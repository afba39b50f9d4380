/* SPDX-License-Identifier: Apache-2.0 */
/* http/metrics.h - the daemon's status as Prometheus text (exposition format 0.0.4), and
 * whether it is well. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* What the serving process counts itself. */
struct http_counts {
	uint64_t answers[600]; /* by status code */
	uint64_t connections;  /* now */
};

/* Appends all metrics. What status does not have is left out. Returns buf_err(out). */
int http_metrics_write(const json_t *status, const struct http_counts *counts, struct buf *out);

/* 0: intervals are written in time, and text says when the last was; -EIO: text says why not. */
int http_metrics_health(const json_t *status, struct why *text);
