/* SPDX-License-Identifier: Apache-2.0 */
/* What is switched on is noted first, and undone: at the end, or by the next one where the end
 * never came. A note is no more than a hint: what it says is compared with what is there. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <utime.h>

#include "base/clock.h"
#include "jit/jit_left.h"
#include "make_place.h"
#include "output/jit_sessions.h"
#include "runtime.h"

#define ACCOUNT 7

static char folder[PATH_MAX + 16];
static const char *notes[] = { folder, NULL };
static struct log quiet = { .quiet = true };

static int make_notes(void **state)
{
	int err = make_place(state);

	alarm(120);
	snprintf(folder, sizeof(folder), "%s/run/jit", (char *)*state);
	return err;
}

static unsigned int count_notes(void)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static void begin(struct jit_sessions *s)
{
	jit_sessions_begin(s, notes, &quiet);
	assert_true(s->folder >= 0);
}

/* Somebody who switches it on and is killed. */
static void be_killed(const struct runtime *r)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct jit_sessions s;

		begin(&s);
		jit_sessions_meet(&s, (uint32_t)r->pid, ACCOUNT);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(count_notes(), 1);
}

static unsigned int begin_and_end(void)
{
	struct jit_sessions s;
	uint64_t left;

	begin(&s);
	left = s.stats.left;
	jit_sessions_end(&s);
	return (unsigned int)left;
}

/* ---- the line ------------------------------------------------------------------------------- */

static const struct jit_note some = { .pid = 4711,
	.start_ticks = 99,
	.runtime = JIT_CONTROL_DOTNET,
	.ns_pid = 1,
	.uid = 1000,
	.had = 5,
	.since_ns = 10,
	.noted_ns = 20,
	.mount_ns = 4026531840,
	.dir_dev = 66,
	.dir_ino = 2,
	.dir = "/tmp/a b%\n\xff" };
static const struct jit_note_writer writer = { 12, 34, 56, 78 };

static void a_note_is_read_as_it_was_written(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct jit_note_writer by;
	struct jit_note note;

	(void)state;
	assert_int_equal(jit_note_print(&some, &writer, &text), 0);
	assert_int_equal(jit_note_parse(&text, &note, &by), 0);
	assert_memory_equal(&note, &some, sizeof(note));
	assert_int_equal(by.boot, writer.boot);
	assert_int_equal(by.pid_ns, writer.pid_ns);
	for (size_t len = 0; len < text.len; len++) {
		struct buf cut = { .data = text.data, .len = len };

		assert_int_equal(jit_note_parse(&cut, &note, &by), -EBADMSG);
	}
}

static void what_is_no_note_is_refused(void **state)
{
	static const char *const rows[] = { "", "\n", "2 1 1 1 1 1 1 1 0 1 1 1 1 1 /tmp\n",
		"1 1 1 0 1 1 1 1 0 1 1 1 1 1 /tmp\n",  /* no pid */
		"1 1 1 80000000 1 1 1 1 0 1 1 1 1 1 /tmp\n",
		"1 1 1 1 1 3 1 1 0 1 1 1 1 1 /tmp\n",  /* no such runtime */
		"1 1 1 1 1 1 0 1 0 1 1 1 1 1 /tmp\n",  /* no pid there */
		"1 1 1 1 1 1 1 ffffffff 0 1 1 1 1 1 /tmp\n",
		"1 1 1 1 1 1 1 1 10 1 1 1 1 1 /tmp\n", /* more files than there are */
		"1 1 1 1 1 1 1 1 0 2 1 1 1 1 /tmp\n",  /* noted before it began */
		"1 1 1 1 1 1 1 1 0 1 1 1 1 1 tmp\n", "1 1 1 1 1 1 1 1 0 1 1 1 1 1 \n",
		"1 1 1 1 1 1 1 1 0 1 1 1 1 1 /%00\n", "1 1 1 1 1 1 1 1 0 1 1 1 1 1 /%zz\n",
		"1 1 1 1 1 1 1 1 0 1 1 1 1 1 /tmp\n/tmp\n", "1 1 1 1 1 1 1 1 0 1 1 1 1 /tmp\n",
		"1 11111111111111111 1 1 1 1 1 1 0 1 1 1 1 1 /tmp\n" };
	struct jit_note_writer by;
	struct jit_note note;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf text = { .data = (char *)rows[i], .len = strlen(rows[i]) };

		print_message("row %zu\n", i);
		assert_int_equal(jit_note_parse(&text, &note, &by), -EBADMSG);
	}
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct jit_note_writer by;
	struct jit_note note;

	(void)state;
	assert_int_equal(buf_puts(&text, "1 1 1 1 1 1 1 1 0 1 1 1 1 1 /"), 0);
	for (int i = 0; i < 255; i++)
		assert_int_equal(buf_puts(&text, "%41"), 0);
	assert_int_equal(buf_putc(&text, '\n'), 0);
	assert_int_equal(jit_note_parse(&text, &note, &by), -EBADMSG);
}

