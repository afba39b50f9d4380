/* SPDX-License-Identifier: Apache-2.0 */
/* files/callers.h - the pages of rows that the walk of a deferred sample may need. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct publish;

#define CALLERS_PAGES_MAX 256 /* for one sample */

/* Calls fn for the pages, still to be compiled, of all words of the stack copy that look like
 * return addresses: many of them are, and a walk that waits for one page at a time waits long.
 * mappings: of files by the ids of their objects, sorted by start. */
void callers_missing(const struct publish *publish, const struct event_deferred *deferred,
	const struct scan_mapping *mappings, size_t mappings_len,
	void (*fn)(void *ctx, uint32_t object, uint64_t page), void *ctx);
