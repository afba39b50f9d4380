/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config.h - the daemon's configuration: an INI file. One table has each key with its
 * meaning and default; it parses, checks and prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "traps/rule.h"

#define CONFIG_PATH "/etc/stoker.ini"
#define CONFIG_TEXT_MAX 256
#define CONFIG_KEYS_MAX 64

/* When runtimes are made to write perf maps. */
enum config_jit {
	CONFIG_JIT_NEVER,
	CONFIG_JIT_ON_DEMAND, /* for captures that ask for it */
	CONFIG_JIT_ALWAYS,
};

struct config {
	uint64_t hz, wall_hz;
	uint64_t interval_ns;
	char target[CONFIG_TEXT_MAX]; /* "all", or a cgroup or container as for target = */
	uint64_t memory_bytes;
	uint64_t tick_limit_us; /* 0: as in struct sampler_options */
	uint64_t cpu_permille;  /* of one core: limit of the daemon's CPU time */
	char tables[CONFIG_TEXT_MAX]; /* folder, as for language_files_load() */
	char store[CONFIG_TEXT_MAX];
	uint64_t keep_ns;
	uint64_t bytes_max;
	uint64_t whole_ns;
	char by[CONFIG_TEXT_MAX];
	char jit[CONFIG_TEXT_MAX];    /* config_jit */
	char listen[CONFIG_TEXT_MAX]; /* HOST:PORT, unix:PATH or off */
	bool captures;                /* on demand, by HTTP */
	char token_file[CONFIG_TEXT_MAX], metrics_token_file[CONFIG_TEXT_MAX];
	struct rules traps;
	int lines[CONFIG_KEYS_MAX]; /* line of each key of the table; 0: not in the file */
};

enum config_jit config_jit(const struct config *config);
/* -1: no such word. */
int config_jit_find(const char *word);
/* Sets all defaults. */
void config_default(struct config *config);
/* -EINVAL with file, line and cause; other -errno if it cannot be read. */
int config_read(const char *path, struct config *out, struct why *why);
/* given NULL: the default file if it exists, else the defaults. */
int config_load(const char *given, struct config *out, struct why *why);
/* Is the key in the file, or is it the default? */
bool config_says(const struct config *config, const char *section, const char *name);
/* Takes from `now` what a running daemon can change: values, and captures that are switched off.
 * Appends "[sample] hz, [store] path" to fixed: the keys that differ and need a restart. 0 or
 * -ENOMEM, of that list. */
int config_reload(struct config *running, const struct config *now, struct buf *fixed);
/* For a value that turns out to be invalid when it is used: returns err, and why gets `text` with
 * the file and line of that key. path NULL: there is no file. */
int config_refuse(const struct config *config, const char *path, const char *section,
	const char *name, int err, const char *text, struct why *why);
/* Prints every key with its default, as a valid INI file. */
void config_print(FILE *out);
