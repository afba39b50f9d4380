/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker says of files is what the same code says here, whatever the file. */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"
#include "client/lane.h"
#include "elf/image.h"
#include "unwind/rows_build.h"
#include "make_elf_symbols.h"
#include "worker/follower.h"
#include "worker/mapping.h"
#include "wire/proto.h"
#include "worker_client.h"
#include "worker_names.h"

static struct told told;
static struct names names;

static int setup(void **state)
{
	(void)state;
	told_open_with(&told, (struct worker_client_options){ 0 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	told_close(&told);
	names_clear(&names);
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void open_self_image(struct image *image, void **bytes, size_t *size)
{
	_cleanup_fd_ int fd = open_self();
	struct stat st;
	struct why why;

	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	*bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(*bytes, MAP_FAILED);
	assert_int_equal(image_init(image, *bytes, *size, &why), 0);
}

static void rows_of_this_program_are_as_compiled_here(void **state)
{
	_cleanup_fd_ int fd = open_self();
	struct unwind_rows *rows;
	struct build_id id;
	struct image image;
	struct why why;
	size_t size;
	void *bytes;

	(void)state;
	open_self_image(&image, &bytes, &size);
	assert_int_equal(unwind_rows_begin(&image, &rows, &why), 0);
	assert_int_equal(worker_client_rows(told.client, 7, fd), 0);
	assert_int_equal(worker_client_pending(told.client), 1);
	told_await(&told, 1);
	assert_int_equal(worker_client_pending(told.client), 0);
	assert_int_equal(told.rows[0].id, 7);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(told.size, rows->size);
	assert_memory_equal(told.bytes, rows->bytes, rows->size);
	if (rows->view.head->kind == UNWIND_ROWS_TABLE)
		assert_true(told.rows[0].eh_frame_bytes > 0);
	assert_int_equal(build_id_find(&image, &id), 0);
	assert_int_equal(told.rows[0].build_id.len, id.len);
	assert_memory_equal(told.rows[0].build_id.bytes, id.bytes, id.len);
	unwind_rows_free(rows);
	image_done(&image);
	munmap(bytes, size);
}

/* Large files have a worker of their own, so their turn is any. */
static const struct worker_rows *rows_of(uint64_t id)
{
	size_t i = 0;

	while (i < told.len && told.rows[i].id != id)
		i++;
	assert_true(i < told.len);
	return &told.rows[i];
}

static void files_of_no_use_are_told_by_kind(void **state)
{
	struct make_elf m;
	int fds[6], pipes[2];
	enum worker_status want[] = { WORKER_NOT_ELF, WORKER_NOT_ELF, WORKER_DAMAGED,
		WORKER_UNREADABLE, WORKER_UNREADABLE, WORKER_TOO_LARGE };

	(void)state;
	make_elf_init(&m);
	make_elf_finish(&m);
	memset(m.file.data + offsetof(Elf64_Ehdr, e_phoff), 0xff, 8);
	fds[0] = memory_file("garbage", 7);
	fds[1] = memory_file("", 0);
	fds[2] = memory_file(m.file.data, m.file.len);
	fds[3] = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fds[4] = pipes[0];
	fds[5] = memory_file("", 0);
	assert_int_equal(ftruncate(fds[5], (off_t)MAPPING_BYTES_MAX + 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		assert_int_equal(worker_client_rows(told.client, i, fds[i]), 0);
	told_await(&told, ARRAY_SIZE(fds));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct worker_object object = { .id = i, .fd = fds[i] };
		struct worker_query query = { .addresses = &(uint64_t){ 1 },
			.len = 1,
			.demangle = false,
			.until_ns = in_ns(LONG_NS) };
		struct worker_symbols symbols;

		print_message("row %zu\n", i);
		assert_int_equal(rows_of(i)->status, want[i]);
		assert_int_equal(rows_of(i)->rows_status, want[i]);
		assert_int_equal(worker_client_names(
					 told.client, &object, &query, on_name, &names, &symbols),
			0);
		assert_int_equal(symbols.status, want[i]);
		close(fds[i]);
	}
	assert_int_equal(told_stats(&told).restarts, 0);
	close(pipes[1]);
	make_elf_done(&m);
}

static void a_file_without_unwind_table_is_still_told_of(void **state)
{
	_cleanup_fd_ int fd = -1;
	struct make_elf m;

	(void)state;
	make_elf_init(&m);
	make_elf_section(&m, ".gnu_debuglink", SHT_PROGBITS, 0, "a.debug\0\x78\x56\x34\x12", 12);
	make_elf_finish(&m);
	fd = memory_file(m.file.data, m.file.len);
	assert_int_equal(worker_client_rows(told.client, 1, fd), 0);
	told_await(&told, 1);
	assert_int_equal(told.rows[0].status, WORKER_OK);
	assert_int_equal(told.rows[0].rows_status, WORKER_NO_DATA);
	assert_string_equal(told.rows[0].link.name, "a.debug");
	assert_int_equal(told.rows[0].link.crc, 0x12345678);
	assert_int_equal(told.rows[0].build_id.len, 0);
	make_elf_done(&m);
}

static void a_file_that_is_dropped_is_not_told_of(void **state)
{
	_cleanup_fd_ int fd = open_self();

	(void)state;
	kill(told_stats(&told).pids[0], SIGSTOP);
	for (uint64_t id = 0; id < 4; id++)
		assert_int_equal(worker_client_rows(told.client, id, fd), 0);
	worker_client_drop(told.client, 0); /* outstanding */
	worker_client_drop(told.client, 2); /* waiting */
	worker_client_drop_names(told.client, 1);
	assert_int_equal(worker_client_pending(told.client), 2);
	kill(told_stats(&told).pids[0], SIGCONT);
	told_await(&told, 2);
	assert_int_equal(told.rows[0].id, 1);
	assert_int_equal(told.rows[1].id, 3);
	assert_int_equal(worker_client_pending(told.client), 0);
}

static void a_full_queue_takes_no_more(void **state)
{
	/* Of large files fewer are with the worker at a time. */
	_cleanup_fd_ int fd = memory_file("x", 1);

	(void)state;
	kill(told_stats(&told).pids[0], SIGSTOP);
	/* A few are with the worker. */
	for (uint64_t id = 0; id < WORKER_QUEUE_MAX + 1 + LANE_AHEAD_MAX; id++)
		assert_int_equal(worker_client_rows(told.client, id, fd), 0);
	assert_int_equal(
		worker_client_pending(told.client), WORKER_QUEUE_MAX + 1 + LANE_AHEAD_MAX);
	assert_int_equal(worker_client_rows(told.client, 1, fd), -ENOSPC);
}

/* ---- names ---------------------------------------------------------------------------------- */

static enum worker_status ask(
	const struct worker_object *object, const uint64_t *at, size_t len, bool clear)
{
	struct worker_query query = {
		.addresses = at, .len = len, .demangle = clear, .until_ns = in_ns(LONG_NS)
	};
	struct worker_symbols symbols;

	names_clear(&names);
	assert_int_equal(
		worker_client_names(told.client, object, &query, on_name, &names, &symbols), 0);
	return symbols.status;
}

static size_t agreed(const struct elf_sym *sym, const uint64_t *at, size_t len)
{
	size_t found = 0;

	for (size_t i = 0; i < len; i++) {
		struct elf_name name = { .name = "" };

		found += elf_sym_find(sym, at[i], &name);
		assert_string_equal(name_at(&names, i), name.name);
		if (*name_at(&names, i)) { /* a stub has no name */
			assert_int_equal(names.start[i], name.start);
			assert_int_equal(names.source[i], name.source);
		}
	}
	return found;
}

static void names_of_this_program_are_as_found_here(void **state)
{
	static uint64_t at[10000];
	_cleanup_fd_ int fd = open_self();
	struct worker_object object = { .id = 3, .fd = fd };
	struct elf_sym *sym;
	struct image image;
	size_t size, found;
	void *bytes;

	(void)state;
	open_self_image(&image, &bytes, &size);
	assert_int_equal(elf_sym_load(&image, NULL, ELF_SYM_SYMTAB, &sym), 0);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = i * (size / ARRAY_SIZE(at));
	assert_int_equal(ask(&object, at, ARRAY_SIZE(at), false), WORKER_OK);
	found = agreed(sym, at, ARRAY_SIZE(at));
	assert_true(found > 100);
	assert_in_range(names.len, found, found + 1);
	assert_int_equal(ask(&object, at, 10, false), WORKER_OK);
	assert_int_equal(told_stats(&told).symbol_loads, 1);
	elf_sym_free(sym);
	image_done(&image);
	munmap(bytes, size);
}

static void a_file_without_symbols_has_the_starts_of_functions(void **state)
{
	static const uint64_t at[] = { MAKE_ELF_TEXT_OFFSET + 0x11, MAKE_ELF_TEXT_OFFSET + 0x14 };
	_cleanup_fd_ int fd = -1;
	struct worker_object object = { .id = 4 };
	struct make_elf m;

	(void)state;
	make_elf_init(&m);
	memcpy(m.file.data + MAKE_ELF_TEXT_OFFSET + 0x10, "\x31\xc0\xc3\x31\xc9\xc3", 6);
	make_elf_finish(&m);
	object.fd = fd = memory_file(m.file.data, m.file.len);
	assert_int_equal(ask(&object, at, ARRAY_SIZE(at), false), WORKER_OK);
	assert_int_equal(names.len, 2);
	assert_string_equal(name_at(&names, 0), "");
	assert_int_equal(names.start[0], MAKE_ELF_TEXT_OFFSET + 0x10);
	assert_int_equal(names.start[1], MAKE_ELF_TEXT_OFFSET + 0x13);
	make_elf_done(&m);
}

/* Of one file's symbols as much is made as is asked for, and in the end all. */
static void names_that_are_asked_for_bit_by_bit_are_the_same(void **state)
{
	_cleanup_fd_ int fd = open_self();
	struct worker_object object = { .id = 3, .fd = fd };
	uint64_t loads = 0, kept = 0;
	struct elf_sym *sym;
	struct image image;
	size_t size;
	void *bytes;

	(void)state;
	open_self_image(&image, &bytes, &size);
	assert_int_equal(elf_sym_load(&image, NULL, ELF_SYM_SYMTAB, &sym), 0);
	for (uint64_t at = 0; at < 100; at++) {
		uint64_t offsets[] = { at * (size / 100), (at * 37 % 100) * (size / 100) + 7 };

		assert_int_equal(ask(&object, offsets, ARRAY_SIZE(offsets), false), WORKER_OK);
		agreed(sym, offsets, ARRAY_SIZE(offsets));
		if (at == 0)
			kept = told_stats(&told).kept_bytes;
		if (at == 75)
			loads = told_stats(&told).symbol_loads;
	}
	assert_true(loads > 2 && loads < 50);
	assert_int_equal(told_stats(&told).symbol_loads, loads);
	assert_true(kept < told_stats(&told).kept_bytes / 8);
	elf_sym_free(sym);
	image_done(&image);
	munmap(bytes, size);
}

/* A file with n functions of 8 bytes each. */
static int file_of_functions(unsigned int n, size_t name_len, const char *first)
{
	char name[8192];
	struct make_elf m;
	int fd;

	make_elf_init(&m);
	for (unsigned int i = 0; i < n; i++) {
		memset(name, 'a', name_len);
		snprintf(name + name_len, 16, "_%u", i);
		make_elf_symbol(&m, i == 0 && first ? first : name,
			ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), MAKE_ELF_TEXT_INDEX, i * 8, 8);
	}
	make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	make_elf_finish(&m);
	fd = memory_file(m.file.data, m.file.len);
	make_elf_done(&m);
	return fd;
}

static void more_text_than_fits_one_reply_comes_whole(void **state)
{
	_cleanup_fd_ int fd = file_of_functions(200, 4000, NULL);
	struct worker_object object = { .id = 1, .fd = fd };
	uint64_t at[201];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = MAKE_ELF_TEXT_OFFSET + i * 8;
	assert_int_equal(ask(&object, at, ARRAY_SIZE(at), false), WORKER_OK);
	assert_int_equal(names.len, 200);
	for (size_t i = 0; i < 200; i++) {
		assert_true(strlen(name_at(&names, i)) > 4000);
		assert_int_equal(atoi(strrchr(name_at(&names, i), '_') + 1), i);
	}
	assert_null(names.text[200]);
	assert_true(told_stats(&told).requests > 200 * 4000 / PROTO_BYTES_MAX);
}

static void names_are_demangled_where_it_is_asked_for(void **state)
{
	_cleanup_fd_ int fd = file_of_functions(2, 1, "_ZN3foo3barEi");
	struct worker_object object = { .id = 1, .fd = fd };
	uint64_t at[] = { MAKE_ELF_TEXT_OFFSET };

	(void)state;
	assert_int_equal(ask(&object, at, 1, false), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "_ZN3foo3barEi");
	assert_int_equal(ask(&object, at, 1, true), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "foo::bar(int)");
}

static int refuse_name(void *ctx, size_t index, const struct worker_name *name)
{
	(void)index;
	(void)name;
	++*(int *)ctx;
	return -E2BIG;
}

static void an_error_of_the_callers_ends_the_call(void **state)
{
	_cleanup_fd_ int fd = file_of_functions(2, 1, NULL);
	struct worker_object object = { .id = 1, .fd = fd };
	uint64_t at[] = { MAKE_ELF_TEXT_OFFSET, MAKE_ELF_TEXT_OFFSET + 8 };
	struct worker_query query = {
		.addresses = at, .len = 2, .demangle = false, .until_ns = in_ns(LONG_NS)
	};
	struct worker_symbols symbols;
	int calls = 0;

	(void)state;
	assert_int_equal(
		worker_client_names(told.client, &object, &query, refuse_name, &calls, &symbols),
		-E2BIG);
	assert_int_equal(calls, 1);
	assert_int_equal(ask(&object, at, 2, false), WORKER_OK);
	assert_int_equal(names.len, 2);
}

static void an_id_that_was_dropped_may_become_another_file(void **state)
{
	_cleanup_fd_ int a = file_of_functions(1, 1, "one"), b = file_of_functions(1, 1, "two");
	struct worker_object object = { .id = 1, .fd = a };
	uint64_t at[] = { MAKE_ELF_TEXT_OFFSET };

	(void)state;
	assert_int_equal(ask(&object, at, 1, false), WORKER_OK);
	assert_int_equal(told_stats(&told).kept_len, 1);
	object.fd = b;
	assert_int_equal(ask(&object, at, 1, false), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "one");
	worker_client_drop(told.client, 1);
	worker_client_poll(told.client);
	assert_int_equal(ask(&object, at, 1, false), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "two");
	assert_int_equal(told_stats(&told).kept_len, 1);
}

/* ---- debug files ---------------------------------------------------------------------------- */

/* A file with one function of this name (NULL: none) and a build id of this byte. */
static int file_with_id(const char *function, unsigned char id)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[20];
	} note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0 } };
	struct make_elf m;
	int fd;

	memset(note.id, id, sizeof(note.id));
	make_elf_init(&m);
	make_elf_section(&m, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, &note, sizeof(note));
	if (function) {
		make_elf_symbol(&m, function, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			MAKE_ELF_TEXT_INDEX, 0, 8);
		make_elf_symtab(&m, ".symtab", SHT_SYMTAB);
	}
	make_elf_finish(&m);
	fd = memory_file(m.file.data, m.file.len);
	make_elf_done(&m);
	return fd;
}

