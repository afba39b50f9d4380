/* SPDX-License-Identifier: Apache-2.0 */
/* make_store.h - a store in a folder of its own, and segments for it. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "store/segment.h"
#include "store/store.h"
#include "unit.h"

#define T0 (1800000000ULL * NSEC_PER_SEC) /* a full hour, UTC */
#define MINUTE (60 * NSEC_PER_SEC)
#define HOUR (60 * MINUTE)

static const char lines[] = "db;main;read 3\n"
			    "web;main;a b 2\n"
			    "web;main;c 40\n"
			    "web-2;main 5\n";

struct place {
	char path[64];
	struct store *store;
	uint64_t next_id;
};

static inline int setup(void **state)
{
	static struct place place;

	place = (struct place){ .path = "/tmp/stoker-store-XXXXXX", .next_id = 1 };
	*state = &place;
	return mkdtemp(place.path) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int teardown(void **state)
{
	struct place *place = *state;

	store_free(place->store);
	place->store = NULL;
	return nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline struct store_report open_store(struct place *place, enum store_mode mode)
{
	struct store_report report;
	struct why why;

	store_free(place->store);
	place->store = NULL;
	assert_int_equal(store_open(AT_FDCWD, place->path, mode, &place->store, &report, &why), 0);
	return report;
}

static inline void make(
	struct place *place, uint64_t start_ns, uint64_t len_ns, const char *text, struct buf *out)
{
	const struct segment_about about = { .host = "here",
		.by = "container,comm",
		.account = "{\"hz\": 19, \"ticks\": {\"expected\": 50, \"lost\": {\"x\": 1}}}",
		.id = place->next_id++,
		.start_ns = start_ns,
		.end_ns = start_ns + len_ns,
		.hz = 19 };

	assert_int_equal(
		segment_write(&about, (struct bytes){ (const uint8_t *)text, strlen(text) }, out),
		0);
}

static inline void put(struct place *place, uint64_t start_ns, const char *text)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct why why;

	make(place, start_ns, MINUTE, text, &bytes);
	assert_int_equal(store_put(place->store,
				 (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, &why),
		0);
}

/* The text of all groups, as zstdcat would give it. */
static inline void read_all(struct segment *s, struct buf *out)
{
	for (size_t i = 0; i < s->groups.len; i++)
		assert_int_equal(segment_read(s, i, out), 0);
}
