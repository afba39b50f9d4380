/* SPDX-License-Identifier: Apache-2.0 */
/* with_caps.c - runs a command with the capabilities of the agent's table and no other, as root of
 * a machine that has no capsh(1). Usage: with_caps COMMAND [ARG...] */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/caps.h"
#include "agent/privileges.h"

int main(int argc, char **argv)
{
	uint64_t keep = 0;

	for (size_t i = 0; i < PRIVILEGES_LEN; i++)
		keep |= CAPS_BIT(privileges[i].cap);
	caps_bound(keep);
	if (argc < 2 || caps_limit(keep) < 0) {
		fputs("with_caps: usage: with_caps COMMAND [ARG...], as root\n", stderr);
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 2;
}
