/* SPDX-License-Identifier: Apache-2.0 */
/* test_object.c - what an opener's answer makes of a file. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "client/openers.h"
#include "files/object.h"

static struct object *answered_as(const char *name, struct openers_answer *answer)
{
	struct event_object event = { .id = OBJECT_FIRST };
	struct object *object;

	snprintf(event.name, sizeof(event.name), "%s", name);
	object = object_meet(&event, 100);

	assert_non_null(object);
	object_take(object, NULL, answer);
	return object;
}

static struct object *answered(struct openers_answer *answer)
{
	return answered_as("lib.so", answer);
}

static void a_file_that_came_has_its_path_and_owner(void **state)
{
	struct openers_answer answer = {
		.fd = open("/dev/null", O_RDONLY), .path = "/a/lib.so (deleted)", .uid = 12
	};
	struct object *object = answered(&answer);

	(void)state;
	assert_int_equal(object->state, OBJECT_OPENED);
	assert_int_equal(answer.fd, -1);
	assert_true(object->fd >= 0);
	assert_string_equal(object->path, "/a/lib.so");
	assert_string_equal(object->name, "lib.so");
	assert_int_equal(object->uid, 12);
	object_free(object);
}

static void a_mount_does_not_name_a_file(void **state)
{
	static const char long_name[] =
		"/a/lib-of-a-name-that-is-longer-than-what-an-event-has-room-for.so";
	static const struct {
		const char *own, *path, *name;
		bool has_path;
	} rows[] = {
		{ "xz", "/tmp/sshd", "xz", false },
		{ "xz", "/usr/bin/xz", "xz", true },
		{ "xz", "/usr/bin/xz (deleted)", "xz", true },
		{ "memfd:x", "/memfd:x (deleted)", "memfd:x", true },
		{ "memfd:a/b", "/memfd:a/b (deleted)", "memfd:a/b", false },
		{ "", "/usr/bin/xz", "xz", true },
		{ long_name + 3, long_name, NULL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct openers_answer answer = { .fd = open("/dev/null", O_RDONLY) };
		struct object *object;

		answer.path = rows[i].path;
		object = answered_as(rows[i].own, &answer);
		if (rows[i].name)
			assert_string_equal(object->name, rows[i].name);
		if (!object->path[0] == rows[i].has_path)
			fail_msg("%s: %s", rows[i].path, object->path);
		object_free(object);
	}
}

/* Whether the next process that maps it may have it opened, and whether it is tried after a while.
 */
static void a_refused_file_is_tried_again_if_that_may_help(void **state)
{
	static const struct {
		enum object_reason reason;
		bool again, comes, due, late;
	} rows[] = {
		{ OBJECT_GONE, false, true, false, false },
		{ OBJECT_CHANGED, false, true, false, false },
		{ OBJECT_HUNG, false, false, false, true },
		{ OBJECT_HUNG, true, true, false, true },
		{ OBJECT_LIMIT, false, false, true, true },
		{ OBJECT_TIME, false, false, true, true },
		{ OBJECT_DENIED, false, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct openers_answer answer = {
			.fd = -1, .reason = rows[i].reason, .path = "", .again = rows[i].again
		};
		struct object *object = answered(&answer);

		assert_int_equal(object->state, OBJECT_FAILED);
		assert_int_equal(object->reason, rows[i].reason);
		assert_int_equal(object_may_come_again(object), rows[i].comes);
		assert_int_equal(object_is_due(object, 101), rows[i].due);
		assert_int_equal(object_is_due(object, 100 + OBJECT_HUNG_SECONDS), rows[i].late);
		object_free(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_came_has_its_path_and_owner),
		cmocka_unit_test(a_mount_does_not_name_a_file),
		cmocka_unit_test(a_refused_file_is_tried_again_if_that_may_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
