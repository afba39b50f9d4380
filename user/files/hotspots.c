/* SPDX-License-Identifier: Apache-2.0 */
/* files/hotspots.c - a process is asked for words in rounds (language/hotspot_reading.h), by an
 * opener. It is met when it first runs code that no file has, which may be before its runtime has
 * filled in all of them. */
#include "files/hotspots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/share.h"
#include "base/vec.h"
#include "client/opener_call.h"
#include "files/file_time.h"
#include "files/objects.h"
#include "language/hotspot_reading.h"
#include "sampler/code_heaps.h"
#include "sampler/file_key.h"

struct described {
	struct hotspot_key key;
	uint64_t serial, account;
	struct mappings_library jvm;
	struct java_layout layout;
};

/* A JVM runs its own code some ms before all its tables say where that is. */
#define STARTING_FIRST_NS (2 * NSEC_PER_MSEC)
#define STARTING_LAST_NS (4 * NSEC_PER_SEC) /* the last try is after so long a pause */

struct starting {
	uint64_t serial, account;
	struct opener_process process;
	struct mappings_library jvm;
	struct object_key key; /* of the library's file, */
	bool has_key;          /* if it is known yet */
	uint64_t next_ns, pause_ns; /* CLOCK_MONOTONIC */
};

struct hotspots {
	struct objects *objects;
	struct sampler *sampler;
	struct opener_call *call;
	VEC(struct described) all;
	VEC(struct starting) starting;
	struct hash by_serial; /* index in all */
	struct share places;
	uint64_t refused;
};

int hotspots_new(struct objects *objects, struct sampler *sampler, struct opener_call *call,
	struct hotspots **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	**out = (struct hotspots){ .objects = objects, .sampler = sampler, .call = call };
	return 0;
}

void hotspots_free(struct hotspots *h)
{
	if (!h)
		return;
	vec_done(&h->all);
	vec_done(&h->starting);
	hash_done(&h->by_serial);
	share_done(&h->places);
	free(h);
}

static int read_all(struct hotspots *h, const struct opener_process *process,
	struct hotspot_reading *reading)
{
	uint64_t addresses[HOTSPOT_WORDS_MAX], words[HOTSPOT_WORDS_MAX];
	uint32_t len;
	int err = 0;

	while (err == 0 && (len = hotspot_wants(reading, addresses)) > 0) {
		err = opener_call_words(h->call, process, addresses, len, words);
		if (err == 0 && !hotspot_takes(reading, words, len))
			err = -ENOTSUP;
	}
	return err;
}

static int keep(struct hotspots *h, const struct described *described, const struct hotspot *made)
{
	struct described *slot;
	bool charged = false;
	int err;

	if (share_refuses(&h->places, described->account, 1, HOTSPOTS_MAX)) {
		h->refused++;
		return -ENOSPC;
	}
	err = code_heaps_put(h->sampler, &described->key, made);
	slot = err == 0 ? vec_add(&h->all) : NULL;
	charged = slot && share_charge(&h->places, described->account, 1) == 0;
	if (err == 0 && (!charged ||
				hash_put(&h->by_serial, described->serial, h->all.len - 1) < 0)) {
		if (charged)
			share_return(&h->places, described->account, 1);
		code_heaps_drop(h->sampler, &described->key);
		h->all.len -= slot != NULL;
		return -ENOMEM;
	}
	if (err == 0)
		*slot = *described;
	return err;
}

/* The file is known by the kernel's own inode, as a tick knows it: the numbers in a list of
 * mappings can be those of another file, and anyone can make a file with such numbers. */
static int read_key(struct hotspots *h, struct starting *s)
{
	const struct opener_mapping mapping = {
		s->process, .vm_start = s->jvm.start, .vm_end = s->jvm.end, .ino = s->jvm.ino
	};
	struct opener_found found;
	int err;

	if (s->has_key)
		return 0;
	err = opener_call_mapped(h->call, &mapping, &found);
	if (err < 0)
		return err;
	err = file_key_read(h->sampler, found.fd, &s->key);
	fd_close(&found.fd);
	s->has_key = err == 0;
	return err;
}

/* 0: it is described now; -EAGAIN: its library has not been read; -ENOTSUP: it cannot be described
 * as it is; else it will not be. */
