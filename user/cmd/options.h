/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/options.h - options as a table: the same rows parse argv and print --help. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define OPTIONS_MAX 48

struct option_row {
	int id;           /* the letter, or a number above 255 where there is only a long name */
	const char *name; /* long name; NULL: none */
	const char *arg;  /* what the argument is called; NULL: takes none */
	const char *text; /* for --help; lines after the first are indented with it */
};

struct options {
	const char *usage; /* behind "usage: " */
	const char *text;  /* what the command does */
	const struct option_row *rows;
	size_t rows_len;
};

/* Calls take for each option, in order. Stops at the first that is no option: *rest is its
 * index in argv. -EINVAL with why for what is not in the table or lacks its argument; a negative of
 * take goes up. A leading "--" before the rest is skipped. */
int options_parse(const struct options *options, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx, int *rest,
	struct why *why);
/* The same where options may stand between and behind what is none: that goes to words, of which
 * words_max are allowed; *words_len says how many there were. What is behind "--" is no option. */
int options_parse_mixed(const struct options *options, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx,
	const char **words, int words_max, int *words_len, struct why *why);
void options_print_help(const struct options *options, FILE *out);

/* A whole number in [min, max], or seconds such as 0.5 in nanoseconds. -EINVAL with why. */
int options_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
	struct why *why);
int options_seconds(const char *name, const char *text, uint64_t *ns, struct why *why);
