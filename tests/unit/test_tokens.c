/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokens.c - what each path answers to whom, tickets and sessions, and the token's file. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "http/token_file.h"
#include "http/conn.h"

#define NOW (1000000 * NSEC_PER_SEC)
#define TOKEN "0123456789abcdef-token"
#define METRICS "0123456789abcdef-metrics"

static const uint8_t noise[16] = { 1, 2, 3, 250 };

static void set_up(struct tokens *t)
{
	*t = (struct tokens){ .token = TOKEN, .metrics = METRICS };
}

/* What a request shows. */
enum shown {
	NOTHING,
	OURS,
	CUT,
	LONGER,
	OF_METRICS,
	OF_ANOTHER,
	BASIC,
	SESSION,
	OLD_SESSION,
	SHOWN
};

static enum http_right right_of(const struct tokens *t, enum shown shown, const char *session)
{
	static const char *const headers[SHOWN] = { [OURS] = "Bearer " TOKEN,
		[CUT] = "Bearer 0123456789abcdef-toke",
		[LONGER] = "bearer " TOKEN "s",
		[OF_METRICS] = "bearer " METRICS,
		[OF_ANOTHER] = "Bearer 0123456789abcdef-other",
		[BASIC] = "Basic " TOKEN };

	return tokens_right(t, headers[shown], shown >= SESSION ? session : NULL,
		shown == OLD_SESSION ? NOW + TOKENS_SESSION_S * NSEC_PER_SEC : NOW);
}

/* The table of answers: y is answered, n is refused, by what the request shows. */
static void each_path_answers_whom_it_should(void **state)
{
	static const struct {
		const char *path;
		enum listener_reach reach;
		const char *answers; /* in the order of enum shown */
	} rows[] = {
		{ "/", LISTENER_LOOPBACK, "nynnnnnyn" },
		{ "/profile", LISTENER_LOOPBACK, "nynnnnnyn" },
		{ "/query", LISTENER_LOOPBACK, "nynnnnnyn" },
		{ "/heat.json", LISTENER_LOOPBACK, "nynnnnnyn" },
		{ "/metrics", LISTENER_LOOPBACK, "yyyyyyyyy" },
		{ "/open", LISTENER_LOOPBACK, "yyyyyyyyy" },
		{ "/healthz", LISTENER_LOOPBACK, "yyyyyyyyy" },
		{ "/readyz", LISTENER_LOOPBACK, "yyyyyyyyy" },
		{ "/", LISTENER_ANY, "nynnnnnyn" },
		{ "/profile", LISTENER_ANY, "nynnnnnyn" },
		{ "/query", LISTENER_ANY, "nynnnnnyn" },
		{ "/heat.json", LISTENER_ANY, "nynnnnnyn" },
		{ "/metrics", LISTENER_ANY, "nynnynnyn" },
		{ "/open", LISTENER_ANY, "yyyyyyyyy" },
		{ "/healthz", LISTENER_ANY, "yyyyyyyyy" },
		{ "/readyz", LISTENER_ANY, "yyyyyyyyy" },
		{ "/no-such-path", LISTENER_ANY, "yyyyyyyyy" }, /* 404 */
	};
	char session[TOKENS_SESSION_TEXT_MAX], ticket[TICKET_TEXT_MAX];
	struct tokens t;

	(void)state;
	set_up(&t);
	ticket_make(TOKEN, NOW, 7, ticket);
	assert_true(tokens_exchange(&t, ticket, NOW, noise, session));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (enum shown shown = NOTHING; shown < SHOWN; shown++)
			if ((right_of(&t, shown, session) >=
				    http_right_of(rows[i].path, rows[i].reach)) !=
				(rows[i].answers[shown] == 'y'))
				fail_msg("%s, reach %d, shown %d", rows[i].path,
					rows[i].reach, shown);
	/* A unix socket has no token: its file says who may connect. */
	t = (struct tokens){ 0 };
	assert_int_equal(right_of(&t, NOTHING, session), HTTP_RIGHT_ALL);
}

static void a_ticket_is_good_once_and_for_a_minute(void **state)
{
	char session[TOKENS_SESSION_TEXT_MAX], ticket[TICKET_TEXT_MAX];
	char other[TICKET_TEXT_MAX + 2];
	struct tokens t;

	(void)state;
	set_up(&t);
	ticket_make(TOKEN, NOW, 7, ticket);
	assert_null(strstr(ticket, "token"));
	assert_false(tokens_exchange(&t, ticket, NOW + TICKET_NS + 1, noise, session));
	assert_false(tokens_exchange(&t, ticket, NOW - 1, noise, session));
	assert_true(tokens_exchange(&t, ticket, NOW + TICKET_NS, noise, session));
	assert_false(tokens_exchange(&t, ticket, NOW + TICKET_NS, noise, session));
	assert_int_equal(tokens_right(&t, NULL, session, NOW), HTTP_RIGHT_ALL);
	session[3] ^= 1;
	assert_int_equal(tokens_right(&t, NULL, session, NOW), HTTP_RIGHT_NONE);
	assert_int_equal(tokens_right(&t, NULL, "", NOW), HTTP_RIGHT_NONE);
	/* Another daemon's, and what is near one of ours. */
	ticket_make("0123456789abcdef-other", NOW, 7, other);
	assert_false(tokens_exchange(&t, other, NOW, noise, session));
	ticket_make(TOKEN, NOW, 8, ticket);
	for (size_t i = 0; i < strlen(ticket); i++) {
		snprintf(other, sizeof(other), "%s", ticket);
		other[i] = other[i] == '1' ? '2' : '1';
		assert_false(tokens_exchange(&t, other, NOW, noise, session));
	}
	snprintf(other, sizeof(other), "%s0", ticket);
	assert_false(tokens_exchange(&t, other, NOW, noise, session));
	assert_false(tokens_exchange(&t, "", NOW, noise, session));
	assert_true(tokens_exchange(&t, ticket, NOW, noise, session));
}

