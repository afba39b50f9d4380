/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_parts.c - requests each missing file once. The shared file is requested before the
 * first answer, because it contains names. For split units the package of all is requested first,
 * then each unit's own file when an address in it is met. */
#include "dwarf/dwarf_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* A file that cannot be read is done without. */
static int forgive(int err)
{
	return err == -ENOMEM || err == -ETIME ? err : 0;
}

static int set_alt(struct dwarf_parts *parts, struct image *image)
{
	int err = dwarf_init(image, &parts->alt);

	if (err == 0)
		parts->main.alt = &parts->alt;
	return err == -ENOMEM ? err : 0;
}

static int add_split(struct dwarf_parts *parts, struct image *image, struct dwarf_work *work)
{
	struct dwarf *made = parts->splits.len < DWARF_PARTS_MAX ? malloc(sizeof(*made)) : NULL;
	struct dwarf **slot;
	int err;

	if (!made)
		return parts->splits.len < DWARF_PARTS_MAX ? -ENOMEM : 0;
	err = dwarf_init(image, made);
	slot = err == 0 ? vec_add(&parts->splits) : NULL;
	if (!slot) {
		free(made);
		return err == 0 ? -ENOMEM : forgive(err);
	}
	*slot = made;
	return forgive(dwarf_splits_add(&parts->units, made, work));
}

int dwarf_parts_open(
	struct dwarf_parts *parts, const struct inlined_input *input, struct dwarf_work *work)
{
	int err;

	*parts = (struct dwarf_parts){ .asking = input->asking };
	err = dwarf_init(input->image, &parts->main);
	if (err < 0)
		return err;
	if (parts->main.sections[DWARF_INFO].len == 0)
		return -ENODATA;
	if (input->alt)
		err = set_alt(parts, input->alt);
	if (err == 0)
		err = dwarf_units_init(&parts->units, &parts->main, work);
	for (size_t i = 0; i < input->splits_len && err == 0; i++)
		err = add_split(parts, input->splits[i], work);
	if (err == 0)
		err = dwarf_splits_settle(&parts->units);
	if (err < 0)
		dwarf_parts_done(parts);
	else if (parts->asking && !input->alt)
		debug_part_alt(input->image, &parts->wanted);
	return err;
}

void dwarf_parts_done(struct dwarf_parts *parts)
{
	dwarf_units_done(&parts->units);
	vec_each (&parts->splits, split)
		free(*split);
	vec_done(&parts->splits);
	hash_done(&parts->asked);
}

/* False: it has a name that is too long, or none. */
static bool want(
	struct dwarf_parts *parts, const struct dwarf_unit *unit, enum debug_part_kind kind)
{
	struct bytes dir = dwarf_unit_text(unit, &unit->dir);
	struct bytes name = dwarf_unit_text(unit, &unit->dwo_name);

	if (kind == DEBUG_PART_PACKAGE)
		dir.len = name.len = 0;
	if (dir.len >= DEBUG_PART_TEXT_MAX || name.len >= DEBUG_PART_TEXT_MAX)
		return false;
	parts->wanted = (struct debug_part){ .kind = kind };
	if (dir.len > 0)
		memcpy(parts->wanted.dir, dir.data, dir.len);
	if (name.len > 0)
		memcpy(parts->wanted.name, name.data, name.len);
	return kind == DEBUG_PART_PACKAGE || name.len > 0;
}

int dwarf_parts_split(
	struct dwarf_parts *parts, const struct dwarf_unit *unit, struct dwarf_split **out)
{
	struct dwarf_split *split =
		unit->dwo_id ? dwarf_splits_find(&parts->units, unit->dwo_id) : NULL;
	int err;

	if (split)
		split->skeleton = unit->start;
	*out = split;
	if (split || !unit->dwo_id || !parts->asking)
		return 0;
	if (!parts->package_asked) {
		parts->package_asked = true;
		want(parts, unit, DEBUG_PART_PACKAGE);
		return -EAGAIN;
	}
	if (hash_find(&parts->asked, unit->dwo_id))
		return 0;
	err = hash_put(&parts->asked, unit->dwo_id, 1);
	if (err < 0 || parts->splits.len >= DWARF_PARTS_MAX)
		return err;
	if (want(parts, unit, DEBUG_PART_SPLIT))
		return -EAGAIN;
	parts->wanted.kind = DEBUG_PART_NONE;
	return 0;
}

int dwarf_parts_give(struct dwarf_parts *parts, struct image *image, struct dwarf_work *work)
{
	uint32_t kind = parts->wanted.kind;
	int err;

	parts->wanted.kind = DEBUG_PART_NONE;
	if (!image || kind == DEBUG_PART_NONE)
		return 0;
	if (kind == DEBUG_PART_ALT) {
		err = set_alt(parts, image);
		return err < 0 ? err : dwarf_units_list_alt(&parts->units, &parts->main, work);
	}
	err = add_split(parts, image, work);
	return err < 0 ? err : dwarf_splits_settle(&parts->units);
}

size_t dwarf_parts_memory(const struct dwarf_parts *parts)
{
	return dwarf_units_memory(&parts->units) +
		parts->splits.len * (sizeof(struct dwarf) + sizeof(struct dwarf *));
}
