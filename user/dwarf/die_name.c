/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/die_name.c - follows an instance to its abstract form and its declaration, maybe in other
 * units and files, until it finds a linkage name or the chain ends. A DIE has no link to its
 * parent, so a unit's namespaces and types are listed when a name without linkage is needed. That
 * is rare except in languages without namespaces, where it is skipped. */
#include "dwarf/die_name.h"

#include <errno.h>
#include <string.h>

#include "dwarf/scopes.h"

#define HOPS_MAX 16
#define NESTING_MAX 64
#define CONTAINERS_MAX (1U << 20)

enum name_attribute { NAME, LINKAGE, MIPS_LINKAGE, ORIGIN, SPECIFICATION, NAME_ATTRIBUTES };

static const uint16_t name_attributes[NAME_ATTRIBUTES] = {
	[NAME] = DW_AT_name,
	[LINKAGE] = DW_AT_linkage_name,
	[MIPS_LINKAGE] = DW_AT_MIPS_linkage_name,
	[ORIGIN] = DW_AT_abstract_origin,
	[SPECIFICATION] = DW_AT_specification,
};

/* ---- containers ----------------------------------------------------------------------------- */

static bool is_container(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
		tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
		tag == DW_TAG_interface_type;
}

struct lister {
	struct dwarf_units_entry *entry;
	struct dwarf_work *work;
	struct cursor c;
	uint32_t level;
	struct {
		uint32_t container, level;
	} open[NESTING_MAX];
	size_t open_len;
};

static void close_level(struct lister *l)
{
	l->level--;
	while (l->open_len > 0 && l->open[l->open_len - 1].level > l->level) {
		uint32_t container = l->open[--l->open_len].container;

		l->entry->containers.data[container].end = cursor_offset(&l->c);
	}
}

static int open_container(struct lister *l, uint64_t start, bool type)
{
	struct dwarf_container *container;

	if (l->open_len == NESTING_MAX || l->entry->containers.len == CONTAINERS_MAX)
		return 0;
	container = vec_add(&l->entry->containers);
	if (!container)
		return -ENOMEM;
	*container = (struct dwarf_container){
		.start = start,
		.end = l->entry->unit.end,
		.parent = l->open_len ? l->open[l->open_len - 1].container : UINT32_MAX,
		.type = type,
	};
	l->open[l->open_len].container = (uint32_t)(l->entry->containers.len - 1);
	l->open[l->open_len++].level = l->level + 1;
	return 0;
}

static int list_die(struct lister *l)
{
	const struct dwarf_abbrevs *abbrevs = &l->entry->abbrevs;
	uint64_t start = cursor_offset(&l->c);
	bool end, passed;
	const struct dwarf_abbrev *abbrev = dwarf_unit_die(abbrevs, &l->c, &end);
	int err = 0;

	if (end) {
		close_level(l);
		return 0;
	}
	if (!abbrev)
		return -EBADMSG;
	if (!dwarf_work_spend(l->work, abbrev->specs_len))
		return -ETIME;
	passed = scopes_pass(&l->entry->unit, abbrevs, abbrev, start, &l->c);
	if (abbrev->children && is_container(abbrev->tag))
		err = open_container(l, start, abbrev->tag != DW_TAG_namespace);
	l->level += abbrev->children && !passed;
	return err == 0 && l->c.bad ? -EBADMSG : err;
}

static int list_containers(struct dwarf_units_entry *entry, struct dwarf_work *work)
{
	struct lister l = { .entry = entry, .work = work };
	int err = 0;

	if (entry->containers_read)
		return 0;
	if (!dwarf_work_spend(work, entry->unit.end - entry->unit.start))
		return -ETIME;
	l.c = dwarf_unit_cursor(&entry->unit, entry->unit.dies);
	do
		err = list_die(&l);
	while (err == 0 && l.level > 0 && cursor_left(&l.c) > 0);
	if (err == -ENOMEM || err == -ETIME) {
		entry->containers.len = 0;
		return err;
	}
	entry->containers_read = true;
	return 0;
}

