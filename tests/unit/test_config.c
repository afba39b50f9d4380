/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - the daemon's configuration: what is taken, and how what is not is refused. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/config.h"

static int read_bytes(const char *text, size_t len, struct config *config, struct why *why)
{
	char path[] = "/tmp/stoker-config-XXXXXX";
	int fd = mkstemp(path), err;
	FILE *file = fdopen(fd, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
	err = config_read(path, config, why);
	unlink(path);
	return err;
}

static int read_text(const char *text, struct config *config, struct why *why)
{
	return read_bytes(text, strlen(text), config, why);
}

static void an_empty_file_gives_the_defaults(void **state)
{
	struct config config, defaults;
	struct why why;

	(void)state;
	config_default(&defaults);
	assert_int_equal(read_text("; nothing\n\n", &config, &why), 0);
	assert_int_equal(config.hz, 19);
	assert_int_equal(config.interval_ns, 60 * NSEC_PER_SEC);
	assert_int_equal(config.memory_bytes, 32 << 20);
	assert_int_equal(config.cpu_permille, 10);
	assert_int_equal(config.keep_ns, 7 * 86400 * NSEC_PER_SEC);
	assert_string_equal(config.by, "container,pod,comm");
	assert_true(config.captures);
	assert_int_equal(config_jit(&config), CONFIG_JIT_NEVER);
	assert_memory_equal(&config, &defaults, sizeof(config));
}

static void keys_are_read_with_their_units(void **state)
{
	struct config config;
	struct why why;

	(void)state;
	assert_int_equal(read_text("[sample]\nhz = 99 ; a comment\ninterval=5\n"
				   "cpu = 0.5%\n[store]\nmax = 1.5G\nkeep = 36h\n"
				   "[http]\ncaptures = off\n[jit]\nenable = on-demand\n"
				   "[trap slow]\ncontainer = web\nbelow = 3%\nfor = 2s\n"
				   "[trap hot]\nmetric = pressure\nabove = 80%\ncooldown = 1m\n",
				 &config, &why),
		0);
	assert_int_equal(config.hz, 99);
	assert_int_equal(config.interval_ns, 5 * NSEC_PER_SEC);
	assert_int_equal(config.cpu_permille, 5);
	assert_int_equal(config.bytes_max, 3ULL << 29);
	assert_int_equal(config.keep_ns, 36 * 3600 * NSEC_PER_SEC);
	assert_false(config.captures);
	assert_int_equal(config_jit(&config), CONFIG_JIT_ON_DEMAND);
	assert_int_equal(config.traps.len, 2);
	assert_string_equal(config.traps.all[0].name, "slow");
	assert_string_equal(config.traps.all[0].container, "web");
	assert_int_equal(config.traps.all[0].below, 30);
	assert_int_equal(config.traps.all[0].above, 0);
	assert_int_equal(config.traps.all[1].metric, RULE_PRESSURE);
	assert_int_equal(config.traps.all[1].above, 800);
	assert_int_equal(config.traps.all[1].cooldown_ns, 60 * NSEC_PER_SEC);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{ "[sample]\nhz = fast\n", ":2: hz = fast: expected a whole number" },
		{ "[sample]\nhz = 0\n", ":2: hz = 0 is too small: 1 is the least" },
		{ "[sample]\nhz = 1.5\n", ":2: hz = 1.5: expected a whole number" },
		{ "[sample]\nhz = 99999\n", ":2: hz = 99999 is too large: 10000 is the most" },
		{ "[sample]\ncpu = 0.05%\n", ":2: cpu = 0.05% is too small: 0.1% is the least" },
		{ "[sample]\nmemory = 15M\n", ":2: memory = 15M is too small: 16M is the least" },
		{ "[sample]\nmemory = 5G\n", ":2: memory = 5G is too large: 4G is the most" },
		{ "[sample]\n\nrate = 9\n", ":3: unknown key in [sample]: rate" },
		{ "[sampel]\nhz = 9\n", ":1: unknown section: [sampel]" },
		{ "hz = 9\n", ":1: hz is in no section; write [sample] above it" },
		{ "rate = 9\n", ":1: rate is in no section, and no known key" },
		{ "[sample]\ninterval = 5 parsecs\n", ":2: interval = 5 parsecs: expected a time" },
		{ "[store]\nmax = -1\n", ":2: max = -1: expected a size" },
		{ "[store]\nmax = 1e9\n", ":2: max = 1e9: expected a size" },
		{ "[store]\nkeep = 1.2.3d\n", ":2: keep = 1.2.3d: expected a time" },
		{ "[store]\npath =\n", ":2: path = : expected the path of a directory" },
		{ "[labels]\nby = comm,colour\n", ":2: by = comm,colour: expected container, pod" },
		{ "[labels]\nby = pid,pid\n", ":2: by = pid,pid: expected" },
		{ "[sample]\ntarget = some\n", ":2: target = some: expected all, or container" },
		{ "[sample]\ntarget = pod \n", ":2: target = pod: expected" },
		{ "[jit]\nenable = on\n",
			":2: enable = on: expected never, on-demand or always" },
		{ "[http]\ncaptures = no\n", ":2: captures = no: expected on or off" },
		{ "[store]\nnonsense\n", ":2: expected [section] or key = value" },
		{ "[store\npath = /x\n", ":1: expected [section] or key = value" },
		{ "[trap a]\nmetric = heat\n", ":2: metric = heat: expected cpu, pressure" },
		{ "[trap a]\nabove = 1%\npid = 4\ncomm = x\n", ":1: a pid is one process" },
		{ "[trap a]\nabove = 1%\ncomm = 0123456789abcdef\n",
			":3: comm = 0123456789abcdef is never found: the kernel keeps 15 bytes of "
			"a name; give its first 15" },
		{ "[trap a]\nabove = 1%\ncomm =\n",
			":3: comm = is empty: give a name, or remove the line" },
		{ "[trap a]\ncontainer = \nabove = 1%\n", ":2: container = is empty: give a name" },
		{ "[trap a]\npod =\nabove = 1%\n", ":2: pod = is empty: give a name" },
		{ "[trap a]\nabove = 1%\ncontaner = x\n",
			":3: unknown key in [trap a]: contaner; its keys are container, pod, " },
		{ "[trap a]\nabove = 1%\nmetric = pressure\npid = 4\n", ":1: the metric pressure" },
		{ "[trap a]\nmetric = blocked\nabove = 100%\n", ":1: blocked is never above" },
		{ "[sample]\nwall = 0\n[trap a]\nmetric = still\nabove = 1%\n",
			":3: the metric still needs visits" },
		{ "[trap a]\npid = -1\n", ":2: pid = -1: expected a whole number" },
		{ "[sample]\n[trap a]\nfor = 2s\n", ":2: a trap needs either above or below" },
		{ "[trap a]\nabove = 2%\nbelow = 1%\n", ":1: a trap needs either" },
		{ "[trap a/b]\nabove = 2%\n", ":1: a trap's name may only have letters" },
		{ "[trap a]\nmetric = throttled\nabove = 2%\n", ":1: the metric throttled" },
		{ "[trap a]\nbefore = 2m\n", ":2: before = 2m is too large: 1m is the most" },
		{ "[trap a]\nhz = 10001\n", ":2: hz = 10001 is too large: 10000 is the most" },
		{ "[trap a]\nfor = 500h\n", ":2: for = 500h is too large: 1h is the most" },
		{ "[store]\nkeep = 9999d\n", ":2: keep = 9999d is too large: 3650d is the most" },
		{ "[trap]\nabove = 2%\n", ":1: [trap] needs a name: [trap NAME]" },
		{ "[smaple]\n", ":1: unknown section: [smaple]" },
		{ "[sample]\n[trap a]\n", ":2: a trap needs either above or below" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config config = { .hz = 7 };
		struct why why = { "" };
		int err = read_text(rows[i].text, &config, &why);

		if (err != -EINVAL || !strstr(why.text, rows[i].says) || config.hz != 7)
			fail_msg("%s: %d, %s", rows[i].text, err, why.text);
	}
}

/* A crash may leave a file of NULs in the place of the one that was being written. */
static void a_nul_byte_is_refused_with_its_line(void **state)
{
#define ROW(text, line)                     \
	{                                   \
		text, sizeof(text) - 1, ":" #line ": a NUL byte" \
	}
	static const struct {
		const char *text;
		size_t len;
		const char *says;
	} rows[] = {
		ROW("\0", 1),
		ROW("\0\0\0\0", 1),
		ROW("[sample]\n\0hz = 9\n", 2),
		ROW("[sample]\nhz = 9\n\0\0\0", 3),
		ROW("[sample]\nhz = 9\0 9\n", 2),
		ROW("; a comment \0\n", 1),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config config = { .hz = 7 };
		struct why why = { "" };
		int err = read_bytes(rows[i].text, rows[i].len, &config, &why);

		if (err != -EINVAL || !strstr(why.text, rows[i].says) || config.hz != 7)
			fail_msg("row %zu: %d, %s", i, err, why.text);
	}
}

/* Of the file that is read now. */
static void a_reload_takes_values_and_takes_away_and_names_the_rest(void **state)
{
	_cleanup_(buf_done) struct buf fixed = BUF_INIT;
	struct config running, now;
	struct why why;

	(void)state;
	assert_int_equal(
		read_text("[store]\npath = /a\n[http]\ncaptures = on\n", &running, &why), 0);
	assert_int_equal(read_text("[sample]\nhz = 99\nwall = 0\ninterval = 5s\ncpu = 2%\n[store]\n"
				   "path = /b\nkeep = 2d\nmax = 1G\nhours = 2d\n[http]\n"
				   "captures = off\nlisten = off\n[jit]\nenable = always\n"
				   "[trap a]\nabove = 2%\n",
				 &now, &why),
		0);
	assert_int_equal(config_reload(&running, &now, &fixed), 0);
	assert_string_equal(buf_text(&fixed),
		"[sample] hz, [sample] wall, [store] path, [jit] enable, [http] listen");
	assert_int_equal(running.hz, 19);
	assert_int_equal(running.wall_hz, 2);
	assert_string_equal(running.store, "/a");
	assert_string_equal(running.listen, "127.0.0.1:9700");
	assert_int_equal(config_jit(&running), CONFIG_JIT_NEVER);
	assert_false(config_says(&running, "http", "listen"));
	assert_int_equal(running.interval_ns, 5 * NSEC_PER_SEC);
	assert_int_equal(running.cpu_permille, 20);
	assert_int_equal(running.keep_ns, 2 * 86400 * NSEC_PER_SEC);
	assert_int_equal(running.bytes_max, 1ULL << 30);
	assert_int_equal(running.whole_ns, 2 * 86400 * NSEC_PER_SEC);
	assert_int_equal(running.traps.len, 1);
	assert_false(running.captures);
	buf_clear(&fixed);
	config_default(&now);
	assert_int_equal(config_reload(&running, &now, &fixed), 0);
	assert_string_equal(buf_text(&fixed), "[store] path, [http] captures");
	assert_false(running.captures);
	assert_int_equal(running.traps.len, 0);
}

static void the_last_line_needs_no_newline(void **state)
{
	struct config config;
	struct why why;

	(void)state;
	assert_int_equal(read_text("[sample]\nhz = 9", &config, &why), 0);
	assert_int_equal(config.hz, 9);
}

/* libinih would take the rest for another line. */
static void a_line_that_is_too_long_is_refused(void **state)
{
	char text[1000] = "[store]\npath = /";
	struct config config;
	struct why why = { "" };

	(void)state;
	memset(text + strlen(text), 'x', 900);
	assert_int_equal(read_text(text, &config, &why), -EINVAL);
	assert_non_null(strstr(why.text, ":2: the line is too long"));
}

static void a_directory_is_no_configuration(void **state)
{
	struct config config;
	struct why why;

	(void)state;
	assert_int_equal(config_read("/tmp", &config, &why), -EISDIR);
	assert_string_equal(why.text, "cannot read /tmp: Is a directory");
}

static void a_fifo_is_no_configuration_and_nobody_waits_for_it(void **state)
{
	char folder[] = "/tmp/stoker-config-XXXXXX", path[64];
	struct config config;
	struct why why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20); /* ends a test that waits */
	assert_int_equal(config_read(path, &config, &why), -EINVAL);
	alarm(0);
	assert_non_null(strstr(why.text, "/fifo: it is not a regular file"));
	assert_int_equal(config_read("/dev/zero", &config, &why), -EINVAL);
	unlink(path);
	rmdir(folder);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct config config;
	struct why why;

	(void)state;
	assert_int_equal(config_read("/nowhere/stoker.ini", &config, &why), -ENOENT);
	assert_non_null(strstr(why.text, "/nowhere/stoker.ini"));
}

