/* SPDX-License-Identifier: Apache-2.0 */
/* rows_pages.c - compiles the rows of each file page by page and whole, and compares.
 *     rows_pages FILE...
 * A file that differs is a line. The last line is a sum:
 *     FILES files, WITH with an index, PAGES pages, EMPTY without functions, WRONG files differ
 * Exit 1 if a file differs. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "page_by_page.h"

struct sums {
	size_t files, indexed, pages, empty, wrong;
};

static void compare(const char *path, const void *data, size_t len, struct sums *sums)
{
	struct page_by_page result;
	struct image image;
	struct why why;

	if (image_init(&image, data, len, &why) < 0)
		return;
	if (page_by_page_compare(&image, 1 + sums->files % PAGE_BY_PAGE_BATCH, &result) == 0) {
		sums->files++;
		sums->indexed += result.indexed;
		sums->pages += result.pages;
		sums->empty += result.empty;
		sums->wrong += result.text[0] != '\0';
		if (result.text[0])
			printf("%s: %s\n", path, result.text);
	}
	image_done(&image);
}

static void look_at(const char *path, struct sums *sums)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return;
	compare(path, data, (size_t)st.st_size, sums);
	munmap(data, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	struct sums sums = { 0 };

	for (int i = 1; i < argc; i++)
		look_at(argv[i], &sums);
	printf("%zu files, %zu with an index, %zu pages, %zu without functions, %zu files differ\n",
		sums.files, sums.indexed, sums.pages, sums.empty, sums.wrong);
	return sums.wrong > 0;
}
