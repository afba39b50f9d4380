/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - from the dynamic linker's first instruction to exit(): what runs before main() and
 * behind it.
 * BUILD lazy: gcc -O2 -Wl,-z,lazy
 * BUILD static: gcc -O2 -static
 * BUILD static-pie: clang -O2 -static-pie */
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
