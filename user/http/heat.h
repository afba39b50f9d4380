/* SPDX-License-Identifier: Apache-2.0 */
/* http/heat.h - the page's heat map: CPU use of containers over time. It is read from the store's
 * index alone, so a week costs no more than reading the index. */
#pragma once

#include "base/buf.h"
#include "http/args.h"
#include "store/store.h"

/* Appends JSON: {"key": label of the rows, "since", "until": s, "cells": [[start, end], ...] in s,
 * "rows": [{"name", "cpu_s", "cpus": [one a cell]}, ...], hottest first, "all": {likewise}}. A cell
 * is an interval, or several where there are more than args->cells. Returns buf_err(out). */
int http_heat_write(const struct store *store, const struct http_args *args, struct buf *out);
