/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_units.c - walks the headers once to list the units. A requested unit gets its
 * abbreviations parsed and replaces the least recently used one. After a damaged header no later
 * unit can be found; those before it stay. */
#include "dwarf/dwarf_units.h"

#include <errno.h>
#include <string.h>

/* ---- lists ---------------------------------------------------------------------------------- */

static int list_units(
	struct dwarf_unit_list *list, const struct dwarf *dwarf, struct dwarf_work *work)
{
	struct dwarf_unit unit;
	uint64_t offset = 0;

	list->dwarf = dwarf;
	while (dwarf && dwarf_unit_header(dwarf, offset, &unit) == 0) {
		uint64_t *start = vec_add(&list->starts);

		if (!start)
			return -ENOMEM;
		if (!dwarf_work_spend(work, 32))
			return -ETIME;
		*start = offset;
		offset = unit.end;
	}
	return 0;
}

int dwarf_units_init(struct dwarf_units *units, const struct dwarf *main, struct dwarf_work *work)
{
	int err;

	*units = (struct dwarf_units){ 0 };
	err = list_units(&units->main, main, work);
	if (err == 0)
		err = list_units(&units->alt, main->alt, work);
	if (err < 0)
		dwarf_units_done(units);
	return err;
}

int dwarf_units_list_alt(
	struct dwarf_units *units, const struct dwarf *main, struct dwarf_work *work)
{
	units->alt.starts.len = 0;
	return list_units(&units->alt, main->alt, work);
}

static void drop(struct dwarf_units_entry *entry)
{
	dwarf_abbrevs_done(&entry->abbrevs);
	vec_done(&entry->containers);
	*entry = (struct dwarf_units_entry){ 0 };
}

void dwarf_units_done(struct dwarf_units *units)
{
	for (size_t i = 0; i < DWARF_UNITS_READY_MAX; i++)
		drop(&units->ready[i]);
	vec_done(&units->main.starts);
	vec_done(&units->alt.starts);
	vec_done(&units->splits);
	hash_done(&units->splits_by_id);
}

static bool find_start(const struct dwarf_unit_list *list, uint64_t offset, uint64_t *out)
{
	size_t low = 0, high = list->starts.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->starts.data[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		*out = list->starts.data[low - 1];
	return low > 0;
}

/* ---- units that are ready ------------------------------------------------------------------- */

static struct dwarf_units_entry *oldest(struct dwarf_units *units)
{
	struct dwarf_units_entry *found = &units->ready[0];

	for (size_t i = 1; i < DWARF_UNITS_READY_MAX; i++)
		if (units->ready[i].used < found->used)
			found = &units->ready[i];
	return found;
}

static struct dwarf_units_entry *find_ready(
	struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset)
{
	for (size_t i = 0; i < DWARF_UNITS_READY_MAX; i++) {
		struct dwarf_units_entry *entry = &units->ready[i];

		if (entry->used > 0 && entry->unit.dwarf == dwarf && offset >= entry->unit.start &&
			offset < entry->unit.end)
			return entry;
	}
	return NULL;
}

static int find_unit(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset,
	struct dwarf_split **split, struct dwarf_unit *out)
{
	uint64_t start;

	*split = NULL;
	if (dwarf == units->main.dwarf || dwarf == units->alt.dwarf) {
		if (!find_start(dwarf == units->main.dwarf ? &units->main : &units->alt, offset,
			    &start))
			return -ENOENT;
		return dwarf_unit_header(dwarf, start, out);
	}
	*split = dwarf_splits_at(units, dwarf, offset);
	if (!*split)
		return -ENOENT;
	return dwarf_unit_header(dwarf, (*split)->start, out);
}

static int join(struct dwarf_units *units, const struct dwarf_split *split, struct dwarf_work *work,
	struct dwarf_unit *unit)
{
	struct dwarf_unit skeleton;
	int err;

	if (split->skeleton == UINT64_MAX)
		return 0;
	err = dwarf_unit_header(units->main.dwarf, split->skeleton, &skeleton);
	if (err == 0)
		err = dwarf_unit_read(&skeleton, NULL, work);
	if (err == 0)
		dwarf_unit_join(unit, &skeleton);
	return err;
}

static int open_unit(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset,
	struct dwarf_work *work, struct dwarf_units_entry *out)
{
	struct dwarf_split *split;
	int err = find_unit(units, dwarf, offset, &split, &out->unit);

	if (err < 0)
		return err;
	if (offset >= out->unit.end)
		return -ENOENT;
	if (out->unit.format.version == 0)
		return -EBADMSG;
	if (split)
		memcpy(out->unit.sections, split->sections, sizeof(split->sections));
	err = dwarf_abbrevs_parse(out->unit.sections[DWARF_ABBREV], out->unit.abbrevs,
		&out->unit.format, 0, work, &out->abbrevs);
	if (err == 0)
		err = dwarf_unit_read(&out->unit, &out->abbrevs, work);
	return err == 0 && split ? join(units, split, work, &out->unit) : err;
}

int dwarf_units_get(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t offset,
	struct dwarf_work *work, struct dwarf_units_entry **out)
{
	struct dwarf_units_entry *entry = find_ready(units, dwarf, offset);
	struct dwarf_units_entry made = { 0 };
	int err;

	if (!entry) {
		err = open_unit(units, dwarf, offset, work, &made);
		if (err < 0) {
			drop(&made);
			return err;
		}
		entry = oldest(units);
		drop(entry);
		*entry = made;
	}
	entry->used = ++units->clock;
	*out = entry;
	return 0;
}

size_t dwarf_units_memory(const struct dwarf_units *units)
{
	size_t bytes = sizeof(*units) +
		(units->main.starts.cap + units->alt.starts.cap) * sizeof(uint64_t) +
		units->splits.cap * sizeof(*units->splits.data);

	for (size_t i = 0; i < DWARF_UNITS_READY_MAX; i++)
		bytes += dwarf_abbrevs_memory(&units->ready[i].abbrevs) +
			units->ready[i].containers.cap * sizeof(*units->ready[i].containers.data);
	return bytes;
}