static void the_first_debug_file_of_the_same_build_is_used(void **state)
{
	_cleanup_fd_ int mapped = file_with_id(NULL, 1), bad = memory_file("x", 1);
	_cleanup_fd_ int other = file_with_id("other", 2), right = file_with_id("right", 1);
	struct worker_object object = {
		.id = 1,
		.fd = mapped,
		.debug_fds = { bad, other, right, right },
		.debug_fds_len = 4,
	};
	uint64_t at[] = { MAKE_ELF_TEXT_OFFSET };
	struct worker_query query = {
		.addresses = at, .len = 1, .demangle = false, .until_ns = in_ns(LONG_NS)
	};
	struct worker_symbols symbols;

	(void)state;
	assert_int_equal(
		worker_client_names(told.client, &object, &query, on_name, &names, &symbols), 0);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(symbols.symbols, 1);
	assert_int_equal(symbols.debug_used, 2);
	assert_int_equal(symbols.debug[0], WORKER_DEBUG_SEEN + DEBUG_DAMAGED);
	assert_int_equal(symbols.debug[1], WORKER_DEBUG_SEEN + DEBUG_BUILD_ID);
	assert_int_equal(symbols.debug[2], WORKER_DEBUG_USED);
	assert_int_equal(symbols.debug[3], WORKER_DEBUG_NONE);
	assert_string_equal(name_at(&names, 0), "right");
	assert_int_equal(names.source[0], ELF_SYM_DEBUG_FILE);
}

