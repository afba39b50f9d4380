/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/options.c - getopt_long with a table. getopt has global state: one parse at a time. */
#include "cmd/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"

#define DURATION_MAX_NS (10.0 * 365 * 24 * 3600 * NSEC_PER_SEC)

static void fill_tables(const struct options *o, char *letters, struct option *longs)
{
	size_t n = 0;

	*letters++ = '+';
	*letters++ = ':';
	for (size_t i = 0; i < o->rows_len; i++) {
		const struct option_row *row = &o->rows[i];

		if (row->id < 256) {
			*letters++ = (char)row->id;
			if (row->arg)
				*letters++ = ':';
		}
		if (row->name)
			longs[n++] = (struct option){ row->name,
				row->arg ? required_argument : no_argument, NULL, row->id };
	}
	*letters = '\0';
	longs[n] = (struct option){ 0 };
}

int options_parse(const struct options *o, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx, int *rest,
	struct why *why)
{
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
	int id, err;

	assert(o->rows_len <= OPTIONS_MAX);
	fill_tables(o, letters, longs);
	opterr = 0;
	optind = 0;
	while ((id = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const char *word = argv[optind - 1];

		if (id == ':')
			return why_set(why, -EINVAL, "%s needs an argument", word);
		if (id == '?')
			return why_set(why, -EINVAL, "unknown option: %s", word);
		err = take(ctx, id, optarg, why);
		if (err < 0)
			return err;
	}
	*rest = optind;
	return 0;
}

int options_parse_mixed(const struct options *o, int argc, char **argv,
	int (*take)(void *ctx, int id, const char *arg, struct why *why), void *ctx,
	const char **words, int words_max, int *words_len, struct why *why)
{
	bool only_words = false;
	int at = 0, rest, len = 0;

	while (at < argc) {
		int err = 0;

		/* what is at `at` is the command's name, or the last word */
		rest = 1;
		if (!only_words)
			err = options_parse(o, argc - at, argv + at, take, ctx, &rest, why);
		if (err < 0)
			return err;
		only_words = only_words || (rest > 1 && strcmp(argv[at + rest - 1], "--") == 0);
		at += rest;
		if (at < argc && len == words_max)
			return why_set(why, -EINVAL, "unexpected argument: %s", argv[at]);
		if (at < argc)
			words[len++] = argv[at];
	}
	*words_len = len;
	return 0;
}

static void print_row(const struct option_row *row, FILE *out)
{
	char left[64] = "";
	const char *text = row->text;
	int len = 0;

	if (row->id < 256)
		len = snprintf(left, sizeof(left), "-%c%s", row->id, row->name ? ", " : "");
	if (row->name)
		len += snprintf(left + len, sizeof(left) - (size_t)len, "--%s", row->name);
	if (row->arg)
		snprintf(left + len, sizeof(left) - (size_t)len, " %s", row->arg);
	fprintf(out, "  %-26s ", left);
	while (*text) {
		size_t line = strcspn(text, "\n");

		fprintf(out, "%.*s\n", (int)line, text);
		text += line + (text[line] == '\n');
		if (*text)
			fprintf(out, "  %-26s ", "");
	}
}

void options_print_help(const struct options *o, FILE *out)
{
	fprintf(out, "usage: %s\n%s\n\n", o->usage, o->text);
	for (size_t i = 0; i < o->rows_len; i++)
		print_row(&o->rows[i], out);
}

int options_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
	struct why *why)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < min || value > max)
		return why_set(why, -EINVAL, "%s: %s is not a whole number from %llu to %llu", name,
			text, (unsigned long long)min, (unsigned long long)max);
	*out = value;
	return 0;
}

int options_duration(const char *name, const char *text, uint64_t *ns, struct why *why)
{
	double amount;

	if (!amount_parse(AMOUNT_DURATION, text, &amount) || amount > DURATION_MAX_NS)
		return why_set(why, -EINVAL, "%s: %s is not %s", name, text,
			amount_example(AMOUNT_DURATION));
	*ns = (uint64_t)amount;
	return *ns > 0 ? 0 : why_set(why, -EINVAL, "%s: must be more than 0 seconds", name);
}
