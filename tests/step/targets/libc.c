/* SPDX-License-Identifier: Apache-2.0 */
/* libc.c - the C library's usual ways: callbacks, formatting, numbers, vector string functions of
 * many sizes, the allocator.
 * BUILD o2: gcc -O2
 * BUILD long-static: gcc -O2 -static
 * FROM main */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define NUMBERS 40
#define SIZE 8192

static volatile int calls;

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	calls++;
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sort(void)
{
	char *words[NUMBERS], text[NUMBERS][16];

	for (int i = 0; i < NUMBERS; i++) {
		snprintf(text[i], sizeof(text[i]), "%05d", i * 7919 % 10007);
		words[i] = text[i];
	}
	qsort(words, NUMBERS, sizeof(*words), compare);
	for (int i = 1; i < NUMBERS; i++) {
		if (strcmp(words[i - 1], words[i]) > 0)
			return 1;
	}
	return 0;
}

static int numbers(void)
{
	char text[128];
	double x;
	int n;

	snprintf(text, sizeof(text), "%.17g %a %Lf %'d %-20s|%lc", 1.0 / 3, 1e-300, 2.5L, 1234567,
		"left", L'x');
	x = strtod("0.33333333333333331483", NULL);
	if (sscanf(" 12 4e3 word", "%d %lf %120s", &n, &x, text) != 3)
		return 1;
	return n != 12 || x != 4000 || strtol("-0x7f", NULL, 16) != -127;
}

/* Each size class of the vector functions, at odd addresses, over an end of a page. */
static int strings(void)
{
	static const int sizes[] = { 0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100,
		127, 128, 129, 255, 256, 257, 300, 511, 600, 1000, 1500, 2300 };
	static char from[SIZE], to[SIZE];
	size_t sum = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int n = sizes[i];

		memset(from + 3, 'a', n);
		from[n + 3] = '\0';
		memcpy(to + 5, from + 3, n + 1);
		memmove(to + 6, to + 5, n);
		sum += strlen(from + 3) + (memchr(to, 'b', n) != NULL);
		sum += strchr(from + 3, 'z') || strrchr(from + 3, 'y') || strstr(from + 3, "ab");
		sum += memcmp(from + 3, to + 6, n) != 0;
		sum += strncmp(from + 3, to + 6, n) + strcasecmp(from + 3, to + 6) == 99;
		strcpy(to, from + 3);
		sum += strspn(to, "a") + strcspn(to, "z") == 1;
	}
	return sum == 0;
}

static int memory(void)
{
	void *kept[24] = { 0 };

	for (int i = 0; i < 200; i++) {
		int at = i * 31 % 24;

		kept[at] = i % 3 ? realloc(kept[at], (size_t)i * i * 13 % 5000 + 1) : NULL;
		if (i % 3 == 0)
			kept[at] = malloc(24);
	}
	kept[0] = realloc(kept[0], 1 << 20);
	for (int i = 0; i < 24; i++)
		free(kept[i]);
	return 0;
}

static int dates(void)
{
	time_t when = 1700000000;
	char text[64];
	struct tm tm;

	setlocale(LC_ALL, "C.UTF-8");
	gmtime_r(&when, &tm);
	return strftime(text, sizeof(text), "%A %d %B %Y", &tm) == 0 || mktime(&tm) == 0;
}

int main(void)
{
	int bad = sort() | numbers() | strings() | memory() | dates();

	printf("%d calls\n", calls);
	fflush(stdout);
	return bad;
}