/* ---- the folder ----------------------------------------------------------------------------- */

static bool count(void *ctx, const struct jit_note *note, bool ended)
{
	unsigned int *n = ctx;

	*n += note->pid == some.pid && ended;
	return true;
}

static void a_note_is_taken_once_its_writer_has_ended(void **state)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	struct jit_note_writer self, other, away;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(jit_note_self(&self), 0);
	other = away = self;
	other.start_ticks++; /* another process had our pid */
	away.start_ticks += 2;
	away.pid_ns++;
	assert_int_equal(jit_note_write(dir, &some, &self), 0);
	assert_int_equal(jit_note_write(dir, &some, &away), 0);
	assert_int_equal(jit_note_take(dir, &self, count, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(jit_note_remove(dir, &some, &self), 0);
	assert_int_equal(jit_note_write(dir, &some, &other), 0);
	assert_int_equal(jit_note_take(dir, &self, count, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(jit_note_remove(dir, &some, &other), -ENOENT);
	/* Pids of another pid namespace mean nothing here, until the next boot. */
	away.boot++;
	assert_int_equal(jit_note_write(dir, &some, &away), 0);
	assert_int_equal(jit_note_take(dir, &self, count, &n), 0);
	assert_int_equal(n, 2);
	close(dir);
}

static void what_lies_in_the_folder_and_is_no_note_is_removed_when_it_is_old(void **state)
{
	static const char *const names[] = { "1-2-3-4", "x.12345678.part", "1-2-3", "link", "new" };
	const struct utimbuf old = { 1000, 1000 };
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	struct jit_note_writer self;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(symlink("/etc/passwd", "5-6-7-8"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		close(open(names[i], O_CREAT | O_WRONLY, 0600));
		if (strcmp(names[i], "new") != 0)
			utime(names[i], &old);
	}
	assert_int_equal(mkfifo("7-7-7-7", 0600), 0);
	assert_int_equal(jit_note_self(&self), 0);
	assert_int_equal(jit_note_take(dir, &self, count, &n), 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(access(names[i], F_OK) == 0, strcmp(names[i], "new") == 0);
	close(dir);
}

static void a_folder_that_others_may_write_to_has_no_notes(void **state)
{
	struct jit_sessions s;

	(void)state;
	assert_int_equal(mkdir("run", 0755), 0);
	assert_int_equal(mkdir("run/jit", 0700), 0);
	assert_int_equal(chmod("run/jit", 0777), 0);
	jit_sessions_begin(&s, notes, &quiet);
	assert_int_equal(s.folder, -1);
	jit_sessions_end(&s);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void what_is_on_is_noted_until_it_is_off(void **state)
{
	struct jit_sessions s;
	struct runtime r;

	(void)state;
	runtime_start(&r, "dotnet", NULL);
	begin(&s);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	assert_int_equal(s.stats.asked, 1);
	assert_int_equal(s.stats.on, 1);
	assert_true(runtime_has(&r, "perf-%d.map"));
	assert_int_equal(count_notes(), 1);
	jit_sessions_end(&s);
	assert_false(runtime_has(&r, "perf-%d.map"));
	assert_int_equal(count_notes(), 0);
	runtime_stop(&r);
}

static void what_another_has_switched_on_is_asked_for_again_when_it_is_off(void **state)
{
	struct jit_control other;
	struct jit_sessions s;
	unsigned int removed;
	struct runtime r;
	struct why why;

	(void)state;
	runtime_start(&r, "dotnet-on", NULL);
	begin(&s);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	assert_int_equal(s.stats.on, 0);
	assert_int_equal(count_notes(), 0);
	jit_sessions_refresh(&s);
	assert_int_equal(s.all.len, 1);
	assert_int_equal(s.stats.on, 0);
	assert_int_equal(jit_control_open(r.pid, &other, &why), 0);
	assert_int_equal(jit_control_disable(&other, &removed, &why), 0);
	jit_control_close(&other);
	jit_sessions_refresh(&s);
	assert_int_equal(s.stats.on, 1);
	assert_int_equal(s.stats.asked, 1);
	assert_int_equal(share_held(&s.places, ACCOUNT), 1);
	jit_sessions_end(&s);
	assert_int_equal(s.stats.on, 0);
	runtime_stop(&r);
}

static void who_refuses_is_counted_and_not_noted(void **state)
{
	struct jit_sessions s;
	struct runtime r;

	(void)state;
	runtime_start(&r, "dotnet-refuses", NULL);
	begin(&s);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	assert_int_equal(s.stats.failed, 1);
	assert_int_equal(s.stats.on, 0);
	assert_int_equal(count_notes(), 0);
	jit_sessions_end(&s);
	runtime_stop(&r);
}

static void a_process_that_ends_gives_its_place_back(void **state)
{
	struct jit_sessions s;
	char path[96];
	struct runtime r;

	(void)state;
	runtime_start(&r, "dotnet", NULL);
	begin(&s);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	kill(r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	snprintf(path, sizeof(path), "%s/perf-%d.map", r.dir, r.pid);
	jit_sessions_refresh(&s); /* its names are read after this */
	assert_int_equal(access(path, F_OK), 0);
	jit_sessions_refresh(&s);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(s.stats.on, 0);
	assert_int_equal(share_held(&s.places, ACCOUNT), 0);
	assert_int_equal(count_notes(), 0);
	jit_sessions_end(&s);
	runtime_stop(&r);
}

static void an_account_that_took_long_or_hung_is_not_asked(void **state)
{
	struct jit_sessions s;
	struct runtime r;

	(void)state;
	runtime_start(&r, "dotnet", NULL);
	begin(&s);
	assert_int_equal(share_charge(&s.spent.held, ACCOUNT, 2 * JIT_SESSIONS_SPENT_NS), 0);
	assert_int_equal(share_charge(&s.hung, ACCOUNT + 1, JIT_SESSIONS_HUNG_MAX), 0);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT + 1);
	assert_int_equal(s.stats.limited, 2);
	assert_int_equal(s.stats.asked, 0);
	jit_sessions_meet(&s, (uint32_t)r.pid, ACCOUNT + 2);
	assert_int_equal(s.stats.on, 1);
	jit_sessions_end(&s);
	runtime_stop(&r);
}

static void the_next_one_undoes_what_a_killed_one_left(void **state)
{
	static const char *const modes[] = { "dotnet", "jvm" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		char path[64];
		struct runtime r;

		print_message("row %zu: %s\n", i, modes[i]);
		runtime_start(&r, modes[i], NULL);
		be_killed(&r);
		snprintf(path, sizeof(path), "%s/perf-%d.map", i == 0 ? r.dir : "/tmp", r.pid);
		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(begin_and_end(), 1);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(count_notes(), 0);
		runtime_stop(&r);
	}
}

static void also_when_the_process_has_ended_since(void **state)
{
	char path[96];
	struct runtime r;

	(void)state;
	runtime_start(&r, "dotnet", NULL);
	be_killed(&r);
	kill(r.pid, SIGKILL);
	waitpid(r.pid, NULL, 0);
	snprintf(path, sizeof(path), "%s/perf-%d.map", r.dir, r.pid);
	assert_int_equal(begin_and_end(), 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_notes(), 0);
	runtime_stop(&r);
}

/* A note of a process that has ended, about a file that is there. */
static void clear_away(const char *name, uint64_t ago_s, uint64_t uid, uint64_t ino, bool gone)
{
	struct stat st, dir;
	struct jit_note note = { .pid = INT32_MAX,
		.runtime = JIT_CONTROL_DOTNET,
		.ns_pid = 4711,
		.uid = geteuid() + uid,
		.noted_ns = clock_ns(CLOCK_REALTIME) };
	struct why why;

	note.noted_ns -= ago_s * NSEC_PER_SEC;
	assert_int_equal(mkdir("maps", 0755), 0);
	close(open("maps/perf-4711.map", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(stat("maps", &dir), 0);
	note.dir_dev = dir.st_dev;
	note.dir_ino = dir.st_ino + ino;
	assert_non_null(realpath("maps", note.dir));
	print_message("%s\n", name);
	assert_int_equal(jit_left_undo(&note, true, &why), 0);
	assert_int_equal(stat("maps/perf-4711.map", &st) < 0, gone);
	(void)!unlink("maps/perf-4711.map");
	rmdir("maps");
}

static void only_what_the_note_is_about_is_removed(void **state)
{
	(void)state;
	clear_away("its own", 0, 0, 0, true);
	clear_away("one that is younger than the switch", 3600, 0, 0, false);
	clear_away("another user's", 0, 1, 0, false);
	clear_away("in another folder under that name", 0, 0, 1, false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_is_read_as_it_was_written),
		cmocka_unit_test(what_is_no_note_is_refused),
		cmocka_unit_test(a_path_that_is_too_long_is_refused),
		cmocka_unit_test_setup_teardown(
			a_note_is_taken_once_its_writer_has_ended, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			what_lies_in_the_folder_and_is_no_note_is_removed_when_it_is_old,
			make_notes, remove_place),
		cmocka_unit_test_setup_teardown(a_folder_that_others_may_write_to_has_no_notes,
			make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			what_is_on_is_noted_until_it_is_off, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			what_another_has_switched_on_is_asked_for_again_when_it_is_off, make_notes,
			remove_place),
		cmocka_unit_test_setup_teardown(
			who_refuses_is_counted_and_not_noted, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			a_process_that_ends_gives_its_place_back, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			an_account_that_took_long_or_hung_is_not_asked, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			the_next_one_undoes_what_a_killed_one_left, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			also_when_the_process_has_ended_since, make_notes, remove_place),
		cmocka_unit_test_setup_teardown(
			only_what_the_note_is_about_is_removed, make_notes, remove_place),
	};

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return runtime_serve(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
