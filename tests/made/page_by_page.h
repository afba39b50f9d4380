/* SPDX-License-Identifier: Apache-2.0 */
/* page_by_page.h - are the rows of a file, compiled page by page, those of the whole table? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"

#define PAGE_BY_PAGE_BATCH 8

struct page_by_page {
	bool indexed; /* has an outline; else nothing was compared */
	size_t pages, empty;
	uint32_t differs; /* number of the first page that differs */
	char text[120];   /* what differs; "": nothing does */
};

/* batch: pages of one request, 1 to PAGE_BY_PAGE_BATCH. 0 or -errno of the whole table. */
int page_by_page_compare(struct image *image, size_t batch, struct page_by_page *out);
