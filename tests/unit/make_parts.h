/* SPDX-License-Identifier: Apache-2.0 */
/* make_parts.h - profiles made by hand part by part: addresses, modules, labels. */
#pragma once

#include "unit.h"

#include "profile/profile.h"

static inline uint32_t part_frame(struct profile *p, const char *name, const char *module,
	enum profile_class class, uint64_t address)
{
	struct profile_frame frame = { .class = class, .address = address };
	uint32_t id;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_string(p, module, &frame.module), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	return id;
}

/* A stack, leaf first. */
static inline uint32_t part_stack(struct profile *p, const uint32_t *frames, uint32_t len)
{
	uint32_t id;

	assert_int_equal(profile_stack(p, frames, len, &id), 0);
	return id;
}

static inline uint32_t part_labels(
	struct profile *p, const char *container, const char *comm, int32_t pid, int32_t tid)
{
	struct profile_labels labels = { 0 };
	uint32_t id;

	assert_int_equal(profile_labels_text(p, &labels, PROFILE_KEY_CONTAINER, container), 0);
	assert_int_equal(profile_labels_text(p, &labels, PROFILE_KEY_COMM, comm), 0);
	profile_labels_set_number(&labels, PROFILE_KEY_PID, pid);
	profile_labels_set_number(&labels, PROFILE_KEY_TID, tid);
	assert_int_equal(profile_labels(p, &labels, &id), 0);
	return id;
}