static void what_is_printed_can_be_read(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct config config, defaults;
	struct why why = { "" };

	(void)state;
	config_default(&defaults);
	config_print(out);
	fclose(out);
	if (read_text(text, &config, &why) < 0)
		fail_msg("%s in\n%s", why.text, text);
	memset(config.lines, 0, sizeof(config.lines)); /* which the defaults have not */
	assert_memory_equal(&config, &defaults, sizeof(config));
	free(text);
}

static void what_the_file_says_is_told_from_a_default(void **state)
{
	struct config config;
	struct why why;

	(void)state;
	assert_int_equal(read_text("[http]\nlisten = 127.0.0.1:9700\n", &config, &why), 0);
	assert_true(config_says(&config, "http", "listen"));
	assert_false(config_says(&config, "http", "token_file"));
	assert_false(config_says(&config, "http", "no such key"));
	config_default(&config);
	assert_false(config_says(&config, "http", "listen"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_gives_the_defaults),
		cmocka_unit_test(keys_are_read_with_their_units),
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(a_nul_byte_is_refused_with_its_line),
		cmocka_unit_test(a_reload_takes_values_and_takes_away_and_names_the_rest),
		cmocka_unit_test(the_last_line_needs_no_newline),
		cmocka_unit_test(a_line_that_is_too_long_is_refused),
		cmocka_unit_test(a_directory_is_no_configuration),
		cmocka_unit_test(a_fifo_is_no_configuration_and_nobody_waits_for_it),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(what_is_printed_can_be_read),
		cmocka_unit_test(what_the_file_says_is_told_from_a_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
