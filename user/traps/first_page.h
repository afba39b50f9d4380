/* SPDX-License-Identifier: Apache-2.0 */
/* traps/first_page.h - a bundle's first page, for a person: what fired, how busy its subject was
 * before and after, its hottest functions and threads, how its threads spent their time, and what
 * changed. An empty capture says so, and why. Makes no system call. */
#pragma once

#include "base/buf.h"
#include "traps/traps.h"

#define FIRST_PAGE "first.txt"
#define FIRST_PAGE_EARLIER_NS (600 * NSEC_PER_SEC)

struct first_page {
	const struct trap_capture *capture;
	const char *host;
	/* The same subject in the FIRST_PAGE_EARLIER_NS before it fired, at its own period; NULL:
	 * there is no store. The time before the firing that the capture has is compared then. */
	const struct profile *earlier;
};

/* Returns buf_err(out), or -ENOMEM. */
int first_page_put(const struct first_page *page, struct buf *out);
