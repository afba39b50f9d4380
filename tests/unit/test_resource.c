/* SPDX-License-Identifier: Apache-2.0 */
/* test_resource.c - what a thread waits for, in words; made by hand. */
#include "unit.h"

#include <netinet/in.h>
#include <string.h>

#include "base/own.h"
#include "profile/marks.h"
#include "waiting/resource.h"

static void says(const struct visit_resource *resource, const char *text)
{
	char out[RESOURCE_TEXT_MAX] = "";
	size_t len = resource_text(resource, out, sizeof(out));

	assert_string_equal(len > 0 ? out : "", text);
	assert_int_equal(len, strlen(text));
}

static void a_connection_is_named_by_the_end_that_many_share(void **state)
{
	struct visit_resource made = { .kind = RESOURCE_INET,
		.protocol = IPPROTO_TCP,
		.address = { 10, 0, 0, 7 },
		.port = 5432,
		.own_port = 40000 };

	(void)state;
	says(&made, "tcp 10.0.0.7:5432");
	made.own_port = 6000;
	says(&made, "tcp :6000");
	made.port = made.own_port = 50000;
	says(&made, "tcp :50000");
	made.asked = 1; /* whatever the ports are */
	says(&made, "tcp 10.0.0.7:50000");
	made.port = 0; /* it listens */
	says(&made, "tcp :50000");
	made.own_port = 0;
	says(&made, "");
	made = (struct visit_resource){ .kind = RESOURCE_INET, .protocol = IPPROTO_UDP, .v6 = 1,
		.address = { 0x20, 1, 0xd, 0xb8, [15] = 1 }, .port = 53, .own_port = 53 };
	says(&made, "udp [2001:db8::1]:53");
	memset(made.address, 0, 10);
	made.address[10] = made.address[11] = 0xff;
	made.address[12] = 192;
	says(&made, "udp 192.0.0.1:53");
	made.protocol = 200;
	made.own_port = 40000;
	says(&made, "ip 192.0.0.1:53");
}

static void a_local_socket_is_named_by_its_path(void **state)
{
	struct visit_resource made = { .kind = RESOURCE_UNIX, .len = 8, .text = "/run/x" };
	char out[RESOURCE_TEXT_MAX];

	(void)state;
	says(&made, "unix /run/x");
	memcpy(made.text, "\0name", 5);
	made.len = 5;
	says(&made, "unix @name");
	made.len = 1;
	says(&made, "");
	memcpy(made.text, "evil_[k", 8);
	made.len = 8;
	says(&made, "unix evil_(k");
	memset(made.text, 'x', sizeof(made.text));
	made.len = 255;
	assert_int_equal(resource_text(&made, out, sizeof(out)), 113);
}

static void a_file_is_named_by_the_end_of_its_path(void **state)
{
	struct visit_resource made = { .kind = RESOURCE_FILE, .len = 2, .parts = { "b", "a" } };
	char out[RESOURCE_TEXT_MAX];

	(void)state;
	says(&made, "file /a/b");
	made.cut = 2;
	says(&made, "file /a.../b");
	made.cut = 0;
	made.more = 1;
	says(&made, "file .../a/b");
	made.len = 0;
	says(&made, "");
	memset(made.parts, 'x', sizeof(made.parts));
	made.len = 200;
	assert_int_equal(resource_text(&made, out, sizeof(out)),
		strlen("file ...") + RESOURCE_PARTS * RESOURCE_PART);
}

static void others_have_no_text(void **state)
{
	struct visit_resource made = { .kind = RESOURCE_FUTEX, .futex = 0x7f00beef };

	(void)state;
	says(&made, "futex 0x7f00beef");
	made.kind = RESOURCE_TIME;
	says(&made, "time");
	assert_true(resource_is_time("time"));
	assert_false(resource_is_time("futex 0x7f00beef"));
	made.kind = RESOURCE_NONE;
	says(&made, "");
	made.kind = 77;
	says(&made, "");
}

static void whom_the_program_asked_is_known(void **state)
{
	static const struct {
		const char *text;
		bool peer, futex;
	} rows[] = {
		{ "tcp 10.0.0.7:5432", true, false },
		{ "tcp [2001:db8::1]:5432", true, false },
		{ "udp 10.0.0.2:53", true, false },
		{ "tcp :8080", false, false },
		{ "unix /run/x", false, false },
		{ "file /a/b", false, false },
		{ "futex 0x10", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(resource_is_peer(rows[i].text), rows[i].peer);
		assert_int_equal(resource_is_futex(rows[i].text), rows[i].futex);
	}
}

static void a_file_is_not_what_a_socket_s_wait_is_for(void **state)
{
	(void)state;
	assert_false(resource_fits("file /a", PROFILE_BLOCKED_SOCKET));
	assert_false(resource_fits("file /a", PROFILE_BLOCKED_ACCEPT));
	assert_true(resource_fits("file /a", PROFILE_BLOCKED_PIPE));
	assert_false(resource_fits("time", PROFILE_SLEEPING));
	assert_true(resource_fits("file /a", PROFILE_BLOCKED_FILE_LOCK));
	assert_true(resource_fits("tcp :80", PROFILE_BLOCKED_ACCEPT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_named_by_the_end_that_many_share),
		cmocka_unit_test(a_local_socket_is_named_by_its_path),
		cmocka_unit_test(a_file_is_named_by_the_end_of_its_path),
		cmocka_unit_test(others_have_no_text),
		cmocka_unit_test(a_file_is_not_what_a_socket_s_wait_is_for),
		cmocka_unit_test(whom_the_program_asked_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
