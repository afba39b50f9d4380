/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming.c - places are sorted by owner, so a batch is a run of them. A frame without name is
 * shown as `libfoo.so+0x1230`, where its function starts in the file, so that a function has one
 * name; where the start is unknown, and for `[kernel]+0xff`, it is the address. Code of JITs is
 * left to naming_jit.c, that of languages to naming_codes.c. */
#include "agent/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/jit_advice.h"
#include "agent/naming_batch.h"
#include "agent/naming_places.h"
#include "base/clock.h"
#include "language/cpython.h"
#include "jitmap/jit_tier.h"
#include "profile/jit_code.h"

/* A profile waits so long for source lines: a large program can have hundreds of megabytes. */
#define LINES_WAIT_NS (5 * NSEC_PER_SEC)

static const enum name_source elf_sources[] = {
	[ELF_SYM_SYMTAB] = NAME_SYMTAB,
	[ELF_SYM_DYNSYM] = NAME_DYNSYM,
	[ELF_SYM_DEBUG_FILE] = NAME_DEBUG_FILE,
	[ELF_SYM_DEBUG_DATA] = NAME_DEBUG_DATA,
	[ELF_SYM_PLT] = NAME_PLT,
	[ELF_SYM_GO] = NAME_GO,
	[ELF_SYM_R2R] = NAME_R2R,
};

/* A debug file that a worker may use. */
struct offered {
	struct debug_files *files;
	size_t at;
};

void naming_set(struct naming *n, const struct agent_options *options)
{
	n->demangle = options->demangle;
	n->keep_tiers = options->keep_tiers;
	n->keep_native = options->keep_native;
	n->keep_runs = options->evidence != NULL;
	n->lines = options->lines;
	n->spare = options->spare;
}

void naming_done(struct naming *n)
{
	vec_done(&n->places);
	vec_done(&n->runs);
	share_turns_done(&n->turns);
	vec_done(&n->place_at);
	hash_done(&n->place_ids);
	vec_done(&n->addresses);
	vec_done(&n->codes);
	vec_done(&n->asked);
	vec_done(&n->frame_ids);
	hash_done(&n->sets);
	hash_done(&n->frames_of);
	calls_done(&n->calls);
}

void naming_begin(struct naming *n, struct profile *profile, uint64_t until_ns, uint64_t at_ns)
{
	n->at_ns = at_ns;
	n->note.text[0] = '\0';
	n->profile = profile;
	n->until_ns = until_ns;
	n->lines_until_ns = n->lines ? clock_ns(CLOCK_MONOTONIC) + LINES_WAIT_NS : 0;
	n->places.len = n->place_at.len = n->frame_ids.len = 0;
	hash_clear(&n->place_ids);
	hash_clear(&n->sets);
	hash_clear(&n->frames_of);
	n->task = 0;
}

/* ---- one place ----------------------------------------------------------------------------- */

/* The name in the profile's strings. A JIT's tiers are one name unless they are to be kept apart.
 */
static int put_name(struct naming_batch *b, const char *name, uint32_t *id)
{
	bool strip = b->frame.class == PROFILE_JIT && !b->naming->keep_tiers && !b->own;
	int err = strtab_put(&b->naming->profile->strings, name,
		strip ? jit_tier_strip(name) : strlen(name), id);

	return err < 0 || b->own ? err : jit_code_guard(b->naming->profile, id);
}

static int put_language(
	struct naming_batch *b, const struct naming_place *place, struct profile_frame *frame)
{
	static const char *const languages[] = { [LANGUAGE_CPYTHON] = "cpython",
		[LANGUAGE_HOTSPOT] = "jvm" };
	const struct event_code *code =
		tally_find_code(b->naming->tally, (uint32_t)(place->address >> FRAME_PLACE_BITS));

	frame->address = 0;
	return code && code->language < ARRAY_SIZE(languages) && languages[code->language]
		? profile_string(b->naming->profile, languages[code->language], &frame->module)
		: 0;
}

static int put_frame(
	struct naming_batch *b, const struct naming_place *place, const struct worker_name *name)
{
	struct profile_frame frame = b->frame;
	uint32_t *id = vec_add(&b->naming->frame_ids);
	int err = id ? put_name(b, name->name, &frame.name) : -ENOMEM;