static void a_file_without_symbols_is_told_from_one_that_lacks_the_address(void **state)
{
	_cleanup_fd_ int none = file_with_id(NULL, 1), some = file_with_id("some", 2);
	struct worker_query query = { .addresses = &(uint64_t){ 5 },
		.len = 1,
		.demangle = false,
		.until_ns = in_ns(LONG_NS) };
	struct worker_symbols symbols;

	(void)state;
	worker_client_names(told.client, &(struct worker_object){ .id = 1, .fd = none }, &query,
		on_name, &names, &symbols);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(symbols.symbols, 0);
	worker_client_names(told.client, &(struct worker_object){ .id = 2, .fd = some }, &query,
		on_name, &names, &symbols);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(symbols.symbols, 1);
	assert_int_equal(names.len, 0);
}

/* ---- maps ----------------------------------------------------------------------------------- */

static enum worker_status ask_map(int fd, const uint64_t *at, size_t len)
{
	struct worker_map map = { .id = 1, .fd = fd, .dump_fd = -1 };
	struct worker_query query = {
		.addresses = at, .len = len, .demangle = true, .until_ns = in_ns(LONG_NS)
	};
	struct worker_map_status status;

	names_clear(&names);
	assert_int_equal(
		worker_client_map_names(told.client, &map, &query, on_name, &names, &status), 0);
	return status.status;
}

