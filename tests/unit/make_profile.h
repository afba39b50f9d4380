/* SPDX-License-Identifier: Apache-2.0 */
/* make_profile.h - profiles made by hand, from lines as folded has them. */
#pragma once

#include <string.h>

#include "profile/profile.h"
#include "unit.h"

static inline uint32_t make_frame(struct profile *p, const char *name, enum profile_class class)
{
	struct profile_frame frame = { .class = class };
	uint32_t id;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	return id;
}

/* The kind of a frame by its suffix, which is cut off. */
static inline enum profile_class make_class(char *name)
{
	size_t len = strlen(name);
	const char *end = len > 4 ? name + len - 4 : "";
	enum profile_class class = strcmp(end, "_[k]") == 0 ? PROFILE_KERNEL
		: strcmp(end, "_[j]") == 0                  ? PROFILE_JIT
		: strcmp(end, "_[i]") == 0                  ? PROFILE_INLINED
							    : PROFILE_NATIVE;

	if (class != PROFILE_NATIVE)
		name[len - 4] = '\0';
	return class;
}

static inline void make_labels(
	struct profile *p, struct profile_labels *labels, const char *comm, int pid, int tid)
{
	assert_int_equal(profile_labels_text(p, labels, PROFILE_KEY_COMM, comm), 0);
	profile_labels_set_number(labels, PROFILE_KEY_PID, pid);
	profile_labels_set_number(labels, PROFILE_KEY_TID, tid);
}

/* "root;middle_[j];leaf_[k]" of a process called comm. */
static inline void make_sample(
	struct profile *p, const char *comm, const char *stack, uint64_t count)
{
	struct profile_labels labels = { 0 };
	uint32_t frames[64], len = 0, stack_id, label_id;
	char text[512], *next = text, *name;

	assert_true(strlen(stack) < sizeof(text));
	strcpy(text, stack);
	while (*stack && (name = strsep(&next, ";"))) {
		enum profile_class class = make_class(name);

		assert_true(len < 64);
		frames[len++] = make_frame(p, name, class);
	}
	for (uint32_t i = 0; i < len / 2; i++) {
		uint32_t other = frames[len - 1 - i];

		frames[len - 1 - i] = frames[i];
		frames[i] = other;
	}
	make_labels(p, &labels, comm, 7, 8);
	assert_int_equal(profile_labels(p, &labels, &label_id), 0);
	assert_int_equal(profile_stack(p, frames, len, &stack_id), 0);
	assert_int_equal(profile_add(p, stack_id, label_id, count), 0);
}