	frame.address = naming_address(place);
	if (err == 0 && frame.class == PROFILE_LANGUAGE)
		err = put_language(b, place, &frame);
	frame.line = name->line;
	if (name->inlined)
		frame.class = PROFILE_INLINED;
	if (err == 0 && name->path)
		err = profile_string(b->naming->profile, name->path, &frame.file);
	return err < 0 ? err : profile_frame(b->naming->profile, &frame, id);
}

/* The function is the last of the frames at one place: with it the place is named. */
int naming_put_named(
	struct naming_batch *b, struct naming_place *place, const struct worker_name *name,
	int32_t source)
{
	int err = put_frame(b, place, name);

	if (err < 0 || name->inlined)
		return err;
	place->first = b->first;
	place->len = (uint32_t)b->naming->frame_ids.len - b->first;
	place->source = source;
	b->first = (uint32_t)b->naming->frame_ids.len;
	return 0;
}

int naming_put_name(
	struct naming_batch *b, struct naming_place *place, const char *name, int32_t source)
{
	return naming_put_named(b, place, &(struct worker_name){ .name = name }, source);
}

/* Names a place that has no name by an address in the file; why comes later. */
static int set_start(
	struct naming_batch *b, struct naming_place *place, const struct worker_name *name)
{
	char text[OBJECT_NAME_LEN + 32];
	struct worker_name made = *name;
	uint64_t address = naming_address(place);

	made.name = text;
	snprintf(text, sizeof(text), "%s+0x%llx", b->where,
		(unsigned long long)(name->start <= address + 1 ? name->start : address));
	return naming_put_named(b, place, &made, -1);
}

/* Sets why places have no name, and names those by their address that have no start either. */
static int set_unnamed(struct naming_batch *b, const char *where, int32_t source)
{
	char text[OBJECT_NAME_LEN + 32];

	for (size_t i = 0; i < b->len; i++) {
		int err;

		if (b->places[i].source >= 0)
			continue;
		if (b->places[i].len > 0) {
			b->places[i].source = source;
			continue;
		}
		snprintf(text, sizeof(text), "%s+0x%llx", where,
			(unsigned long long)naming_address(&b->places[i]));
		err = naming_put_name(b, &b->places[i], text, source);
		if (err < 0)
			return err;
	}
	return 0;
}

int naming_on_name(void *ctx, size_t index, const struct worker_name *name)
{
	struct naming_batch *b = ctx;

	if (index >= b->len || name->source >= b->sources_len)
		return -EBADMSG;
	if (b->where && !name->inlined && name->name[0] == '\0')
		return set_start(b, &b->places[index], name);
	return naming_put_named(b, &b->places[index], name, (int32_t)b->sources[name->source]);
}

static int on_part(void *ctx, const struct debug_part *part)
{
	struct naming_batch *b = ctx;

	return objects_open_part(b->naming->objects, b->object, b->set, part);
}

/* ---- one batch ----------------------------------------------------------------------------- */

int naming_make_query(struct naming_batch *b, struct worker_query *query)
{
	struct naming *n = b->naming;

	n->addresses.len = 0;
	for (size_t i = 0; i < b->len; i++) {
		uint64_t *slot = vec_add(&n->addresses);

		if (!slot)
			return -ENOMEM;
		*slot = b->places[i].address;
	}
	*query = (struct worker_query){
		.addresses = n->addresses.data,
		.len = b->len,
		.demangle = n->demangle,
		.until_ns = n->until_ns,
		.lines_until_ns = n->lines_until_ns,
		.spare = n->spare,
	};
	return 0;
}

static int32_t object_unnamed_reason(const struct object *object)
{
	if (!object)
		return UNNAMED(UNNAMED_OBJECT);
	if (object->state == OBJECT_FAILED)
		return UNNAMED(UNNAMED_NO_FILE);
	if (object->names_status != WORKER_OK)
		return UNNAMED(UNNAMED_WORKER);
	return UNNAMED(object->symbols > 0 ? UNNAMED_NO_SYMBOL : UNNAMED_NO_SYMBOLS);
}

/* Debug files of our own root come first, then those of the set, then the others for everybody. */
static size_t list_debug_files(
	struct object *object, uint32_t set, struct offered out[WORKER_DEBUG_FILES_MAX])
{
	struct debug_files *common = &object->debug_files;
	struct debug_files *seen =
		set > 0 && set <= object->sets.len ? &object->sets.data[set - 1].files : NULL;
	size_t len = 0;