static uint32_t find_container(const struct dwarf_units_entry *entry, uint64_t die)
{
	size_t low = 0, high = entry->containers.len;
	uint32_t found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entry->containers.data[middle].start < die)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? (uint32_t)(low - 1) : UINT32_MAX;
	while (found != UINT32_MAX && entry->containers.data[found].end <= die)
		found = entry->containers.data[found].parent;
	return found;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int read_die(
	const struct dwarf_units_entry *entry, uint64_t die, struct dwarf_value v[NAME_ATTRIBUTES])
{
	struct cursor c = dwarf_unit_cursor(&entry->unit, die);
	const struct dwarf_abbrev *abbrev;
	bool end;

	if (die < entry->unit.dies)
		return -EBADMSG;
	abbrev = dwarf_unit_die(&entry->abbrevs, &c, &end);
	if (!abbrev)
		return -EBADMSG;
	dwarf_unit_pick(&entry->abbrevs, abbrev, &c, name_attributes, NAME_ATTRIBUTES, v);
	return c.bad ? -EBADMSG : 0;
}

static int put_bytes(struct buf *out, struct bytes text)
{
	return buf_put(out, text.data, text.len < DIE_NAME_MAX ? text.len : DIE_NAME_MAX);
}

static struct bytes literal(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

/* Empty: it has a name, in a file that we have not. */
static struct bytes container_name(
	const struct dwarf_units_entry *entry, const struct dwarf_container *container)
{
	struct dwarf_value v[NAME_ATTRIBUTES] = { 0 };

	read_die(entry, container->start, v);
	if (v[NAME].class != DWARF_NONE)
		return dwarf_unit_text(&entry->unit, &v[NAME]);
	return literal(container->type ? "(anonymous class)" : "(anonymous namespace)");
}

/* All of them or none. */
static int put_containers(
	const struct dwarf_units_entry *entry, uint32_t container, struct buf *out)
{
	size_t before = out->len;
	uint32_t chain[NESTING_MAX];
	size_t len = 0;
	int err = 0;

	for (; container != UINT32_MAX && len < NESTING_MAX;
		container = entry->containers.data[container].parent)
		chain[len++] = container;
	while (err == 0 && len-- > 0) {
		struct bytes text = container_name(entry, &entry->containers.data[chain[len]]);

		if (text.len == 0) {
			out->len = before;
			return 0;
		}
		err = put_bytes(out, text);
		if (err == 0)
			err = buf_puts(out, "::");
	}
	return err;
}

static bool has_containers(const struct dwarf_unit *unit)
{
	uint64_t language = unit->language.class == DWARF_NUMBER ? unit->language.u : 0;

	return language != DW_LANG_C89 && language != DW_LANG_C && language != DW_LANG_C99 &&
		language != DW_LANG_C11;
}

/* The last DIE of the way is where the function was declared, in its namespace. */
static int put_qualified(struct dwarf_units_entry *entry, uint64_t die, struct bytes name,
	struct dwarf_work *work, struct buf *out)
{
	size_t before = out->len;
	int err = 0;

	if (has_containers(&entry->unit)) {
		err = list_containers(entry, work);
		if (err == 0)
			err = put_containers(entry, find_container(entry, die), out);
	}
	if (err == 0)
		err = put_bytes(out, name);
	if (err < 0)
		out->len = before;
	return err;
}

int die_name(struct dwarf_units *units, const struct dwarf *dwarf, uint64_t die,
	struct dwarf_work *work, struct buf *out)
{
	struct bytes name = { 0 };
	struct dwarf_units_entry *entry = NULL;

	for (int hop = 0; hop < HOPS_MAX; hop++) {
		struct dwarf_value v[NAME_ATTRIBUTES];
		struct bytes linkage;
		int err = dwarf_units_get(units, dwarf, die, work, &entry);

		if (err == 0)
			err = read_die(entry, die, v);
		if (err < 0)
			return err == -ENOENT ? -EBADMSG : err;
		if (!dwarf_work_spend(work, 64))
			return -ETIME;
		linkage = dwarf_unit_text(&entry->unit, &v[LINKAGE]);
		if (linkage.len == 0)
			linkage = dwarf_unit_text(&entry->unit, &v[MIPS_LINKAGE]);
		if (linkage.len > 0)
			return put_bytes(out, linkage);
		if (name.len == 0)
			name = dwarf_unit_text(&entry->unit, &v[NAME]);
		if (!dwarf_unit_ref(&entry->unit, &v[ORIGIN], &dwarf, &die) &&
			!dwarf_unit_ref(&entry->unit, &v[SPECIFICATION], &dwarf, &die))
			break;
	}
	return name.len > 0 && entry ? put_qualified(entry, die, name, work, out) : 0;
}
