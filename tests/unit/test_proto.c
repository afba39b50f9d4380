/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between agent and worker: what goes through, and what neither side takes. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "sym/elf_sym.h"
#include "unwind/rows.h"
#include "wire/proto.h"

struct pair {
	int fds[2];
	struct proto_message out, in;
};

static int setup(void **state)
{
	static struct pair pair;

	pair = (struct pair){ 0 };
	*state = &pair;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.fds);
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	proto_close_fds(&pair->in);
	close(pair->fds[0]);
	close(pair->fds[1]);
	return 0;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void a_message_arrives_whole_with_its_descriptors(void **state)
{
	struct pair *p = *state;
	uint64_t queries[] = { 7, UINT64_MAX };

	proto_begin_request(&p->out, PROTO_LOAD, 42);
	assert_true(proto_put(&p->out, queries, sizeof(queries)));
	p->out.fds[0] = p->out.fds[1] = p->fds[0];
	p->out.fds_len = 2;
	assert_int_equal(proto_send(p->fds[0], 0, &p->out), 0);
	assert_int_equal(proto_receive(p->fds[1], MSG_DONTWAIT, &p->in), 0);
	assert_int_equal(p->in.request.id, 42);
	assert_int_equal(proto_query(&p->in, 1), UINT64_MAX);
	assert_int_equal(p->in.fds_len, 2);
	assert_int_not_equal(p->in.fds[0], p->in.fds[1]);
	assert_true(fcntl(p->in.fds[1], F_GETFD) & FD_CLOEXEC);
}

static void nothing_and_the_end_are_told_apart(void **state)
{
	struct pair *p = *state;

	assert_int_equal(proto_receive(p->fds[1], MSG_DONTWAIT, &p->in), -EAGAIN);
	shutdown(p->fds[0], SHUT_RDWR);
	assert_int_equal(proto_receive(p->fds[1], 0, &p->in), -ECONNRESET);
}

static void a_message_of_another_size_than_it_says_is_refused(void **state)
{
	static const struct {
		size_t sent;
		uint32_t said;
	} rows[] = {
		{ 1, 1 },
		{ sizeof(struct proto_head) - 1, sizeof(struct proto_head) - 1 },
		{ sizeof(struct proto_head), sizeof(struct proto_head) + 1 },
		{ sizeof(struct proto_head) + 1, sizeof(struct proto_head) },
		{ PROTO_BYTES_MAX, 0 },
		{ PROTO_BYTES_MAX + 1, PROTO_BYTES_MAX },
		{ PROTO_BYTES_MAX + 1, PROTO_BYTES_MAX + 1 },
	};
	static char bytes[PROTO_BYTES_MAX + 1];
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct proto_head head = { .kind = PROTO_NAMES, .size = rows[i].said };

		print_message("row %zu\n", i);
		memcpy(bytes, &head, sizeof(head));
		assert_int_equal(send(p->fds[0], bytes, rows[i].sent, 0), rows[i].sent);
		assert_int_equal(proto_receive(p->fds[1], 0, &p->in), -EBADMSG);
	}
}

/* Closing a file gives its locks back: what the kernel drops was never ours to close. */
static void a_descriptor_that_is_not_due_is_never_closed_by_us(void **state)
{
	struct flock lock = { .l_type = F_WRLCK };
	struct proto_head head = { .kind = PROTO_ROWS, .size = sizeof(head) };
	_cleanup_fd_ int fd = memfd_create("locked", MFD_CLOEXEC);
	struct pair *p = *state;
	int before = open_fds(), status;
	pid_t pid;

	assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fd_pass(p->fds[0], &head, sizeof(head), fd), 0);
	assert_int_equal(proto_receive_reply(p->fds[1], 0, &p->in), -EBADMSG);
	assert_int_equal(fd_take(p->fds[1], 0, &head, sizeof(head), NULL), -EPIPE);
	assert_int_equal(open_fds(), before);
	pid = fork();
	if (pid == 0)
		_exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void more_descriptors_than_there_is_room_for_are_refused_and_closed(void **state)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE((PROTO_FDS_MAX + 1) * sizeof(int))];
	} control = { 0 };
	int fds[PROTO_FDS_MAX + 1];
	struct pair *p = *state;
	struct proto_head head = { .kind = PROTO_LOAD, .size = sizeof(head) };
	struct iovec part = { &head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int before = open_fds();

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = p->fds[0];
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	assert_int_equal(sendmsg(p->fds[0], &msg, 0), sizeof(head));
	assert_int_equal(proto_receive(p->fds[1], 0, &p->in), -EBADMSG);
	proto_close_fds(&p->in);
	assert_int_equal(open_fds(), before);
}

