/* SPDX-License-Identifier: Apache-2.0 */
/* worker/kept.h - what a worker keeps from one request to the next: symbols and perf maps, each
 * under the id that the client gave it, within WORKER_KEPT_BYTES_MAX together. */
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
/* Counts as use. NULL: not kept. Good until the next call. */
struct kept_entry *kept_find(struct kept *kept, enum kept_kind kind, uint64_t id);
/* Takes `what`, in place of what was there before. On -ENOMEM it is freed. */
int kept_put(struct kept *kept, enum kept_kind kind, uint64_t id, void *what, size_t bytes);
void kept_resize(struct kept *kept, struct kept_entry *entry, size_t bytes);
void kept_drop(struct kept *kept, enum kept_kind kind, uint64_t id);
/* Drops what was not used for the longest time until the rest is within the limits; the one that
 * was used last stays. */
void kept_trim(struct kept *kept, size_t bytes_max);
/* The same of symbols alone. */
void kept_trim_symbols(struct kept *kept, size_t bytes_max);
