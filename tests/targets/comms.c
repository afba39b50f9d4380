/* SPDX-License-Identifier: Apache-2.0 */
/* comms.c - busy processes whose names would break a careless line of text: one child a name.
 * Usage: comms [SECONDS]
 *
 * BUILD: -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static const char *const names[] = {
	"semi;colon;",
	"two words 42",
	"new\nline 7",
	"tab\there",
	"\xff\xfe\x80raw",
	"cut\xe2\x82",
	"\x1b[31mred",
	" blank ends ",
	"[truncated]",
	"\xc3\xa9t\xc3\xa9",
	"fake_[k]",
	"del\x7f",
	"c1\xc2\x85nel",
	"fifteen bytes\xe2\x82\xac",
	"x",
	"7up",
	"7x/8",
	"rs:action 13 qu",
	"",
	"#hash",
	":1 x",
	"-1 x",
	"a [001] b",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

NOINLINE uint64_t named_work(uint64_t x)
{
	return burn(x, 200000);
}

NOINLINE int run_child(const char *name, uint64_t end)
{
	uint64_t x = 1;

	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, 9);
	while (!is_past(end))
		x = named_work(x);
	return x == 0;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_in(number_arg(argc, argv, 1, 60));

	for (unsigned int i = 0; i < NAMES; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0)
			_exit(run_child(names[i], end));
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
