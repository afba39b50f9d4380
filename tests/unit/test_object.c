/* SPDX-License-Identifier: Apache-2.0 */
/* test_object.c - a file that cannot be opened, or is another one by now.
 * LINK: -Wl,--wrap=file_key_compare */
#include "unit.h"

#include <unistd.h>

#include "files/object.h"

static int compared; /* the answer to the next question */
static unsigned int questions;

int __wrap_file_key_compare(struct sampler *sampler, int fd, const struct object_key *key);

int __wrap_file_key_compare(struct sampler *sampler, int fd, const struct object_key *key)
{
	(void)sampler, (void)key;
	assert_true(fd >= 0);
	questions++;
	return compared;
}

static struct object *opened(const struct event_object *event)
{
	struct object *object = object_new(event->id, "file");

	assert_non_null(object);
	object->key = event->key;
	questions = 0;
	object_open(object, NULL, event);
	return object;
}

/* Nobody maps anything there. */
static void a_mapping_that_is_gone_may_come_again_and_is_not_compared(void **state)
{
	const struct event_object event = {
		.id = OBJECT_FIRST, .tgid = (uint32_t)getpid(), .vm_start = 4096, .vm_end = 8192
	};
	struct object *object = opened(&event);

	(void)state;
	assert_int_equal(object->state, OBJECT_FAILED);
	assert_int_equal(object->reason, OBJECT_GONE);
	assert_true(object_may_come_again(object));
	assert_int_equal(questions, 0);
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_that_is_gone_may_come_again_and_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
