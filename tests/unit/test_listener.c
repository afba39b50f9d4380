/* SPDX-License-Identifier: Apache-2.0 */
/* test_listener.c - addresses as `listen = ` takes them. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "http/listener.h"

static void numbers_are_listened_on_and_their_reach_is_known(void **state)
{
	static const struct {
		const char *text;
		enum listener_reach reach;
	} rows[] = {
		{ "127.0.0.1:0", LISTENER_LOOPBACK },
		{ "localhost:0", LISTENER_LOOPBACK },
		{ "127.9.9.9:00", LISTENER_LOOPBACK },
		{ "[127.0.0.1]:0", LISTENER_LOOPBACK },
		{ "0.0.0.0:0", LISTENER_ANY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct listener l = LISTENER_INIT;
		struct why why = { "" };

		if (listener_open(rows[i].text, &l, &why) < 0 || l.fd < 0 ||
			l.reach != rows[i].reach)
			fail_msg("%s: reach %d, %s", rows[i].text, l.reach, why.text);
		listener_close(&l);
	}
}

/* Whether this host has IPv6 is another matter. */
static void six_is_read_with_and_without_an_interface(void **state)
{
	static const char *const rows[] = { "[::1]:0", "[::]:0", "[fe80::1%lo]:0",
		"[::ffff:127.0.0.1]:0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct listener l = LISTENER_INIT;
		struct why why = { "" };

		if (listener_open(rows[i], &l, &why) < 0 && strstr(why.text, "it takes"))
			fail_msg("%s: %s", rows[i], why.text);
		listener_close(&l);
	}
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const rows[] = { "", ":", ":80", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:80x",
		"127.0.0.1:99999999999999999999", "1.2.3:80", "256.1.1.1:80", "127.0.0.1 x:80",
		"::1:80", "[::1]", "[]:80", "[fe80::1%nowhere]:80", "[::1%]:80", "[::g]:80",
		"somewhere.example:80", "unix:relative" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct listener l = LISTENER_INIT;
		struct why why = { "" };

		if (listener_open(rows[i], &l, &why) != -EINVAL || l.fd != -1 || !why.text[0])
			fail_msg("%s was taken", rows[i]);
	}
}

static void a_browser_finds_it_by_its_address(void **state)
{
	static const struct {
		const char *text, *address; /* NULL: it cannot */
	} rows[] = {
		{ "127.0.0.1:9700", "http://127.0.0.1:9700" },
		{ "localhost:80", "http://127.0.0.1:80" },
		{ "0.0.0.0:9700", "http://127.0.0.1:9700" },
		{ "127.9.9.9:1", "http://127.9.9.9:1" },
		{ "[::]:9700", "http://[::1]:9700" },
		{ "[::1]:9700", "http://[::1]:9700" },
		{ "unix:/run/stoker", NULL },
		{ "off", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char address[128] = "";
		struct why why;
		int err = listener_address(rows[i].text, address, sizeof(address), &why);

		if (err != (rows[i].address ? 0 : -EINVAL) ||
			(rows[i].address && strcmp(address, rows[i].address) != 0))
			fail_msg("%s: %d, %s", rows[i].text, err, address);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_listened_on_and_their_reach_is_known),
		cmocka_unit_test(six_is_read_with_and_without_an_interface),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(a_browser_finds_it_by_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