	for (size_t i = 0; i < common->own_len && len < WORKER_DEBUG_FILES_MAX; i++)
		out[len++] = (struct offered){ common, i };
	for (size_t i = 0; seen && i < seen->len && len < WORKER_DEBUG_FILES_MAX; i++)
		out[len++] = (struct offered){ seen, i };
	for (size_t i = common->own_len; i < common->len && len < WORKER_DEBUG_FILES_MAX; i++)
		out[len++] = (struct offered){ common, i };
	return len;
}

static int ask_object(struct naming_batch *b, struct object *object)
{
	struct worker_object asked = {
		.id = objects_names_id(object, b->set),
		.fd = object->fd,
		.written_ns = object->key.mtime_ns,
	};
	struct offered offered[WORKER_DEBUG_FILES_MAX];
	struct worker_symbols symbols = { 0 };
	struct worker_query query;
	int err = naming_make_query(b, &query);
	size_t len = list_debug_files(object, b->set, offered);

	b->object = object;
	query.open_part = on_part;
	asked.debug_fds_len = len;
	for (size_t i = 0; i < len; i++)
		asked.debug_fds[i] = offered[i].files->fds[offered[i].at];
	if (err == 0)
		err = worker_client_names(
			b->naming->worker, &asked, &query, naming_on_name, b, &symbols);
	if (symbols.status == WORKER_OK)
		for (size_t i = 0; i < len; i++)
			offered[i].files->fates[offered[i].at] = (uint8_t)symbols.debug[i];
	object->symbols = symbols.symbols;
	object->sources = symbols.sources;
	object->names_status = symbols.status;
	return err;
}

/* Which file the batch's frames are of. */
static int put_object(struct naming_batch *b, const struct object *object, const char *where)
{
	struct profile *profile = b->naming->profile;
	char build_id[BUILD_ID_HEX_SIZE] = "";
	struct profile_object of = { 0 };
	int err;

	if (object && object->build_id.len > 0)
		build_id_hex(&object->build_id, build_id);
	err = profile_string(
		profile, object && object->path && *object->path ? object->path : where, &of.path);
	if (err == 0)
		err = profile_string(profile, build_id, &of.build_id);
	return err < 0 ? err : profile_object(profile, &of, &b->frame.object);
}

/* Leaves out inlined functions of a place that run code, so that what they became part of stays. */
static void drop_inlined_interpreters(struct naming *n, struct naming_place *place)
{
	uint32_t *ids = n->frame_ids.data + place->first, len = 0;

	for (uint32_t i = 0; i < place->len; i++) {
		const struct profile_frame *frame = &n->profile->frames.data[ids[i]];

		if (i + 1 < place->len && cpython_runs_code(profile_text(n->profile, frame->name)))
			continue;
		ids[len++] = ids[i];
	}
	place->len = len;
}

/* Which places are of the machinery that runs a language's code, and not of what that called. */
static void find_interpreters(struct naming_batch *b)
{
	const struct profile *profile = b->naming->profile;

	for (size_t i = 0; i < b->len; i++) {
		struct naming_place *place = &b->places[i];
		const uint32_t *ids = b->naming->frame_ids.data + place->first;
		const struct profile_frame *frame = &profile->frames.data[ids[place->len - 1]];

		place->interpreter =
			place->source < 0 || cpython_runs_code(profile_text(profile, frame->name));
		if (!b->naming->keep_native)
			drop_inlined_interpreters(b->naming, place);
	}
}

static int name_files(struct naming_batch *b, uint64_t owner)
{
	struct object *object = objects_find(b->naming->objects, owner_object(owner));
	const char *where = object && object->name[0] ? object->name : "[unknown]";
	int err = profile_string(b->naming->profile, where, &b->frame.module);

	if (err == 0)
		err = put_object(b, object, where);
	b->frame.class = PROFILE_NATIVE;
	b->set = owner_set(owner);
	b->where = where;
	b->sources = elf_sources;
	b->sources_len = ARRAY_SIZE(elf_sources);
	if (err == 0 && object && object->state != OBJECT_FAILED)
		err = ask_object(b, object);
	if (err == 0)
		err = set_unnamed(b, where, object_unnamed_reason(object));
	if (err == 0 && object && (object->contents & WORKER_IS_CPYTHON))
		find_interpreters(b);
	return err;
}

