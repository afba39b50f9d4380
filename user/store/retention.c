/* SPDX-License-Identifier: Apache-2.0 */
/* store/retention.c - age is measured by CLOCK_REALTIME, which can be set: a segment from the
 * future counts as new. */
#include "store/retention.h"

#include "base/clock.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

static uint64_t age_ns(const struct store_entry *entry, uint64_t now_ns)
{
	return now_ns > entry->end_ns ? now_ns - entry->end_ns : 0;
}

size_t retention_expired(const struct retention *r, const struct store *store, uint64_t now_ns)
{
	uint64_t bytes = store_bytes(store);
	size_t i = 0;

	for (; i < store_len(store); i++) {
		const struct store_entry *entry = store_entry(store, i);

		if (age_ns(entry, now_ns) <= r->keep_ns && bytes <= r->bytes_max &&
			store_len(store) - i <= r->segments_max)
			break;
		bytes -= entry->bytes;
	}
	return i;
}

uint64_t retention_interval_bytes(const struct retention *r, uint64_t interval_ns)
{
	uint64_t intervals = r->keep_ns / interval_ns + 1, bytes;

	bytes = r->bytes_max / (intervals < r->segments_max ? intervals : r->segments_max);
	return bytes > RETENTION_BYTES_MIN ? bytes : RETENTION_BYTES_MIN;
}

static bool go_together(const struct store_entry *a, const struct store_entry *b)
{
	return a->start_ns / HOUR_NS == b->start_ns / HOUR_NS && a->hz == b->hz && a->by == b->by;
}

/* By age, or as there are many: then not the last one, whose hour may not be over. */
static bool is_due(
	const struct retention *r, const struct store *store, uint64_t now_ns, size_t last)
{
	size_t len = store_len(store);

	return age_ns(store_entry(store, last), now_ns) > r->whole_ns ||
		(len > r->segments_max - r->segments_max / 4 && last + 1 < len);
}

bool retention_find_run(const struct retention *r, const struct store *store, uint64_t now_ns,
	struct retention_run *out)
{
	size_t first = 0;

	for (size_t i = 1; i <= store_len(store); i++) {
		bool same = i < store_len(store) &&
			go_together(store_entry(store, i - 1), store_entry(store, i));

		if (same)
			continue;
		if (i - first >= 2 && i - first <= SEGMENT_SOURCES_MAX &&
			is_due(r, store, now_ns, i - 1)) {
			*out = (struct retention_run){ first, i - first };
			return true;
		}
		first = i;
	}
	return false;
}
