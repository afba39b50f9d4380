/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/naming.c - one function a kind of frame, each with its text for what has no name:
 * `libfoo.so+0x1234`, `[anon]+0x7f00`, `[kernel]+0xff`, never a bare number. */
#include "daemon/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sym/demangle.h"

/* What a name came from: enum name_source, or the reason for none as -1 - enum unnamed_reason. */
#define UNNAMED(reason) (-1 - (int)(reason))

static const enum name_source elf_sources[] = {
	[ELF_SYM_SYMTAB] = NAME_SYMTAB,
	[ELF_SYM_DYNSYM] = NAME_DYNSYM,
	[ELF_SYM_DEBUG_FILE] = NAME_DEBUG_FILE,
	[ELF_SYM_DEBUG_DATA] = NAME_DEBUG_DATA,
	[ELF_SYM_PLT] = NAME_PLT,
};

struct named {
	struct profile_frame frame;
	int source;
};

void naming_done(struct naming *naming)
{
	hash_done(&naming->known);
}

void naming_begin(struct naming *naming, struct profile *profile)
{
	naming->profile = profile;
	hash_clear(&naming->known);
}

static int put_text(struct naming *n, const char *text, uint32_t *id)
{
	_cleanup_(freep) char *clear = n->demangle ? demangle(text) : NULL;

	return profile_string(n->profile, clear ? clear : text, id);
}

static int put_place(struct naming *n, const char *where, uint64_t address, uint32_t *id)
{
	char text[OBJECT_NAME_LEN + 32];

	snprintf(text, sizeof(text), "%s+0x%llx", where, (unsigned long long)address);
	return profile_string(n->profile, text, id);
}

static int unnamed_reason_of(const struct object *object)
{
	struct elf_sym_stats stats;

	if (!object || object->state == OBJECT_FAILED)
		return UNNAMED(object ? UNNAMED_NO_FILE : UNNAMED_OBJECT);
	elf_sym_stats(object->symbols, &stats);
	return UNNAMED(stats.symbols > 0 ? UNNAMED_NO_SYMBOL : UNNAMED_NO_SYMBOLS);
}

static int name_file_frame(struct naming *n, uint64_t raw, struct named *out)
{
	uint64_t offset = raw & FRAME_OFFSET_MASK;
	uint32_t id = (uint32_t)((raw & FRAME_PAYLOAD_MASK) >> FRAME_OBJECT_SHIFT);
	const struct object *object = objects_get(n->objects, id);
	const char *where = object && object->name[0] ? object->name : "[unknown]";
	struct elf_name name;
	int err = profile_string(n->profile, where, &out->frame.module);

	out->frame.class = PROFILE_NATIVE;
	out->frame.address = offset;
	if (err < 0)
		return err;
	if (object && object->symbols && elf_sym_find(object->symbols, offset, &name)) {
		out->source = (int)elf_sources[name.source];
		return put_text(n, name.name, &out->frame.name);
	}
	out->source = unnamed_reason_of(object);
	return put_place(n, where, offset, &out->frame.name);
}

static int name_kernel_frame(struct naming *n, uint64_t raw, struct named *out)
{
	/* Kernel addresses are negative: the four bits that the kind took were ones. */
	uint64_t address = (raw & FRAME_PAYLOAD_MASK) | ~FRAME_PAYLOAD_MASK;
	struct kernel_name name;

	out->frame.class = PROFILE_KERNEL;
	out->frame.address = address;
	if (n->kernel && kernel_sym_find(n->kernel, address, &name)) {
		int err = profile_string(n->profile, name.module, &out->frame.module);

		out->source = NAME_KALLSYMS;
		return err < 0 ? err : profile_string(n->profile, name.name, &out->frame.name);
	}
	out->source = UNNAMED(UNNAMED_KERNEL);
	return put_place(n, "[kernel]", address, &out->frame.name);
}

static int name_jit_frame(
	struct naming *n, const struct tally_task *task, uint64_t raw, struct named *out)
{
	uint64_t address = raw & FRAME_PAYLOAD_MASK;
	struct perfmap *map = processes_map(n->processes, task->key.tgid, task->key.start_ns);
	const char *name;

	out->frame.class = PROFILE_JIT;
	out->frame.address = address;
	if (map && perfmap_find(map, address, &name)) {
		out->source = NAME_PERFMAP;
		return profile_string(n->profile, name, &out->frame.name);
	}
	out->source = UNNAMED(map ? UNNAMED_NOT_IN_MAP : UNNAMED_NO_MAP);
	return put_place(n, "[anon]", address, &out->frame.name);
}

static int name_frame(
	struct naming *n, const struct tally_task *task, uint64_t raw, struct named *out)
{
	switch (raw >> FRAME_KIND_SHIFT) {
	case FRAME_KERNEL:
		return name_kernel_frame(n, raw, out);
	case FRAME_FILE:
		return name_file_frame(n, raw, out);
	default:
		return name_jit_frame(n, task, raw, out);
	}
}

static void count(struct account *account, int source, uint64_t weight)
{
	account->frames_total += weight;
	if (source >= 0) {
		account->frames_named += weight;
		account->frames_by_source[source] += weight;
	} else {
		account->frames_unnamed[-1 - source] += weight;
	}
}

int naming_frame(struct naming *n, const struct tally_task *task, uint64_t raw, uint64_t weight,
	struct account *account, uint32_t *id)
{
	bool keep = raw >> FRAME_KIND_SHIFT != FRAME_ANON;
	uint64_t *known = keep ? hash_find(&n->known, raw) : NULL;
	struct named named = { 0 };
	int err;

	/* The source's position in a byte of its own beside the id: sources are few, and may be
	 * negative. */
	if (known) {
		*id = (uint32_t)*known;
		count(account, (int8_t)(*known >> 32), weight);
		return 0;
	}
	err = name_frame(n, task, raw, &named);
	if (err == 0)
		err = profile_frame(n->profile, &named.frame, id);
	if (err < 0)
		return err;
	count(account, named.source, weight);
	return keep ? hash_put(&n->known, raw, (uint64_t)(uint8_t)named.source << 32 | *id) : 0;
}