/* A request with these fields, as it would come. */
static bool request_taken(
	uint32_t kind, uint32_t flags, uint32_t queries_len, uint32_t size_more, size_t fds_len)
{
	static struct proto_message m;

	m.request = (struct proto_request){
		.head = { .kind = kind, .size = (uint32_t)sizeof(m.request) + size_more },
		.flags = flags,
		.queries_len = queries_len,
	};
	m.fds_len = fds_len;
	return proto_request_valid(&m);
}

static void numbers_of_pages_rise_and_have_a_limit(void **state)
{
	static const struct {
		uint64_t numbers[3];
		bool taken;
	} rows[] = {
		{ { 0, 1, 2 }, true },
		{ { 7, 900, UNWIND_ROWS_PAGE_MAX }, true },
		{ { 7, 900, UNWIND_ROWS_PAGE_MAX + 1ULL }, false },
		{ { 7, 7, 9 }, false },
		{ { 7, 6, 9 }, false },
		{ { 1, 2, UINT64_MAX }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static struct proto_message m;

		proto_begin_request(&m, PROTO_ROWS, 1);
		m.request.queries_len = 3;
		proto_put(&m, rows[i].numbers, sizeof(rows[i].numbers));
		m.fds_len = 2;
		print_message("row %zu\n", i);
		assert_int_equal(proto_request_valid(&m), rows[i].taken);
	}
}

static void requests_that_no_client_makes_are_refused(void **state)
{
	static const struct {
		uint32_t kind, flags, queries_len, size_more;
		size_t fds_len;
		bool taken;
	} rows[] = {
		{ PROTO_ROWS, 0, 0, 0, 2, true },
		{ PROTO_ROWS, 0, 0, 0, 0, false },
		{ PROTO_ROWS, 0, 0, 0, 1, false },
		{ PROTO_ROWS, 0, 0, 0, 3, false },
		{ PROTO_ROWS, 0, 1, 8, 2, true },
		{ PROTO_ROWS, 0, 1, 8, 1, false },
		{ PROTO_ROWS, 0, 2, 16, 2, false }, /* numbers that do not rise */
		{ PROTO_ROWS, 0, PROTO_PAGES_MAX + 1, PROTO_PAGES_MAX * 8 + 8, 2, false },
		{ PROTO_MAPPINGS, 0, 0, 0, 1, true },
		{ PROTO_MAPPINGS, 0, 0, 0, 2, false },
		{ PROTO_MAPPINGS, PROTO_WHOLE, 0, 0, 2, true },
		{ PROTO_MAPPINGS, PROTO_WHOLE, 0, 0, 1, false },
		{ PROTO_METHODS, 0, 0, 0, 2, true },
		{ PROTO_METHODS, 0, 0, 0, 1, false },
		{ PROTO_LOAD, 0, 0, 0, PROTO_FDS_MAX, true },
		{ PROTO_LOAD, 0, 0, 0, 0, false },
		{ PROTO_LOAD, PROTO_WHOLE, 2, 16, 1, true },
		{ PROTO_LOAD, 0, PROTO_QUERIES_MAX + 1, PROTO_QUERIES_MAX * 8 + 8, 1, false },
		{ PROTO_NAMES, PROTO_DEMANGLE, 2, 16, 0, true },
		{ PROTO_NAMES, 0, PROTO_QUERIES_MAX, PROTO_QUERIES_MAX * 8, 0, true },
		{ PROTO_NAMES, 0, PROTO_QUERIES_MAX + 1, PROTO_QUERIES_MAX * 8 + 8, 0, false },
		{ PROTO_NAMES, 0, 2, 8, 0, false },
		{ PROTO_NAMES, 0, 2, 24, 0, false },
		{ PROTO_NAMES, 0, 0x20000001, 8, 0, false },
		{ PROTO_NAMES, PROTO_LINES, 1, 8, 0, true },
		{ PROTO_NAMES, 32, 1, 8, 0, false },
		{ PROTO_NAMES, 0, 1, 8, 1, false },
		{ PROTO_MAP_FEED, 0, 0, 0, 1, true },
		{ PROTO_MAP_FEED, PROTO_DUMP, 0, 0, 1, true },
		{ PROTO_MAP_FEED, 0, 0, 0, 0, false },
		{ PROTO_DROP, 0, 1, 8, 0, true },
		{ PROTO_DROP, 0, 0, 8, 0, false },
		{ PROTO_DROP, 0, 1, 8, 1, false },
		{ PROTO_HELLO, 0, 0, 0, 0, false },
		{ PROTO_KINDS, 0, 0, 0, 0, false },
		{ UINT32_MAX, 0, 0, 0, 0, false },
		{ PROTO_DROP, 0, 0, -8U, 0, false },
		{ PROTO_CALLS, 0, 3, 24, 1, true },
		{ PROTO_CALLS, 0, 3, 24, 0, false },
		{ PROTO_CALLS, 0, 2, 16, 1, false },
		{ PROTO_CALLS, 0, 3 * PROTO_CALLS_MAX, 24 * PROTO_CALLS_MAX, 1, true },
		{ PROTO_CALLS, 0, 3 * PROTO_CALLS_MAX + 3, 24 * PROTO_CALLS_MAX + 24, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("row %zu\n", i);
		assert_int_equal(request_taken(rows[i].kind, rows[i].flags, rows[i].queries_len,
					 rows[i].size_more, rows[i].fds_len),
			rows[i].taken);
	}
}

static const struct proto_request asked_rows = { .head = { .kind = PROTO_ROWS, .seq = 5 } };
static const struct proto_request asked_names = {
	.head = { .kind = PROTO_NAMES, .seq = 6 },
	.queries_len = 4,
};
static const struct proto_request asked_load = { .head = { .kind = PROTO_LOAD, .seq = 7 } };

static void make_rows_reply(struct proto_message *m)
{
	struct proto_rows rows = { .rows_bytes = 100, .debuglink = "a.debug" };

	proto_begin_reply(m, &asked_rows.head, WORKER_OK);
	proto_put(m, &rows, sizeof(rows));
}

static void spoil_kind(struct proto_message *m)
{
	m->head.kind = PROTO_LOAD;
}

static void spoil_seq(struct proto_message *m)
{
	m->head.seq++;
}

static void spoil_status(struct proto_message *m)
{
	m->reply.status = WORKER_REFUSED;
}

static void spoil_size(struct proto_message *m)
{
	m->head.size -= 8;
}

static void spoil_one_fd(struct proto_message *m)
{
	m->fds_len = 1;
}

static struct proto_rows *rows_of(struct proto_message *m)
{
	return (struct proto_rows *)(void *)proto_body(m);
}

static void spoil_no_rows(struct proto_message *m)
{
	rows_of(m)->rows_bytes = 0;
}

static void spoil_rows_status(struct proto_message *m)
{
	rows_of(m)->rows_status = WORKER_NO_DATA;
}

static void spoil_no_use(struct proto_message *m)
{
	m->reply.status = WORKER_DAMAGED;
}

static void spoil_other_reason(struct proto_message *m)
{
	rows_of(m)->rows_bytes = 0;
	rows_of(m)->rows_status = WORKER_NO_DATA;
	spoil_no_use(m);
}

static void spoil_build_id(struct proto_message *m)
{
	rows_of(m)->build_id_len = BUILD_ID_BYTES_MAX + 1;
}

static void spoil_link_end(struct proto_message *m)
{
	memset(rows_of(m)->debuglink, 'a', sizeof(rows_of(m)->debuglink));
}

static void spoil_link_path(struct proto_message *m)
{
	strcpy(rows_of(m)->debuglink, "x/y");
}

static void spoil_link_up(struct proto_message *m)
{
	strcpy(rows_of(m)->debuglink, "..");
}

static void rows_that_are_not_as_asked_are_refused(void **state)
{
	static void (*const spoil[])(struct proto_message *) = { spoil_kind, spoil_seq,
		spoil_status, spoil_size, spoil_one_fd, spoil_no_rows, spoil_rows_status,
		spoil_no_use, spoil_other_reason, spoil_build_id, spoil_link_end, spoil_link_path,
		spoil_link_up };
	struct pair *p = *state;

	make_rows_reply(&p->out);
	assert_true(proto_reply_valid(&p->out, &asked_rows));
	for (size_t i = 0; i < ARRAY_SIZE(spoil); i++) {
		print_message("row %zu\n", i);
		make_rows_reply(&p->out);
		spoil[i](&p->out);
		assert_false(proto_reply_valid(&p->out, &asked_rows));
	}
	p->out.fds_len = 0;
}

static void names_that_are_not_as_asked_are_refused(void **state)
{
	static const struct {
		uint32_t answered, first, second;
		uint8_t source;
		uint32_t cut;
		bool taken;
	} rows[] = {
		{ 4, 0, 3, ELF_SYM_PLT, 0, true },
		{ 4, 1, 2, ELF_SYM_SYMTAB, 0, true },
		{ 0, 0, 3, ELF_SYM_PLT, 0, false },
		{ 5, 0, 3, ELF_SYM_PLT, 0, false },
		{ 3, 0, 3, ELF_SYM_PLT, 0, false },
		{ 4, 0, 4, ELF_SYM_PLT, 0, false },
		{ 4, 2, 2, ELF_SYM_PLT, 0, false },
		{ 4, 3, 2, ELF_SYM_PLT, 0, false },
		{ 4, 0, UINT32_MAX, ELF_SYM_PLT, 0, false },
		{ 4, 0, 3, ELF_SYM_R2R + 1, 0, false },
		{ 4, 0, 3, 0, 0, false },
		{ 4, 0, 3, ELF_SYM_PLT, 1, false },
		{ 4, 0, 3, ELF_SYM_PLT, 9, false },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct proto_answer a = { .name = "one",
			.start = 0x10,
			.index = rows[i].first,
			.source = rows[i].source };

		print_message("row %zu\n", i);
		proto_begin_reply(&p->out, &asked_names.head, WORKER_OK);
		p->out.reply.answered = rows[i].answered;
		assert_true(proto_put_answer(&p->out, &a));
		a.index = rows[i].second;
		assert_true(proto_put_answer(&p->out, &a));
		p->out.head.size -= rows[i].cut;
		assert_int_equal(proto_reply_valid(&p->out, &asked_names), rows[i].taken);
	}
}

static void a_file_is_wanted_for_lines_that_were_asked_for_only(void **state)
{
	static const struct {
		enum proto_kind kind;
		uint32_t flags, wants;
		bool taken;
	} rows[] = {
		{ PROTO_NAMES, PROTO_LINES, 1, true },
		{ PROTO_NAMES, PROTO_LINES | PROTO_DEMANGLE, 1, true },
		{ PROTO_NAMES, PROTO_LINES, 2, false },
		{ PROTO_NAMES, 0, 0, true },
		{ PROTO_NAMES, 0, 1, false },
		{ PROTO_NAMES, PROTO_DEMANGLE, 1, false },
		{ PROTO_MAP_NAMES, PROTO_LINES, 0, true },
		{ PROTO_MAP_NAMES, PROTO_LINES, 1, false },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct proto_request asked = {
			.head = { .kind = rows[i].kind, .seq = 6 },
			.flags = rows[i].flags,
			.queries_len = 1,
		};

		print_message("row %zu\n", i);
		proto_begin_reply(&p->out, &asked.head, WORKER_OK);
		p->out.reply.answered = 1;
		p->out.reply.wants = rows[i].wants;
		assert_int_equal(proto_reply_valid(&p->out, &asked), rows[i].taken);
	}
}

static void inlined_names_lead_to_one_that_is_not(void **state)
{
	static const struct {
		uint32_t index[3];
		uint8_t inlined[3];
		bool taken;
	} rows[] = {
		{ { 0, 0, 0 }, { 1, 1, 0 }, true },
		{ { 0, 2, 2 }, { 0, 1, 0 }, true },
		{ { 0, 0, 0 }, { 1, 1, 1 }, false },
		{ { 0, 0, 0 }, { 1, 0, 0 }, false },
		{ { 0, 1, 1 }, { 1, 1, 0 }, false },
		{ { 0, 0, 1 }, { 1, 1, 0 }, false },
		{ { 1, 1, 0 }, { 1, 1, 0 }, false },
		{ { 0, 0, 0 }, { 2, 1, 0 }, false },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("row %zu\n", i);
		proto_begin_reply(&p->out, &asked_names.head, WORKER_OK);
		p->out.reply.answered = 3;
		for (size_t n = 0; n < ARRAY_SIZE(rows[i].index); n++) {
			struct proto_answer a = { .name = "one",
				.index = rows[i].index[n],
				.source = ELF_SYM_PLT,
				.inlined = rows[i].inlined[n] };

			assert_true(proto_put_answer(&p->out, &a));
		}
		assert_int_equal(proto_reply_valid(&p->out, &asked_names), rows[i].taken);
	}
}

static void calls_that_are_not_as_asked_are_refused(void **state)
{
	static const struct {
		uint64_t verdict;
		uint32_t len;
		bool taken;
	} rows[] = {
		{ ELF_CALL_LEAVES, 2, true },
		{ ELF_CALL_VERDICTS, 2, false },
		{ ELF_CALL_POSSIBLE, 1, false },
		{ ELF_CALL_POSSIBLE, 3, false },
	};
	static const struct proto_request asked = {
		.head = { .kind = PROTO_CALLS, .seq = 8 },
		.queries_len = 2 * PROTO_CALL_QUERIES,
	};
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct elf_call call = { .verdict = rows[i].verdict };

		print_message("row %zu\n", i);
		proto_begin_reply(&p->out, &asked.head, WORKER_OK);
		for (uint32_t n = 0; n < rows[i].len; n++)
			proto_put(&p->out, &call, sizeof(call));
		assert_int_equal(proto_reply_valid(&p->out, &asked), rows[i].taken);
	}
}

static void a_call_of_unknown_kind_is_refused(void **state)
{
	struct pair *p = *state;

	for (uint64_t kind = 0; kind <= ELF_CALL_KINDS; kind++) {
		const struct elf_call_query query = { .kind = kind };

		proto_begin_request(&p->out, PROTO_CALLS, 1);
		p->out.request.queries_len = PROTO_CALL_QUERIES;
		p->out.fds_len = 1;
		proto_put(&p->out, &query, sizeof(query));
		assert_int_equal(proto_request_valid(&p->out), kind < ELF_CALL_KINDS);
	}
	p->out.fds_len = 0;
}

static void a_debug_file_of_unknown_fate_is_refused(void **state)
{
	struct pair *p = *state;
	struct proto_symbols symbols = { .debug = { [3] = WORKER_DEBUGS } };

	proto_begin_reply(&p->out, &asked_load.head, WORKER_OK);
	proto_put(&p->out, &symbols, sizeof(symbols));
	assert_false(proto_reply_valid(&p->out, &asked_load));
}

static void answers_come_back_as_they_were_put(void **state)
{
	struct pair *p = *state;
	struct proto_answer in, a = { "main", "/src/main.c", 0x1234, 1, 77, ELF_SYM_DYNSYM, 1 },
				b = { "", NULL, 9, 3, 0, ELF_SYM_PLT, 0 };
	struct cursor c;

	proto_begin_reply(&p->out, &asked_names.head, WORKER_OK);
	p->out.reply.answered = 4;
	assert_true(proto_put_answer(&p->out, &a));
	assert_true(proto_put_answer(&p->out, &b));
	c = proto_answers(&p->out);
	assert_true(proto_next_answer(&c, &in));
	assert_string_equal(in.name, "main");
	assert_int_equal(in.start, 0x1234);
	assert_int_equal(in.index, 1);
	assert_int_equal(in.source, ELF_SYM_DYNSYM);
	assert_int_equal(in.line, 77);
	assert_int_equal(in.inlined, 1);
	assert_string_equal(in.path, "/src/main.c");
	assert_true(proto_next_answer(&c, &in));
	assert_string_equal(in.name, "");
	assert_int_equal(in.index, 3);
	assert_int_equal(in.inlined, 0);
	assert_string_equal(in.path, "");
	assert_false(proto_next_answer(&c, &in));
}

static void a_full_reply_takes_no_part_of_a_name(void **state)
{
	static char name[30000];
	struct pair *p = *state;
	struct proto_answer a = { .name = name, .source = ELF_SYM_PLT };
	uint32_t size;

	memset(name, 'n', sizeof(name) - 1);
	proto_begin_reply(&p->out, &asked_names.head, WORKER_OK);
	p->out.reply.answered = 3;
	assert_true(proto_put_answer(&p->out, &a));
	a.index = 1;
	assert_true(proto_put_answer(&p->out, &a));
	size = p->out.head.size;
	a.index = 2;
	assert_false(proto_put_answer(&p->out, &a));
	assert_int_equal(p->out.head.size, size);
	assert_true(proto_reply_valid(&p->out, &asked_names));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_arrives_whole_with_its_descriptors),
		TEST(nothing_and_the_end_are_told_apart),
		TEST(a_message_of_another_size_than_it_says_is_refused),
		TEST(a_descriptor_that_is_not_due_is_never_closed_by_us),
		TEST(more_descriptors_than_there_is_room_for_are_refused_and_closed),
		TEST(numbers_of_pages_rise_and_have_a_limit),
		TEST(requests_that_no_client_makes_are_refused),
		TEST(rows_that_are_not_as_asked_are_refused),
		TEST(names_that_are_not_as_asked_are_refused),
		TEST(calls_that_are_not_as_asked_are_refused),
		TEST(a_call_of_unknown_kind_is_refused),
		TEST(a_debug_file_of_unknown_fate_is_refused),
		TEST(a_file_is_wanted_for_lines_that_were_asked_for_only),
		TEST(inlined_names_lead_to_one_that_is_not),
		TEST(answers_come_back_as_they_were_put),
		TEST(a_full_reply_takes_no_part_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
