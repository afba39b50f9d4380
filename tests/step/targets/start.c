/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - from the dynamic linker's first instruction to exit(), with every first call of a
 * library's function by way of the linkage table: lazily, with the tables that linkers make.
 * BUILD lazy: gcc -O2 -Wl,-z,lazy
 * BUILD ibt: gcc -O2 -fcf-protection=full -Wl,-z,lazy,-z,ibtplt
 * BUILD gold: gcc -O2 -fuse-ld=gold -Wl,-z,lazy
 * BUILD lld: clang -O2 -fuse-ld=lld -Wl,-z,lazy
 * BUILD now: clang -O2 -Wl,-z,now
 * BUILD no-plt: gcc -O2 -fno-plt
 * BUILD static: gcc -O2 -static
 * BUILD static-pie: clang -O2 -static-pie
 * BUILD old-hash: gcc -O2 -no-pie -Wl,-z,lazy,--hash-style=sysv */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int order;

__attribute__((constructor)) static void before(void)
{
	order = order * 10 + 1;
}

__attribute__((destructor)) static void after(void)
{
	order = order * 10 + 3;
}

static void at_exit(void)
{
	if (order != 12)
		_exit(1);
}

int main(int argc, char **argv)
{
	char text[64] = "some text";

	order = order * 10 + 2;
	atexit(at_exit);
	if (atoi("12") + abs(-argc) + toupper('a') + (int)strlen(argv[0]) == 0)
		return 1;
	if (strtoul("77", NULL, 8) != 63 || !getenv("PATH") || getpid() == 0)
		return 2;
	return strtok(strcat(text, " more"), " ") != text;
}