static void a_map_is_followed_as_it_grows_shrinks_and_is_replaced(void **state)
{
	static const char first[] = "1000 10 one\n2000 10 _Z3twov\n30", more[] = "00 10 three\n";
	static const char anew[] = "1000 10 uno\n", other[] = "2000 10 altro\n";
	_cleanup_fd_ int fd = memory_file(first, strlen(first));
	_cleanup_fd_ int replaced = memory_file(other, strlen(other));
	uint64_t at[] = { 0x1008, 0x2000, 0x3000, 0x4000 };

	(void)state;
	assert_int_equal(ask_map(fd, at, 4), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "one");
	assert_string_equal(name_at(&names, 1), "_Z3twov");
	assert_int_equal(names.len, 2);
	assert_int_equal(fd_write_all(fd, more, strlen(more)), 0);
	assert_int_equal(ask_map(fd, at, 4), WORKER_OK);
	assert_string_equal(name_at(&names, 2), "three");
	assert_int_equal(names.len, 3);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, anew, strlen(anew), 0), strlen(anew));
	assert_int_equal(ask_map(fd, at, 4), WORKER_OK);
	assert_string_equal(name_at(&names, 0), "uno");
	assert_int_equal(names.len, 1);
	assert_int_equal(ask_map(replaced, at, 4), WORKER_OK);
	assert_string_equal(name_at(&names, 1), "altro");
	assert_int_equal(names.len, 1);
	worker_client_drop_map(told.client, 1);
}