static int describe(struct hotspots *h, struct starting *s)
{
	struct described described = { { s->process.start_ns, (uint32_t)s->process.pid, 0 },
		s->serial, s->account, s->jvm, { 0 } };
	struct hotspot_reading reading = {
		.facts = read_key(h, s) == 0 ? objects_hotspot(h->objects, &s->key) : NULL,
		.base = s->jvm.start - s->jvm.file_offset,
	};
	int err;

	if (!reading.facts)
		return -EAGAIN;
	err = read_all(h, &s->process, &reading);
	described.layout = reading.layout;
	return err < 0 ? err : keep(h, &described, &reading.made);
}

/* True: it is over, whatever came of it. The process pays for the waiting, too: its memory may be a
 * file that answers slowly. */
static bool try(struct hotspots *h, struct starting *s, uint64_t now_ns)
{
	struct file_time *time = objects_time(h->objects);
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = -EAGAIN;

	if (!file_time_owes(time, s->account, now_ns)) {
		err = describe(h, s);
		file_time_charge(time, s->account, clock_ns(CLOCK_MONOTONIC) - begun_ns);
	}
	s->next_ns = now_ns + s->pause_ns;
	s->pause_ns += s->pause_ns / 4;
	return (err != -EAGAIN && err != -ENOTSUP) || s->pause_ns > STARTING_LAST_NS;
}

static void drop(struct hotspots *h, uint64_t serial)
{
	const uint64_t *found = hash_find(&h->by_serial, serial);
	size_t at = found ? *found : 0;

	for (size_t i = h->starting.len; i-- > 0;)
		if (h->starting.data[i].serial == serial)
			h->starting.data[i] = h->starting.data[--h->starting.len];
	if (!found)
		return;
	code_heaps_drop(h->sampler, &h->all.data[at].key);
	share_return(&h->places, h->all.data[at].account, 1);
	hash_del(&h->by_serial, serial);
	h->all.data[at] = h->all.data[--h->all.len];
	if (at < h->all.len)
		*hash_find(&h->by_serial, h->all.data[at].serial) = at;
}

static bool same_library(const struct mappings_library *a, const struct mappings_library *b)
{
	return a->start == b->start && a->file_offset == b->file_offset && a->ino == b->ino &&
		a->dev == b->dev;
}

/* The library with which the process is known; NULL: none. */
static const struct mappings_library *known_library(const struct hotspots *h, uint64_t serial)
{
	const uint64_t *found = hash_find(&h->by_serial, serial);

	if (found)
		return &h->all.data[*found].jvm;
	vec_each (&h->starting, s)
		if (s->serial == serial)
			return &s->jvm;
	return NULL;
}

void hotspots_meet(struct hotspots *h, uint64_t serial, const struct opener_process *process,
	uint64_t account, const struct mappings_library *jvm)
{
	struct starting starting = { serial, account, *process, *jvm,
		.pause_ns = STARTING_FIRST_NS }, *slot;
	const struct mappings_library *known = known_library(h, serial);

	if (known && same_library(known, jvm))
		return;
	/* By exec it has become another JVM. */
	if (known)
		drop(h, serial);
	if (try(h, &starting, clock_ns(CLOCK_MONOTONIC)))
		return;
	slot = vec_add(&h->starting);
	if (slot)
		*slot = starting;
}

void hotspots_retry(struct hotspots *h, uint64_t now_ns)
{
	for (size_t i = h->starting.len; i-- > 0;) {
		struct starting *s = &h->starting.data[i];

		if (now_ns >= s->next_ns && try(h, s, now_ns))
			*s = h->starting.data[--h->starting.len];
	}
}

uint64_t hotspots_due_ns(const struct hotspots *h)
{
	uint64_t due_ns = CLOCK_NEVER_NS;

	vec_each (&h->starting, s)
		due_ns = clock_sooner(due_ns, s->next_ns);
	return due_ns;
}

void hotspots_drop(struct hotspots *h, uint64_t serial, uint32_t tgid)
{
	code_heaps_forget(h->sampler, tgid);
	drop(h, serial);
}

bool hotspots_has(const struct hotspots *h, uint64_t serial)
{
	return hash_find(&h->by_serial, serial) != NULL;
}

const struct java_layout *hotspots_layout(
	const struct hotspots *h, uint64_t serial, uint64_t *account)
{
	const uint64_t *found = hash_find(&h->by_serial, serial);

	if (!found)
		return NULL;
	*account = h->all.data[*found].account;
	return &h->all.data[*found].layout;
}

uint64_t hotspots_refused(const struct hotspots *h)
{
	return h->refused;
}
