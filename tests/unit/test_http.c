/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - what a request may say, who may ask, and metrics as text. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "http/conn.h"

#define NOW_NS 1000000000000000000ULL
#define PROFILE                                                                   \
	(HTTP_ARG_SECONDS | HTTP_ARG_HZ | HTTP_ARG_TARGET | HTTP_ARG_FORMAT | \
		HTTP_ARG_EVENT)
#define QUERY                                                                                 \
	(HTTP_ARG_SPAN | HTTP_ARG_MATCH | HTTP_ARG_FUNCTION | HTTP_ARG_TOP | HTTP_ARG_TREND | \
		HTTP_ARG_FORMAT | HTTP_ARG_EVENT)

static int take(struct http_args *args, const char *name, const char *value)
{
	struct why why;

	return http_args_take(args, name, value, value ? strlen(value) : 0, &why);
}

static void what_is_no_value_is_refused(void **state)
{
	static const struct {
		uint32_t takes;
		const char *name, *value;
	} rows[] = {
		{ PROFILE, "jit", "2" },
		{ PROFILE, "jit", "on" },
		{ QUERY, "jit", "1" },
		{ PROFILE, "seconds", "" },
		{ PROFILE, "seconds", "0" },
		{ PROFILE, "seconds", "61" },
		{ PROFILE, "seconds", "1e1" },
		{ PROFILE, "seconds", "99999999999999999999" },
		{ PROFILE, "hz", "-1" },
		{ PROFILE, "hz", "1001" },
		{ PROFILE, "hz", " 9" },
		{ PROFILE, "container", "" },
		{ PROFILE, "container", "a\nb" },
		{ PROFILE, "container", "\xff" },
		{ PROFILE, "comm", "a" },
		{ PROFILE, "since", "1h" },
		{ PROFILE, "format", "exe" },
		{ PROFILE, "", "" },
		{ PROFILE, "e", "" },
		{ PROFILE, "e", "--stats" },
		{ PROFILE, "e", "cpu wall" },
		{ PROFILE, "e", "cpu;wall" },
		{ QUERY, "e", "" },
		{ QUERY, "format", "perf" },
		{ QUERY, "format", "firefox" },
		{ QUERY, "seconds", "1" },
		{ QUERY, "cgroup", "/" },
		{ QUERY, "since", "yore" },
		{ QUERY, "top", "100001" },
		{ 0, "a", "b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_args args;

		http_args_init(&args, rows[i].takes, NOW_NS);
		if (take(&args, rows[i].name, rows[i].value) != -EINVAL)
			fail_msg("%s=%s was taken", rows[i].name, rows[i].value);
	}
}

static void an_unknown_format_is_answered_with_all(void **state)
{
	struct http_args args;
	struct why why = { "" };

	(void)state;
	http_args_init(&args, PROFILE, NOW_NS);
	assert_int_equal(http_args_take(&args, "format", "exe", 3, &why), -EINVAL);
	for (int i = 0; i < HTTP_FORMATS_LEN; i++)
		if (!strstr(why.text, http_formats[i].name))
			fail_msg("%s is not in: %s", http_formats[i].name, why.text);
}

static void a_value_that_is_longer_than_its_text_is_refused(void **state)
{
	struct http_args args;
	char text[HTTP_VALUE_MAX + 1];
	struct why why;

	(void)state;
	http_args_init(&args, PROFILE, NOW_NS);
	assert_int_equal(http_args_take(&args, "container", "a\0b", 3, &why), -EINVAL);
	memset(text, 'x', sizeof(text));
	text[HTTP_VALUE_MAX] = '\0';
	http_args_init(&args, PROFILE, NOW_NS);
	assert_int_equal(http_args_take(&args, "container", text, HTTP_VALUE_MAX, &why), -EINVAL);
	text[HTTP_VALUE_MAX - 1] = '\0';
	http_args_init(&args, PROFILE, NOW_NS);
	assert_int_equal(http_args_take(&args, "container", text, HTTP_VALUE_MAX - 1, &why), 0);
}

static void one_target_is_captured_and_many_labels_are_asked_for(void **state)
{
	struct http_args args;
	struct why why;

	(void)state;
	http_args_init(&args, PROFILE, NOW_NS);
	assert_int_equal(take(&args, "pod", "web"), 0);
	assert_int_equal(args.target, HTTP_POD);
	assert_int_equal(take(&args, "container", "a"), -EINVAL);
	http_args_init(&args, QUERY, NOW_NS);
	assert_int_equal(take(&args, "pod", "web"), 0);
	assert_int_equal(take(&args, "container", "a"), 0);
	assert_int_equal(take(&args, "comm", "b"), 0);
	assert_int_equal(take(&args, "comm", "c"), -EINVAL);
	assert_int_equal(args.matches_len, 3);
	assert_string_equal(args.matches[2].key, "comm");
	assert_string_equal(args.matches[2].value, "b");
	assert_int_equal(take(&args, "since", "1h"), 0);
	assert_int_equal(http_args_check(&args, &why), 0);
	assert_int_equal(take(&args, "until", "2h"), 0);
	assert_int_equal(http_args_check(&args, &why), -EINVAL);
}

static void only_names_of_the_loopback_are_ours(void **state)
{
	static const struct {
		const char *host;
		bool ours;
	} rows[] = {
		{ NULL, true },
		{ "localhost", true },
		{ "LocalHost:9700", true },
		{ "127.0.0.1", true },
		{ "127.1.2.3:80", true },
		{ "[::1]", true },
		{ "[::1]:9700", true },
		{ "", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "[::2]", false },
		{ "localhost.evil.example", false },
		{ "127.0.0.1.evil.example", false },
		{ "127.0.0.1@evil.example", false },
		{ "evil.example:9700", false },
		{ "10.0.0.1", false },
		{ "2130706433", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (http_host_is_loopback(rows[i].host) != rows[i].ours)
			fail_msg("%s", rows[i].host);
}

static void known_reasons_are_zero_from_the_start(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct http_counts counts = { 0 };
	json_t *status = json_pack("{s:{s:{s:{s:i}, s:i}, s:{s:{s:i}}, s:{s:{s:i}}}}", "account",
		"ticks", "lost", "ring_full", 3, "samples", 7, "events", "lost", "cgroup", 5,
		"frames", "by_source", "plt", 1);

	(void)state;
	assert_int_equal(http_metrics_write(status, &counts, &out), 0);
	assert_non_null(strstr(out.data, "\nstoker_samples_total 7\n"));
	assert_non_null(strstr(out.data, "\nstoker_ticks_lost_total{reason=\"ring_full\"} 3\n"));
	assert_non_null(strstr(out.data, "# TYPE stoker_ticks_lost_total counter\n"));
	assert_non_null(strstr(out.data, "\nstoker_events_lost_total{kind=\"cgroup\"} 5\n"));
	assert_non_null(strstr(out.data, "\nstoker_events_lost_total{kind=\"exec\"} 0\n"));
	assert_non_null(strstr(out.data, "_by_source_total{source=\"plt\"} 1\n"));
	assert_non_null(strstr(out.data, "_by_source_total{source=\"symtab\"} 0\n"));
	assert_null(strstr(out.data, "stoker_store_segments"));
	json_decref(status);
}

/* Containers have the names that they like. */
static void what_threads_did_has_labels_that_are_escaped(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct http_counts counts = { 0 };
	json_t *status = json_pack("{s:[{s:s, s:s, s:s, s:s, s:i, s:f, s:f, s:f}]}", "waiting",
		"container", "a\"} 1\nb\\", "pod", "", "namespace", "n", "unit", "", "threads", 7,
		"blocked_s", 2.5, "starved_percent", 12.5, "throttled_percent", 77.5);

	(void)state;
	assert_int_equal(http_metrics_write(status, &counts, &out), 0);
	assert_non_null(strstr(out.data,
		"\nstoker_container_threads{container=\"a\\\"} 1\\nb\\\\\",pod=\"\","
		"namespace=\"n\",unit=\"\"} 7\n"));
	assert_non_null(
		strstr(out.data, "# TYPE stoker_container_blocked_seconds_total counter\n"));
	assert_non_null(strstr(out.data, "# TYPE stoker_container_starved_percent gauge\n"));
	assert_non_null(strstr(out.data, "unit=\"\"} 2.5\n"));
	assert_non_null(strstr(out.data, "unit=\"\"} 77.5\n"));
	json_decref(status);
}

static void health_has_its_reason(void **state)
{
	static const struct {
		double age;
		int written;
		const char *error;
		int err;
		const char *says;
	} rows[] = {
		{ 30, 1, "", 0, "ok: the last interval was written 30 s ago" },
		{ 8, 0, "", 0, "ok: sampling for 8 s, no interval is over yet" },
		{ 124, 1, "", 0, "ok" },
		{ 126, 0, "", -EIO, "126 s" },
		{ 1, 1, "no space left", -EIO, "no space left" },
	};
	struct why why;
	json_t *idle;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *status = json_pack("{s:{s:f, s:f, s:{s:i, s:s}}}", "daemon", "interval_s",
			60.0, "written_age_s", rows[i].age, "store", "written", rows[i].written,
			"error", rows[i].error);

		assert_int_equal(http_metrics_health(status, &why), rows[i].err);
		assert_non_null(strstr(why.text, rows[i].says));
		json_decref(status);
	}
	idle = json_pack("{s:{s:f, s:f, s:s}}", "daemon", "interval_s", 60.0, "written_age_s", 1.0,
		"idle", "/etc/stoker/off exists");
	assert_int_equal(http_metrics_health(idle, &why), -EIO);
	assert_string_equal(why.text, "idle: /etc/stoker/off exists");
	json_decref(idle);
	assert_int_equal(http_metrics_health(NULL, &why), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_value_is_refused),
		cmocka_unit_test(an_unknown_format_is_answered_with_all),
		cmocka_unit_test(a_value_that_is_longer_than_its_text_is_refused),
		cmocka_unit_test(one_target_is_captured_and_many_labels_are_asked_for),
		cmocka_unit_test(only_names_of_the_loopback_are_ours),
		cmocka_unit_test(known_reasons_are_zero_from_the_start),
		cmocka_unit_test(what_threads_did_has_labels_that_are_escaped),
		cmocka_unit_test(health_has_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