/* It may have been used with the process that was replaced. */
static void a_ticket_from_before_the_start_is_not_good(void **state)
{
	char session[TOKENS_SESSION_TEXT_MAX], ticket[TICKET_TEXT_MAX];
	struct tokens t;

	(void)state;
	set_up(&t);
	t.started_ns = NOW;
	ticket_make(TOKEN, NOW - 1, 7, ticket);
	assert_false(tokens_exchange(&t, ticket, NOW, noise, session));
	ticket_make(TOKEN, NOW + 1, 7, ticket);
	assert_true(tokens_exchange(&t, ticket, NOW + 1, noise, session));
}

static void tables_of_tickets_and_sessions_have_a_limit(void **state)
{
	char first[TOKENS_SESSION_TEXT_MAX], session[TOKENS_SESSION_TEXT_MAX];
	char ticket[TICKET_TEXT_MAX];
	uint8_t bytes[16] = { 0 };
	struct tokens t;

	(void)state;
	set_up(&t);
	for (uint64_t i = 0; i < TOKENS_USED_MAX; i++) {
		bytes[0] = (uint8_t)(i + 1);
		ticket_make(TOKEN, NOW, i, ticket);
		assert_true(tokens_exchange(
			&t, ticket, NOW + i / 8 * NSEC_PER_SEC, bytes, i == 0 ? first : session));
	}
	assert_int_equal(tokens_right(&t, NULL, session, NOW), HTTP_RIGHT_ALL);
	assert_int_equal(tokens_right(&t, NULL, first, NOW), HTTP_RIGHT_NONE);
	ticket_make(TOKEN, NOW + 10 * NSEC_PER_SEC, 1000, ticket);
	assert_false(tokens_exchange(&t, ticket, NOW + 10 * NSEC_PER_SEC, bytes, session));
	ticket_make(TOKEN, NOW + 100 * NSEC_PER_SEC, 1000, ticket);
	assert_true(tokens_exchange(&t, ticket, NOW + 100 * NSEC_PER_SEC, bytes, session));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void a_token_that_could_not_be_written_is_written_later(void **state)
{
	char folder[] = "/tmp/stoker-token-XXXXXX", path[96];
	char token[HTTP_TEXT_MAX], again[HTTP_TEXT_MAX];
	struct why why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/" TOKEN_FILE, folder);
	if (mount("none", folder, "tmpfs", MS_RDONLY, NULL) < 0) {
		rmdir(folder);
		print_message("no tmpfs can be mounted here\n");
		skip();
	}
	assert_int_equal(token_file_make(folder, TOKEN_FILE, token, &why), TOKEN_FILE_UNSAVED);
	assert_non_null(strstr(why.text, "Read-only file system"));
	assert_int_equal(strlen(token), 40);
	assert_int_equal(token_file_save(folder, TOKEN_FILE, token, &why), -EROFS);
	assert_int_equal(mount("none", folder, NULL, MS_REMOUNT, NULL), 0);
	assert_int_equal(token_file_save(folder, TOKEN_FILE, token, &why), 0);
	assert_int_equal(token_file_save(folder, TOKEN_FILE, "another", &why), 0);
	assert_int_equal(token_file_make(folder, TOKEN_FILE, again, &why), 0);
	assert_string_equal(again, token);
	assert_int_equal(umount(folder), 0);
	rmdir(folder);
}

static void a_token_is_made_once_for_owner_and_group(void **state)
{
	char folder[] = "/tmp/stoker-token-XXXXXX", store[64], path[96];
	char token[HTTP_TEXT_MAX], again[HTTP_TEXT_MAX];
	struct stat st;
	struct why why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(store, sizeof(store), "%s/store", folder);
	snprintf(path, sizeof(path), "%s/" TOKEN_FILE, store);
	assert_int_equal(token_file_make(store, TOKEN_FILE, token, &why), 0);
	assert_int_equal(strlen(token), 40);
	assert_int_equal(strspn(token, "0123456789abcdef"), 40);
	assert_int_equal(token_file_make(store, TOKEN_FILE, again, &why), 0);
	assert_string_equal(again, token);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(token_file_read(path, again, &why), 0);
	assert_string_equal(again, token);
	write_file(path, "short\n");
	assert_int_equal(token_file_read(path, again, &why), -EINVAL);
	write_file(path, "a token with blanks in it\n");
	assert_int_equal(token_file_make(store, TOKEN_FILE, again, &why), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(token_file_make(store, TOKEN_FILE, again, &why), -EINVAL);
	assert_int_equal(token_file_read(path, again, &why), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_true(token_file_make(store, TOKEN_FILE, again, &why) < 0);
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		write_file(path, TOKEN "\n");
		assert_int_equal(chown(path, 4711, 4711), 0);
		assert_int_equal(token_file_make(store, TOKEN_FILE, again, &why), -EPERM);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(store), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_answers_whom_it_should),
		cmocka_unit_test(a_ticket_is_good_once_and_for_a_minute),
		cmocka_unit_test(a_ticket_from_before_the_start_is_not_good),
		cmocka_unit_test(tables_of_tickets_and_sessions_have_a_limit),
		cmocka_unit_test(a_token_is_made_once_for_owner_and_group),
		cmocka_unit_test(a_token_that_could_not_be_written_is_written_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
