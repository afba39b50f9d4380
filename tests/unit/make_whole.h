/* SPDX-License-Identifier: Apache-2.0 */
/* make_whole.h - a profile that has something of all that the model holds. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "make_profile.h"
#include "profile/profile.h"

#define WHOLE_TIME_NS 5000000000ULL /* of its first tick */

static inline uint32_t whole_string(struct profile *p, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_string(p, text, &id), 0);
	return id;
}

static inline uint32_t whole_frame(struct profile *p, const char *name, uint64_t address,
	const char *module, const char *build_id, enum profile_class class)
{
	struct profile_frame frame = { .address = address, .class = class, .line = 40 };
	struct profile_object object;
	uint32_t id;

	frame.name = whole_string(p, name);
	frame.module = whole_string(p, module);
	frame.file = whole_string(p, class == PROFILE_NATIVE ? "src/main.c" : "");
	object.path = whole_string(p, module);
	object.build_id = whole_string(p, build_id);
	if (*build_id)
		assert_int_equal(profile_object(p, &object, &frame.object), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	return id;
}

/* Three free labels beside those of the process. */
static inline uint32_t whole_labels(struct profile *p, const char *comm, const char *route)
{
	const char *const rows[][2] = { { "container", "shop/web-1" }, { "route", route },
		{ "tenant", "blue" }, { "trace.id", "77" } };
	struct profile_labels set = { 0 };
	uint32_t id;

	make_labels(p, &set, comm, 7, 8);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(profile_labels_put(p, &set, rows[i][0], strlen(rows[i][0]),
					 rows[i][1], strlen(rows[i][1])),
			0);
	assert_int_equal(profile_labels(p, &set, &id), 0);
	return id;
}

/* Of `stacks` different ones, ticks of CPU time and values of waiting time. */
static inline void whole_samples(struct profile *p, uint32_t stacks)
{
	const uint32_t base[] = {
		whole_frame(p, "main", 0x1000, "web", "a0b1", PROFILE_NATIVE),
		whole_frame(p, "Shop.Cart::Add", 0, "", "", PROFILE_JIT),
		whole_frame(p, "handle", 0x2f00, "libweb.so.1", "c2d3", PROFILE_NATIVE),
		whole_frame(p, "do_futex", 0xffff, "vmlinux", "", PROFILE_KERNEL),
	};
	const uint32_t sets[] = { whole_labels(p, "web", "/cart"), whole_labels(p, "db", "/b") };

	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t frames[5] = { base[3], 0, base[2], base[1], base[0] }, stack;
		char name[32];

		snprintf(name, sizeof(name), "step_%u", i);
		frames[1] = whole_frame(p, name, 0x3000 + i * 7, "web", "a0b1", PROFILE_NATIVE);
		assert_int_equal(profile_stack(p, frames, 5, &stack), 0);
		assert_int_equal(profile_tick_kind(p, stack, sets[i % 2], 0, i % 3,
					 WHOLE_TIME_NS + (uint64_t)i * 997),
			0);
		assert_int_equal(
			profile_add_kind(p, stack, sets[1], 1, 50000000ULL + (uint64_t)i), 0);
	}
}

static inline void make_whole(struct profile *p, uint32_t stacks)
{
	struct profile_event event = { .time_ns = WHOLE_TIME_NS + 100, .duration_ns = 2000 };
	uint32_t wall;

	assert_int_equal(profile_init(p), 0);
	p->kinds[0].period_ns = 10000000;
	p->start_ns = 1800000000000000000;
	p->start_tick_ns = WHOLE_TIME_NS;
	p->duration_ns = 10000000000;
	p->account = whole_string(p, "{\"hz\": 99}");
	assert_int_equal(profile_kind(p, "wall", 4, &wall), 0);
	p->kinds[wall].unit = whole_string(p, PROFILE_NANOSECONDS);
	whole_samples(p, stacks);
	event.stack = 1;
	assert_int_equal(profile_event(p, &event, "gc pause"), 0);
	event = (struct profile_event){ .time_ns = WHOLE_TIME_NS + 50,
		.stack = PROFILE_NO_STACK, .labels = 1 };
	assert_int_equal(profile_event(p, &event, "restart"), 0);
	profile_sort(p);
}
