/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/status.h - the daemon's status as JSON, for the process that serves HTTP. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "agent/account.h"
#include "daemon/config.h"
#include "daemon/http_front.h"
#include "daemon/keeper.h"

struct status_facts {
	const struct account *account; /* since the start */
	const struct config *config;
	const struct keeper *keeper;
	const struct keeper_status *store;
	const struct http_front_stats *http;
	uint64_t written_age_ns; /* time since an interval was written, or since the start */
	const struct waiting *waiting; /* NULL: not known */
	const char *idle;        /* why nothing is sampled; NULL: it is */
};

/* {"account": as of account_write_json, "daemon": {...}, "waiting": [...]}; waiting: one for each
 * container or unit, missing if not known. Returns buf_err(out). */
int status_write(const struct status_facts *facts, struct buf *out);
