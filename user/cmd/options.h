/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/options.h - options as a table, which parses argv and prints --help. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define OPTIONS_MAX 48

struct option_row {
	int id;           /* the letter, or a number above 255 if there is only a long name */
	const char *name; /* long name; NULL: none */
	const char *arg;  /* name of the argument; NULL: none */
	const char *text; /* for --help; lines after the first are indented with it */
};

struct options {
	const char *usage; /* after "usage: " */
	const char *text;  /* description of the command */
	const struct option_row *rows;
	size_t rows_len;
};

/* Calls take for each option, in order. Stops at the first other word: *rest is its index in argv.
 * -EINVAL with why: an unknown option or a missing argument; a negative result of take is returned.
 * Skips a leading "--" before the rest. */
int options_parse(const struct options *options, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx, int *rest,
	struct why *why);
/* The same, but other words may be anywhere: they go to words, at most words_max; *words_len is
 * their number. All after "--" are words. */
int options_parse_mixed(const struct options *options, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx,
	const char **words, int words_max, int *words_len, struct why *why);
void options_print_help(const struct options *options, FILE *out);

/* A whole number in [min, max], or a time such as 0.5, 2s or 5m (base/amount.h) in nanoseconds.
 * -EINVAL with why. */
int options_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
	struct why *why);
int options_duration(const char *name, const char *text, uint64_t *ns, struct why *why);
