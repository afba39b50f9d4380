/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/dwarf_abbrev.c - compilers number abbreviations from 1 on, so a code is usually its index
 * in the table; other codes go through a hash. If all attributes have a fixed length, a DIE is
 * skipped in one step. Of duplicate codes the first counts. */
#include "dwarf/dwarf_abbrev.h"

#include <errno.h>

#include "dwarf/dwarf_const.h"
#include "dwarf/dwarf_form.h"

#define SPECS_MAX 1024 /* of one abbreviation */

void dwarf_abbrevs_done(struct dwarf_abbrevs *abbrevs)
{
	vec_done(&abbrevs->all);
	vec_done(&abbrevs->specs);
	hash_done(&abbrevs->by_code);
}

static uint16_t known(uint64_t number)
{
	return number > UINT16_MAX ? 0 : (uint16_t)number;
}

static int read_specs(struct cursor *c, struct dwarf_abbrevs *out, struct dwarf_abbrev *abbrev)
{
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
		int size = dwarf_form_size(known(form), &out->format);
		struct dwarf_spec *spec;

		if (c->bad || abbrev->specs_len == SPECS_MAX)
			return -EBADMSG;
		if (name == 0 && form == 0)
			return 0;
		spec = vec_add(&out->specs);
		if (!spec)
			return -ENOMEM;
		*spec = (struct dwarf_spec){ known(name), known(form), 0, implicit };
		abbrev->specs_len++;
		if (size < 0)
			abbrev->bytes = DWARF_ABBREV_VARIES;
		else if (abbrev->bytes != DWARF_ABBREV_VARIES)
			abbrev->bytes += (uint32_t)size;
	}
}

static int add(struct dwarf_abbrevs *out, const struct dwarf_abbrev *abbrev)
{
	struct dwarf_abbrev *slot;

	if (dwarf_abbrevs_find(out, abbrev->code))
		return 0;
	slot = vec_add(&out->all);
	if (!slot)
		return -ENOMEM;
	*slot = *abbrev;
	return abbrev->code == out->all.len
		? 0
		: hash_put(&out->by_code, abbrev->code, out->all.len - 1);
}

static int read_table(
	struct cursor *c, uint64_t last, struct dwarf_work *work, struct dwarf_abbrevs *out)
{
	for (;;) {
		struct dwarf_abbrev abbrev = { .code = cursor_uleb(c) };
		size_t start = cursor_offset(c);
		int err;

		if (c->bad)
			return -EBADMSG;
		if (abbrev.code == 0)
			return 0;
		abbrev.tag = known(cursor_uleb(c));
		abbrev.children = cursor_u8(c) != 0;
		abbrev.specs = (uint32_t)out->specs.len;
		err = read_specs(c, out, &abbrev);
		if (err == 0)
			err = add(out, &abbrev);
		if (err < 0 || abbrev.code == last)
			return err;
		/* A byte of it becomes some ten in memory, and is worth as much. */
		if (!dwarf_work_spend(work, 8 * (cursor_offset(c) - start)))
			return -ETIME;
	}
}

int dwarf_abbrevs_parse(struct bytes section, uint64_t offset, const struct dwarf_format *format,
	uint64_t last, struct dwarf_work *work, struct dwarf_abbrevs *out)
{
	struct dwarf_abbrevs made = { .format = *format };
	struct cursor c = cursor_init(section.data, section.len);
	int err;

	cursor_seek(&c, offset);
	err = read_table(&c, last, work, &made);
	if (err < 0)
		dwarf_abbrevs_done(&made);
	else
		*out = made;
	return err;
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	uint64_t *at;

	if (code - 1 < abbrevs->all.len && abbrevs->all.data[code - 1].code == code)
		return &abbrevs->all.data[code - 1];
	at = abbrevs->by_code.len ? hash_find(&abbrevs->by_code, code) : NULL;
	return at ? &abbrevs->all.data[*at] : NULL;
}

size_t dwarf_abbrevs_memory(const struct dwarf_abbrevs *abbrevs)
{
	return abbrevs->all.cap * sizeof(*abbrevs->all.data) +
		abbrevs->specs.cap * sizeof(*abbrevs->specs.data) +
		abbrevs->by_code.cap * sizeof(*abbrevs->by_code.slots);
}
