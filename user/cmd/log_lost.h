/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/log_lost.h - warns of what an output's format had no place for. */
#pragma once

struct log;
struct sink;
struct sink_lost;

void log_lost(struct log *log, const char *path, const struct sink *sink,
	const struct sink_lost *lost);
