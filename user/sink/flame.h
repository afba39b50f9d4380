/* SPDX-License-Identifier: Apache-2.0 */
/* sink/flame.h - the samples of one or two profiles as one tree of calls, for outputs that draw it.
 * A function is a name, a module and a kind: frames that differ only in their address are one
 * function. Texts are clean (base/utf8.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "sink/sink.h"

#define FLAME_SIDES 2

enum {
	FLAME_LABEL = PROFILE_MARK + 1, /* the kind of a frame made from a label of --by */
	FLAME_KINDS,
};

struct flame_function {
	uint32_t text, module; /* in texts; "": not known */
	uint32_t file;         /* source file of one of its frames */
	uint32_t kind;         /* enum profile_class or FLAME_LABEL */
};

struct flame_node {
	uint32_t parent;   /* the root is its own parent */
	uint32_t depth;    /* the root has 0 */
	uint32_t function; /* the root has 0, without a meaning */
	uint32_t pad;
	uint64_t self[FLAME_SIDES];
	uint64_t total[FLAME_SIDES];
};

struct flame {
	struct strtab texts;
	VEC(struct flame_function) functions; /* sorted by text, module, kind */
	VEC(struct flame_node) nodes;         /* callers before callees, callees by name */
	VEC(uint32_t) leaves; /* the node of each sample, profile after profile; 0: it has none */
	uint32_t depth_max;
};

/* Takes one or two profiles. The frames of options' --by come first; options NULL: none. Values are
 * those of kind 0; samples of other kinds have nodes with all_kinds alone. 0 or -ENOMEM; call
 * flame_done in any case. */
int flame_build(struct flame *flame, const struct profile *const *profiles, size_t profiles_len,
	const struct sink_options *options, bool all_kinds);
void flame_done(struct flame *flame);

static inline const char *flame_text(const struct flame *flame, uint32_t text)
{
	return strtab_get(&flame->texts, text);
}
