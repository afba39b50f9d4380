/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - the progress line: which terminals get one, and how much of it. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"

/* What a terminal of this kind and width gets from two lines of progress and an error. */
static void print(const char *term, unsigned short columns, char *out, size_t size)
{
	_cleanup_fd_ int ours = posix_openpt(O_RDWR | O_NOCTTY), saved = dup(STDERR_FILENO);
	_cleanup_fd_ int theirs = -1;
	struct winsize window = { .ws_row = 24, .ws_col = columns };
	struct log log = { 0 };
	ssize_t len;

	assert_true(ours >= 0 && saved >= 0);
	assert_int_equal(grantpt(ours), 0);
	assert_int_equal(unlockpt(ours), 0);
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	assert_true(theirs >= 0);
	assert_int_equal(ioctl(theirs, TIOCSWINSZ, &window), 0);
	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	dup2(theirs, STDERR_FILENO);
	log_progress(&log, "0123456789 %s", "\u00e4\u00e4\u00e4");
	log_progress(&log, "second");
	log_error(&log, "over");
	dup2(saved, STDERR_FILENO);
	/* The kernel passes on what was written when it has time, in one part or several. */
	for (size_t at = 0; at == 0 || out[at - 1] != '\n'; at += (size_t)len) {
		len = read(ours, out + at, size - 1 - at);
		assert_true(len > 0);
		out[at + (size_t)len] = '\0';
	}
}

static void progress_is_for_terminals_that_can_erase_and_fits_their_width(void **state)
{
	static const struct {
		const char *term;
		unsigned short columns;
		const char *says;
	} rows[] = {
		{ NULL, 80, "stoker: over\r\n" },
		{ "", 80, "stoker: over\r\n" },
		{ "dumb", 80, "stoker: over\r\n" },
		{ "xterm", 80,
			"0123456789 \u00e4\u00e4\u00e4\r\033[Ksecond\r\033[Kstoker: over\r\n" },
		{ "xterm", 0,
			"0123456789 \u00e4\u00e4\u00e4\r\033[Ksecond\r\033[Kstoker: over\r\n" },
		{ "xterm", 13, "0123456789 \r\033[Ksecond\r\033[Kstoker: over\r\n" },
		{ "xterm", 6, "01234\r\033[Ksecon\r\033[Kstoker: over\r\n" },
		{ "xterm", 1, "\r\033[K\r\033[Kstoker: over\r\n" },
	};
	char got[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print(rows[i].term, rows[i].columns, got, sizeof(got));
		if (strcmp(got, rows[i].says) != 0)
			fail_msg("TERM=%s, %u columns: %s", rows[i].term ? rows[i].term : "none",
				rows[i].columns, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_is_for_terminals_that_can_erase_and_fits_their_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
