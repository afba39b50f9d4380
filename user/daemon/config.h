/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config.h - the daemon's configuration: an INI file, each key of which stands in one table
 * with what it means and what it is when it is not given. The table parses, checks and prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define CONFIG_PATH "/etc/stoker.ini"
#define CONFIG_TRAPS_MAX 32
#define CONFIG_TEXT_MAX 256
#define CONFIG_KEYS_MAX 64

enum config_metric {
	CONFIG_CPU,       /* of one core, in parts of a thousand: 2000 is two cores */
	CONFIG_PRESSURE,  /* PSI: some, in parts of a thousand of the time */
	CONFIG_THROTTLED, /* of the time, in parts of a thousand */
	CONFIG_WAIT,      /* for a CPU, per thousand of the time */
	CONFIG_METRICS,
};

/* [trap NAME] */
struct config_trap {
	char name[CONFIG_TEXT_MAX];      /* letters, digits, _ and - */
	char container[CONFIG_TEXT_MAX]; /* "": the host */
	enum config_metric metric;
	uint64_t above, below; /* permille; one of them is 0 */
	uint64_t for_ns;
	uint64_t before_ns, capture_ns;
	uint64_t cooldown_ns;
	uint64_t hz;
	uint64_t most; /* bundles that are kept */
	int line;      /* where its section begins */
};

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
	struct config_trap traps[CONFIG_TRAPS_MAX];
	size_t traps_len;
	int lines[CONFIG_KEYS_MAX]; /* of each key's table row; 0: the file does not have it */
};

/* What holds when nothing is said. */
void config_default(struct config *config);
/* -EINVAL with the file, the line and what is wrong there; others when it cannot be read. */
int config_read(const char *path, struct config *out, struct why *why);
/* As it is written. */
const char *config_metric_name(enum config_metric metric);
/* Does the file say it, or is it the default? */
bool config_says(const struct config *config, const char *section, const char *name);
/* For a value that turns out to be none when it is used: returns err, and why says what is wrong
 * (`text`) with the file and the line of that key. path NULL: there is no file. */
int config_refuse(const struct config *config, const char *path, const char *section,
	const char *name, int err, const char *text, struct why *why);
/* Every key with its default, as an INI file that could be used. */
void config_print(FILE *out);
