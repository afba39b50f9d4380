/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config.h - the daemon's configuration: an INI file, each key of which stands in one table
 * with what it means and what it is when it is not given. The table parses, checks and prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "traps/rule.h"

#define CONFIG_PATH "/etc/stoker.ini"
#define CONFIG_TEXT_MAX 256
#define CONFIG_KEYS_MAX 64

struct config {
	uint64_t hz;
	uint64_t interval_ns;
	char target[CONFIG_TEXT_MAX]; /* "all", or a cgroup or container as TARGET is given */
	uint64_t memory_bytes;
	uint64_t cpu_permille; /* of one core: what the daemon may take before it slows down */
	char store[CONFIG_TEXT_MAX];
	uint64_t keep_ns;
	uint64_t bytes_max;
	uint64_t whole_ns;
	char by[CONFIG_TEXT_MAX];
	char listen[CONFIG_TEXT_MAX]; /* HOST:PORT, unix:PATH or off */
	char token_file[CONFIG_TEXT_MAX];
	struct rules traps;
	int lines[CONFIG_KEYS_MAX]; /* of each key's table row; 0: the file does not have it */
};

/* What holds when nothing is said. */
void config_default(struct config *config);
/* -EINVAL with the file, the line and what is wrong there; others when it cannot be read. */
int config_read(const char *path, struct config *out, struct why *why);
/* Does the file say it, or is it the default? */
bool config_says(const struct config *config, const char *section, const char *name);
/* For a value that turns out to be none when it is used: returns err, and why says what is wrong
 * (`text`) with the file and the line of that key. path NULL: there is no file. */
int config_refuse(const struct config *config, const char *path, const char *section,
	const char *name, int err, const char *text, struct why *why);
/* Every key with its default, as an INI file that could be used. */
void config_print(FILE *out);