static int name_kernel(struct naming_batch *b)
{
	struct naming *n = b->naming;
	struct kernel_name name;
	int err = 0;

	b->frame.class = PROFILE_KERNEL;
	for (size_t i = 0; i < b->len && err == 0; i++) {
		if (!kernel_names_find(n->kernel, b->places[i].address, &name))
			continue;
		err = profile_string(n->profile, name.module, &b->frame.module);
		if (err == 0)
			err = naming_put_name(b, &b->places[i], name.name, NAME_KALLSYMS);
	}
	b->frame.module = 0;
	return err < 0 ? err : set_unnamed(b, "[kernel]", UNNAMED(UNNAMED_KERNEL));
}

static int name_run(struct naming *n, const struct naming_run *run)
{
	struct naming_batch b = { .naming = n,
		.places = n->places.data + run->first,
		.len = run->len,
		.first = (uint32_t)n->frame_ids.len };
	uint64_t owner = b.places[0].owner;

	for (size_t i = 0; i < b.len; i++)
		b.places[i].source = -1;
	if (owner >> OWNER_KIND_SHIFT == FRAME_FILE)
		return name_files(&b, owner);
	if (owner >> OWNER_KIND_SHIFT == FRAME_KERNEL)
		return name_kernel(&b);
	if (owner >> OWNER_KIND_SHIFT == FRAME_CODE)
		return naming_codes(&b, owner & OWNER_ID_MASK);
	return naming_jit(&b, owner & OWNER_ID_MASK);
}

/* One account may have thousands of runs, so those of the same one are not looked up again. */
static void bring_forward(struct naming *n, size_t next)
{
	struct naming_run *runs = n->runs.data, was = runs[next];
	uint64_t turns = share_turns(&n->turns, was.account);
	size_t least = next;

	for (size_t i = next + 1; i < n->runs.len && turns > 0; i++) {
		uint64_t of = runs[i].account == runs[least].account
			? turns
			: share_turns(&n->turns, runs[i].account);

		if (of < turns) {
			turns = of;
			least = i;
		}
	}
	runs[next] = runs[least];
	runs[least] = was;
}

int naming_resolve(struct naming *n)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int err;

	err = naming_make_runs(n);
	for (size_t i = 0; i < n->runs.len && err == 0; i++) {
		uint64_t begin_ns = now_ns;

		bring_forward(n, i);
		err = name_run(n, &n->runs.data[i]);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		share_turns_charge(&n->turns, n->runs.data[i].account, now_ns - begin_ns, now_ns);
	}
	return err;
}

bool naming_is_interpreter(const struct naming *n, uint32_t id)
{
	return n->places.data[n->place_at.data[id]].interpreter;
}

bool naming_is_unnamed_jit(const struct naming *n, uint32_t id)
{
	const struct naming_place *place = &n->places.data[n->place_at.data[id]];

	return place->source < 0 && place->owner >> OWNER_KIND_SHIFT == FRAME_ANON;
}

uint32_t naming_frames(struct naming *n, uint32_t id, uint64_t weight, const uint32_t **ids)
{
	struct naming_place *place = &n->places.data[n->place_at.data[id]];

	place->samples += weight;
	*ids = n->frame_ids.data + place->first;
	return place->len;
}

static void count_unnamed(struct naming *n, const struct naming_place *place)
{
	struct object *object = place->owner >> OWNER_KIND_SHIFT == FRAME_FILE
		? objects_find(n->objects, owner_object(place->owner))
		: NULL;

	if (object)
		object->unnamed += place->samples;
}

void naming_count(struct naming *n, struct account *account)
{
	vec_each (&n->places, place) {
		if (place->samples == 0)
			continue;
		account->frames_total += place->samples;
		account->frames_inlined += place->samples * (place->len - 1);
		if (place->source >= 0) {
			account->frames_named += place->samples;
			account->frames_by_source[place->source] += place->samples;
		} else {
			account->frames_unnamed[-1 - place->source] += place->samples;
			count_unnamed(n, place);
		}
	}
	jit_advice_count(n, &account->unnamed_jit);
}
