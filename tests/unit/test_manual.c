/* SPDX-License-Identifier: Apache-2.0 */
/* test_manual.c - stoker-account(5) has each row of wire/counters.h, and each reason of the lists
 * in bpf/reasons.h with its sentence; --write writes them into the page. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "wire/counter.h"

#define PAGE_MAX (1 << 20)
#define MANUAL "user/man/stoker-account.5"

static const struct counter account_rows[] = { ACCOUNT_COUNTERS(COUNTER_PLACE)
		GOVERNOR_COUNTERS(COUNTER_PLACE) TRAPS_COUNTERS(COUNTER_PLACE) };
static const struct counter daemon_rows[] = { DAEMON_COUNTERS(COUNTER_PLACE) };

/* Lines of the page: a list is between the line that names it and END. */
#define BEGIN(what) ".\\\" from here: " what ", by test_manual --write\n"
#define END ".\\\" to here\n"

struct reason {
	size_t id;
	const char *name, *text;
};

#define REASON(id, name, text) { id, name, text },
#define LAST                  \
	{                     \
		0, NULL, NULL \
	}
#define REASONS(type, list)                             \
	{                                               \
		COUNTER_##type, (const struct reason[]) \
		{                                       \
			list(REASON) LAST               \
		}                                       \
	}

static const struct {
	enum counter_type type;
	const struct reason *list; /* ends with a name of NULL */
} reasons[] = {
	REASONS(LOST, LOST_REASONS),
	REASONS(EVENTS, EVENT_LOSSES),
	REASONS(TARGETS, TARGET_LOSSES),
	REASONS(ENDS, STACK_ENDS),
	REASONS(UNNAMED, UNNAMED_REASONS),
	REASONS(OBJECTS, OBJECT_REASONS),
	REASONS(FILES, FILE_REASONS),
	REASONS(DEBUG, DEBUG_REASONS),
	REASONS(FETCH, FETCH_REASONS),
	REASONS(WORKERS, WORKER_LOSSES),
};

static void put_metric(struct buf *out, const struct counter *row)
{
	const struct counter_names *names = counter_names(row->type);

	buf_printf(out, " Li %s", row->metric);
	if (names)
		buf_printf(out, "{%s}", names->label);
}

static void put_rows(struct buf *out, const struct counter *rows, size_t len, bool places)
{
	buf_puts(out, ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < len; i++) {
		const struct counter *row = &rows[i];

		if (!places && !row->metric)
			continue;
		buf_puts(out, ".It");
		if (places)
			buf_printf(out, " Cm %s%s", row->place, row->metric ? " Pq" : "");
		if (row->metric)
			put_metric(out, row);
		buf_printf(out, "\n%s\n", row->help);
	}
	buf_puts(out, ".El\n");
}

/* Each list of reasons under the keys that have it. */
static void put_reasons(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		const char *before = ".Ss";

		for (size_t k = 0; k < ARRAY_SIZE(account_rows); k++) {
			if (account_rows[k].type != reasons[i].type)
				continue;
			buf_printf(out, "%s %s", before, account_rows[k].place);
			before = " ,";
		}
		assert_string_equal(before, " ,");
		buf_puts(out, "\n.Bl -tag -width unreachable -compact\n");
		for (const struct reason *r = reasons[i].list; r->name; r++) {
			const char *old = counter_old_name(counter_names(reasons[i].type), r->id);

			buf_printf(out, ".It Cm %s\n%s\n", r->name, r->text);
			if (old)
				buf_printf(out, ".It Cm %s\nDeprecated: the same as %s.\n", old,
					r->name);
		}
		buf_puts(out, ".El\n");
	}
}

/* The sources of names under their key. They need no sentences. */
static void put_sources(struct buf *out)
{
	const struct counter_names *names = counter_names(COUNTER_SOURCES);

	buf_puts(out, ".Ss frames.by_source\n");
	for (size_t i = 0; i < names->len; i++)
		buf_printf(out, "%s%s", i == 0 ? ".Cm " : " , ", names->names[i]);
	buf_puts(out, " .\n");
}

static const struct {
	const char *begin;
	const struct counter *rows; /* NULL: reasons */
	size_t len;
	bool places;
} lists[] = {
	{ BEGIN("keys of the account"), account_rows, ARRAY_SIZE(account_rows), true },
	{ BEGIN("reasons"), NULL, 0, false },
	{ BEGIN("metrics of the daemon"), daemon_rows, ARRAY_SIZE(daemon_rows), false },
};

/* The page with the lists of the rows. */
static void make_manual(struct buf *out)
{
	_cleanup_(buf_done) struct buf page = BUF_INIT;
	const char *at;

	assert_int_equal(fd_read_path(MANUAL, PAGE_MAX, &page), 0);
	buf_putc(&page, '\0');
	at = page.data;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *begin = strstr(at, lists[i].begin);
		const char *end = begin ? strstr(begin + 1, END) : NULL;

		assert_non_null(end);
		begin += strlen(lists[i].begin);
		buf_put(out, at, (size_t)(begin - at));
		if (lists[i].rows) {
			put_rows(out, lists[i].rows, lists[i].len, lists[i].places);
		} else {
			put_reasons(out);
			put_sources(out);
		}
		at = end;
	}
	buf_puts(out, at);
}

static bool has_sentence(int type, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		for (const struct reason *r = reasons[i].list; r->name; r++)
			if ((int)reasons[i].type == type && strcmp(r->name, name) == 0)
				return true;
	return false;
}

/* A list that is not in reasons[] would be missing in the page. Sources have no sentences. */
static void each_reason_of_the_account_has_a_sentence(void **state)
{
	(void)state;
	for (int type = 0; type < COUNTER_TYPES; type++) {
		const struct counter_names *names = counter_names(type);

		for (size_t i = 0; names && type != COUNTER_SOURCES && i < names->len; i++)
			if (names->names[i] && !has_sentence(type, names->names[i]))
				fail_msg("type %d: %s has no sentence", type, names->names[i]);
	}
}

static void the_manual_has_each_row_and_reason(void **state)
{
	_cleanup_(buf_done) struct buf made = BUF_INIT;
	_cleanup_(buf_done) struct buf page = BUF_INIT;

	(void)state;
	make_manual(&made);
	assert_int_equal(fd_read_path(MANUAL, PAGE_MAX, &page), 0);
	if (made.len != page.len || memcmp(made.data, page.data, page.len) != 0)
		fail_msg("%s differs from its lists: test_manual --write", MANUAL);
}

static int save(void)
{
	_cleanup_(buf_done) struct buf made = BUF_INIT;
	FILE *out;

	make_manual(&made);
	out = fopen(MANUAL, "w");
	if (!out || fwrite(made.data, 1, made.len, out) != made.len || fclose(out) != 0) {
		perror(MANUAL);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_of_the_account_has_a_sentence),
		cmocka_unit_test(the_manual_has_each_row_and_reason),
	};

	if (argc == 2 && strcmp(argv[1], "--write") == 0)
		return save();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
