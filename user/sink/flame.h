/* SPDX-License-Identifier: Apache-2.0 */
/* sink/flame.h - the samples of one profile, or two beside each other, as one tree of calls, for
 * outputs that draw it. A function is a name, where it is from and its kind: frames that differ in
 * address alone are one. Texts are clean (base/utf8.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "sink/sink.h"

#define FLAME_SIDES 2

enum {
	FLAME_LABEL = PROFILE_MARK + 1, /* a kind: a frame that a label of --by makes */
	FLAME_KINDS,
};

struct flame_function {
	uint32_t text, module; /* texts; "" not known */
	uint32_t file;         /* source file of one of its frames */
	uint32_t kind;         /* enum profile_class or FLAME_LABEL */
};

struct flame_node {
	uint32_t parent;   /* of the root: itself */
	uint32_t depth;    /* of the root: 0 */
	uint32_t function; /* the root has none: 0, which means nothing there */
	uint32_t pad;
	uint64_t self[FLAME_SIDES];
	uint64_t total[FLAME_SIDES];
};

struct flame {
	struct strtab texts;
	VEC(struct flame_function) functions; /* sorted by text, module, kind */
	VEC(struct flame_node) nodes;         /* each before what it calls, callees by name */
	VEC(uint32_t) leaves;                 /* the node of each sample, profile behind profile */
	uint32_t depth_max;
};

/* One or two profiles; options: whose --by frames come first, NULL for none. 0 or -ENOMEM; call
 * flame_done in any case. */
int flame_build(struct flame *flame, const struct profile *const *profiles, size_t profiles_len,
	const struct sink_options *options);
void flame_done(struct flame *flame);

static inline const char *flame_text(const struct flame *flame, uint32_t text)
{
	return strtab_get(&flame->texts, text);
}
