/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a file, as a worker checks them. */
#include "unit.h"

#include "base/own.h"
#include "client/calls.h"
#include "make_elf.h"
#include "wire/proto.h"
#include "worker_client.h"

/* More than fit into one request: `call 0x40` at the start of the text, and a return there. */
static void calls_are_checked_in_the_file(void **state)
{
	static struct elf_call_query queries[PROTO_CALLS_MAX + 1];
	static struct elf_call answers[ARRAY_SIZE(queries)];
	struct worker_calls calls = {
		.id = 1, .queries = queries, .len = ARRAY_SIZE(queries), .until_ns = in_ns(LONG_NS)
	};
	_cleanup_fd_ int other = memory_file("x", 1);
	_cleanup_fd_ int fd = -1;
	struct make_elf m;
	struct told told;

	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	make_elf_init(&m);
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET, "\xe8\x3b\x00\x00\x00", 5);
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x40, "\xc3", 1);
	make_elf_finish(&m);
	fd = memory_file(m.file.data, m.file.len);
	make_elf_done(&m);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i] = (struct elf_call_query){ ELF_CALL_RETURN, MAKE_ELF_TEXT_OFFSET + 4,
			MAKE_ELF_TEXT_OFFSET + 0x40 + (i >= PROTO_CALLS_MAX) };
	calls.fd = fd;
	assert_int_equal(worker_client_calls(told.client, &calls, answers), WORKER_OK);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		assert_int_equal(answers[i].verdict,
			i < PROTO_CALLS_MAX ? ELF_CALL_POSSIBLE : ELF_CALL_IMPOSSIBLE);
	calls.fd = other;
	assert_int_equal(worker_client_calls(told.client, &calls, answers), WORKER_NOT_ELF);
	told_close(&told);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_checked_in_the_file),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
