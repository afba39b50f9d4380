/* SPDX-License-Identifier: Apache-2.0 */
/* plt.c - calls by way of the linkage table that are made for the first time and once more, with
 * the tables that linkers make.
 * BUILD lazy: gcc -O2 -Wl,-z,lazy
 * BUILD ibt: gcc -O2 -fcf-protection=full -Wl,-z,lazy,-z,ibtplt
 * BUILD ibt-now: gcc -O2 -fcf-protection=full -Wl,-z,now,-z,ibtplt
 * BUILD gold: gcc -O2 -fuse-ld=gold -Wl,-z,lazy
 * BUILD lld: clang -O2 -fuse-ld=lld -Wl,-z,lazy
 * BUILD now: clang -O2 -Wl,-z,now
 * BUILD no-plt: gcc -O2 -fno-plt
 * BUILD old-hash: gcc -O2 -no-pie -Wl,-z,lazy,--hash-style=sysv
 * FROM main */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sum;

/* Its last instruction is a jump to the table. */
__attribute__((noinline)) static unsigned long tail(const char *text)
{
	sum++;
	return strtoul(text, NULL, 8);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		char text[64] = "some text";

		sum += atoi("12") + abs(-argc) + toupper('a') + (int)strlen(argv[0]);
		if (tail("77") != 63 || !getenv("PATH") || getpid() == 0)
			return 2;
		if (strtok(strcat(text, " more"), " ") != text)
			return 3;
	}
	return sum == 0;
}