static void a_large_map_is_read_in_several_requests(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	uint64_t last = 0;

	(void)state;
	while (text.len < FOLLOWER_FEED_BYTES + 1000) {
		last += 0x100;
		buf_printf(&text, "%llx 100 function_%0200d\n", (unsigned long long)last, 7);
	}
	fd = memory_file(text.data, text.len);
	assert_int_equal(ask_map(fd, &last, 1), WORKER_OK);
	assert_int_equal(names.len, 1);
	assert_int_equal(told_stats(&told).requests, 3);
}

static void a_map_that_is_no_file_is_told(void **state)
{
	_cleanup_fd_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(ask_map(fd, &(uint64_t){ 1 }, 1), WORKER_UNREADABLE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_of_this_program_are_as_compiled_here),
		TEST(files_of_no_use_are_told_by_kind),
		TEST(a_file_without_unwind_table_is_still_told_of),
		TEST(a_file_that_is_dropped_is_not_told_of),
		TEST(a_full_queue_takes_no_more),
		TEST(names_of_this_program_are_as_found_here),
		TEST(names_that_are_asked_for_bit_by_bit_are_the_same),
		TEST(a_file_without_symbols_has_the_starts_of_functions),
		TEST(more_text_than_fits_one_reply_comes_whole),
		TEST(names_are_demangled_where_it_is_asked_for),
		TEST(an_error_of_the_callers_ends_the_call),
		TEST(an_id_that_was_dropped_may_become_another_file),
		TEST(the_first_debug_file_of_the_same_build_is_used),
		TEST(a_file_without_symbols_is_told_from_one_that_lacks_the_address),
		TEST(a_map_is_followed_as_it_grows_shrinks_and_is_replaced),
		TEST(a_large_map_is_read_in_several_requests),
		TEST(a_map_that_is_no_file_is_told),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
