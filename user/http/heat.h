/* SPDX-License-Identifier: Apache-2.0 */
/* http/heat.h - how busy what was, over time: what the page draws. It comes from the store's
 * index alone, so a week of it costs no more than reading that. */
#pragma once

#include "base/buf.h"
#include "http/args.h"
#include "store/store.h"

/* Appends JSON: {"key": what rows are, "since", "until": s, "cells": [[start, end], ...] in s,
 * "rows": [{"name", "cpu_s", "cpus": [one a cell]}, ...], hottest first, "all": {likewise}}. Cells
 * are intervals, several in one where there are more than args->cells. 0 or -ENOMEM. */
int http_heat_write(const struct store *store, const struct http_args *args, struct buf *out);
