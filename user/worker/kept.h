/* SPDX-License-Identifier: Apache-2.0 */
/* worker/kept.h - a worker's cache of symbols and perf maps between requests, under ids of the
 * client, within WORKER_KEPT_BYTES_MAX in total. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

enum kept_kind { KEPT_SYMBOLS, KEPT_MAP };

struct kept_entry {
	enum kept_kind kind;
	uint64_t id; /* less than 2^63 */
	void *what;  /* struct symbols or struct map_reader */
	size_t bytes;
	uint64_t used;
};

struct kept {
	VEC(struct kept_entry) all;
	struct hash by_key;
	uint64_t clock;
	size_t bytes;
	uint64_t evicted_len;
};

#define KEPT_INIT \
	{         \
		0 \
	}

void kept_done(struct kept *kept);
/* Marks it as used. NULL: not cached. Valid until the next call. */
struct kept_entry *kept_find(struct kept *kept, enum kept_kind kind, uint64_t id);
/* Stores `what` in place of an older entry. On -ENOMEM it is freed. */
int kept_put(struct kept *kept, enum kept_kind kind, uint64_t id, void *what, size_t bytes);
void kept_resize(struct kept *kept, struct kept_entry *entry, size_t bytes);
void kept_drop(struct kept *kept, enum kept_kind kind, uint64_t id);
/* Drops the least recently used entries until the limits are met; the latest one stays. */
void kept_trim(struct kept *kept, size_t bytes_max);
/* The same for symbols only. */
void kept_trim_symbols(struct kept *kept, size_t bytes_max);
