/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/inlined.c - opening reads each unit's own DIE for its address ranges. The first query in a
 * unit loads its functions (scopes.c) and its lines. The rest of an answer is two binary searches
 * and, once for each function and file, a name. The least recently used units make room for new
 * ones; if names fill up instead, all units are unloaded. */
#include "dwarf/inlined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/strtab.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/die_name.h"
#include "dwarf/dwarf_parts.h"
#include "dwarf/scopes.h"

#define OPEN_WORK_MAX (1UL << 30)
#define NO_PATH UINT32_MAX
#define STOPS_MAX 3

enum unit_state { UNIT_FRESH, UNIT_BAD, UNIT_GIVEN_UP };

struct loaded {
	size_t unit; /* index in units */
	const struct dwarf *dwarf;
	uint64_t start; /* in dwarf's .debug_info */
	struct scopes scopes;
	struct dwarf_lines lines;
	struct dwarf_lines split_lines; /* the files of a split unit, which has no rows */
	bool split_files;
	struct bytes dir;
	uint32_t *paths; /* by file: strings, or NO_PATH */
	size_t paths_len;
	size_t bytes;
	uint64_t used;
};

struct unit {
	uint64_t start;
	struct loaded *loaded;
	uint8_t state;
	uint8_t stops; /* how often it took too long */
};

struct inlined {
	struct dwarf_parts parts;
	size_t memory_max;
	uint64_t work_max;
	struct dwarf_work work;
	VEC(struct unit) all; /* as in parts.units.main */
	struct cover cover;   /* by address: index in all */
	VEC(struct loaded *) loaded;
	struct strtab strings;
	struct buf text;
	size_t loaded_bytes;
	uint64_t clock;
	struct inlined_stats stats;
};

DEFINE_CLEANUP(struct inlined, inlined_free)

static void unload(struct loaded *loaded)
{
	if (!loaded)
		return;
	scopes_done(&loaded->scopes);
	dwarf_lines_done(&loaded->lines);
	dwarf_lines_done(&loaded->split_lines);
	free(loaded->paths);
	free(loaded);
}

DEFINE_CLEANUP(struct loaded, unload)

/* ---- open ----------------------------------------------------------------------------------- */

static void free_dwarf(struct inlined *in)
{
	vec_each (&in->loaded, loaded)
		unload(*loaded);
	vec_done(&in->loaded);
	vec_done(&in->all);
	cover_done(&in->cover);
	dwarf_parts_done(&in->parts);
}

void inlined_free(struct inlined *in)
{
	if (!in)
		return;
	free_dwarf(in);
	strtab_done(&in->strings);
	buf_done(&in->text);
	free(in);
}

/* Reads the addresses of the unit's own DIE; a damaged unit has none. */
static int read_own_ranges(struct inlined *in, struct unit *unit, struct dwarf_ranges *out)
{
	struct dwarf_unit own;
	int err = dwarf_unit_header(&in->parts.main, unit->start, &own);

	if (err == 0 && own.format.version == 0)
		return 0;
	if (own.type == DW_UT_type || own.type == DW_UT_partial)
		return 0;
	if (err == 0)
		err = dwarf_unit_read(&own, NULL, &in->work);
	if (err == 0)
		err = dwarf_ranges_read(
			&own, &own.low_pc, &own.high_pc, &own.ranges, &in->work, out);
	if (err == -EBADMSG) {
		unit->state = UNIT_BAD;
		in->stats.units_bad++;
		return 0;
	}
	return err;
}

static int index_units(struct inlined *in)
{
	VEC(struct cover_range) ranges = { 0 };
	struct dwarf_ranges found = { 0 };
	int err = 0;

	for (size_t i = 0; i < in->parts.units.main.starts.len && err == 0; i++) {
		struct unit *unit = vec_add(&in->all);

		if (!unit) {
			err = -ENOMEM;
			break;
		}
		unit->start = in->parts.units.main.starts.data[i];
		found.all.len = 0;
		err = read_own_ranges(in, unit, &found);
		for (size_t r = 0; r < found.all.len && err == 0; r++) {
			struct cover_range *slot = vec_add(&ranges);

			if (slot)
				*slot = (struct cover_range){ found.all.data[r].start,
					found.all.data[r].end, 0, (uint32_t)i };
			else
				err = -ENOMEM;
		}
	}
	if (err == 0)
		err = cover_make(ranges.data, ranges.len, &in->cover);
	vec_done(&ranges);
	vec_done(&found.all);
	return err;
}

static void begin_work(struct inlined *in, uint64_t bytes)
{
	in->work.bytes_left = bytes;
	in->work.unasked = 0;
	in->work.stopped = false;
}

int inlined_open(const struct inlined_input *input, struct inlined **out)
{
	_cleanup_(inlined_freep) struct inlined *in = calloc(1, sizeof(*in));
	int err;

	if (!in)
		return -ENOMEM;
	in->memory_max = input->memory_max ? input->memory_max : INLINED_MEMORY_MAX;
	in->work_max = input->work_max ? input->work_max : INLINED_WORK_MAX;
	in->work = (struct dwarf_work){ .stop = input->stop, .ctx = input->ctx };
	begin_work(in, OPEN_WORK_MAX);
	err = strtab_init(&in->strings);
	if (err == 0)
		err = dwarf_parts_open(&in->parts, input, &in->work);
	if (err == 0)
		err = index_units(in);
	if (err < 0)
		return err;
	in->stats.units = in->all.len;
	*out = TAKE_PTR(in);
	return 0;
}

/* ---- load ----------------------------------------------------------------------------------- */

static int load_lines(struct inlined *in, const struct dwarf_unit *unit, struct loaded *out)
{
	int err;

	if (unit->line.class != DWARF_OFFSET && unit->line.class != DWARF_NUMBER)
		return 0;
	err = dwarf_lines_read(unit, unit->line.u, true, &in->work, &out->lines);
	out->dir = dwarf_unit_text(unit, &unit->dir);
	return err == -EBADMSG ? 0 : err;
}

/* Functions of a split unit; its lines are its skeleton's, and so are its files unless it has a
 * table of its own. */
static int load_split(struct inlined *in, const struct dwarf_split *split, struct loaded *out)
{
	struct dwarf_units_entry *entry;
	int err = dwarf_units_get(&in->parts.units, split->dwarf, split->start, &in->work, &entry);

	if (err == 0)
		err = scopes_read(&entry->unit, &entry->abbrevs, &in->work, &out->scopes);
	if (err < 0)
		return err;
	out->dwarf = split->dwarf;
	out->start = split->start;
	if (entry->unit.sections[DWARF_LINE].len == 0)
		return 0;
	err = dwarf_lines_read(&entry->unit, 0, false, &in->work, &out->split_lines);
	out->split_files = err == 0;
	return err == -EBADMSG ? 0 : err;
}

static int load_unit(struct inlined *in, uint64_t start, struct loaded *out)
{
	struct dwarf_units_entry *entry;
	struct dwarf_split *split = NULL;
	int err = dwarf_units_get(&in->parts.units, &in->parts.main, start, &in->work, &entry);

	if (err == 0)
		err = dwarf_parts_split(&in->parts, &entry->unit, &split);
	if (err < 0)
		return err;
	out->dwarf = &in->parts.main;
	out->start = start;
	err = load_lines(in, &entry->unit, out);
	if (err == 0)
		err = split ? load_split(in, split, out)
			    : scopes_read(&entry->unit, &entry->abbrevs, &in->work, &out->scopes);
	if (err < 0)
		return err;
	out->paths_len = (out->split_files ? &out->split_lines : &out->lines)->files.len;
	if (out->lines.files.len > out->paths_len)
		out->paths_len = out->lines.files.len;
	/* The second half is the split unit's own. */
	out->paths = malloc(2 * (out->paths_len + 1) * sizeof(*out->paths));
	if (!out->paths)
		return -ENOMEM;
	memset(out->paths, 0xff, 2 * (out->paths_len + 1) * sizeof(*out->paths));
	out->bytes = sizeof(*out) + scopes_memory(&out->scopes) + dwarf_lines_memory(&out->lines) +
		dwarf_lines_memory(&out->split_lines) + 2 * out->paths_len * sizeof(*out->paths);
	return 0;
}

static void unload_at(struct inlined *in, size_t i)
{
	struct loaded *loaded = in->loaded.data[i];

	in->all.data[loaded->unit].loaded = NULL;
	in->loaded_bytes -= loaded->bytes;
	in->loaded.data[i] = in->loaded.data[--in->loaded.len];
	unload(loaded);
}

static void make_room(struct inlined *in, size_t bytes)
{
	while (in->loaded.len > 0 && in->loaded_bytes + bytes > in->memory_max / 4 * 3) {
		size_t oldest = 0;

		for (size_t i = 1; i < in->loaded.len; i++)
			if (in->loaded.data[i]->used < in->loaded.data[oldest]->used)
				oldest = i;
		unload_at(in, oldest);
	}
}

/* Scopes know their names by number, so they go with them. */
static int limit_strings(struct inlined *in)
{
	if (strtab_memory(&in->strings) <= in->memory_max / 4)
		return 0;
	while (in->loaded.len > 0)
		unload_at(in, in->loaded.len - 1);
	strtab_done(&in->strings);
	return strtab_init(&in->strings);
}

static int keep(struct inlined *in, struct unit *unit, struct loaded *loaded)
{
	struct loaded **slot;

	if (loaded->bytes > in->memory_max)
		return -EFBIG;
	make_room(in, loaded->bytes);
	slot = vec_add(&in->loaded);
	if (!slot)
		return -ENOMEM;
	*slot = unit->loaded = loaded;
	loaded->unit = (size_t)(unit - in->all.data);
	in->loaded_bytes += loaded->bytes;
	in->stats.units_loaded++;
	return 0;
}

static int load(struct inlined *in, struct unit *unit)
{
	_cleanup_(unloadp) struct loaded *made = calloc(1, sizeof(*made));
	int err = made ? load_unit(in, unit->start, made) : -ENOMEM;

	if (err == 0)
		err = keep(in, unit, made);
	if (err == 0)
		made = NULL;
	/* A unit that was stopped may have lost its time to an earlier one: it is tried again. */
	if (err == -ETIME && in->work.stopped && ++unit->stops < STOPS_MAX)
		return err;
	if (err == -EFBIG || err == -ETIME) {
		unit->state = UNIT_GIVEN_UP;
		in->stats.units_given_up++;
	} else if (err == -EBADMSG || err == -ENOENT) {
		unit->state = UNIT_BAD;
		in->stats.units_bad++;
	}
	return err;
}

/* ---- find ----------------------------------------------------------------------------------- */

struct answer {
	uint32_t name, path, line;
};

static int intern(struct inlined *in, uint32_t *id)
{
	return strtab_put(&in->strings, in->text.data ? in->text.data : "", in->text.len, id);
}

/* In `of`, a table of the unit, of which the split unit's own comes second. */
static int find_path(struct inlined *in, struct loaded *unit, const struct dwarf_lines *of,
	uint32_t file, uint32_t *out)
{
	uint32_t *slot = unit->paths + (of == &unit->split_lines ? unit->paths_len : 0);
	int err;

	*out = 0;
	if (file >= of->files.len)
		return 0;
	slot += file;
	if (*slot == NO_PATH) {
		buf_clear(&in->text);
		err = dwarf_lines_path(of, unit->dir, file, &in->text);
		if (err == 0)
			err = intern(in, slot);
		if (err < 0)
			return err;
	}
	*out = *slot;
	return 0;
}

static int find_name(
	struct inlined *in, const struct loaded *unit, struct scope *scope, uint32_t *out)
{
	int err;

	if (scope->name == SCOPES_UNNAMED) {
		buf_clear(&in->text);
		err = die_name(&in->parts.units, unit->dwarf, unit->start + scope->die, &in->work,
			&in->text);
		if (err < 0 && err != -EBADMSG)
			return err;
		err = intern(in, &scope->name);
		if (err < 0)
			return err;
	}
	*out = scope->name;
	return 0;
}

/* Outwards from the innermost scope; each one's call is where the next one is. */
static int climb(struct inlined *in, struct loaded *unit, uint64_t vaddr,
	struct answer answers[INLINED_FRAMES_MAX], size_t *len)
{
	const struct dwarf_row *row = dwarf_lines_find(&unit->lines, vaddr);
	uint32_t file = row ? row->file : UINT32_MAX, line = row ? row->line : 0;
	const struct dwarf_lines *of = &unit->lines;
	uint32_t at = cover_find(&unit->scopes.cover, vaddr);
	int err = 0;

	*len = 0;
	do {
		struct scope *scope = at == SCOPES_NONE ? NULL : &unit->scopes.all.data[at];
		struct answer *answer;

		*len += *len < INLINED_FRAMES_MAX;
		answer = &answers[*len - 1];
		*answer = (struct answer){ .line = line };
		err = find_path(in, unit, of, file, &answer->path);
		if (err == 0 && scope)
			err = find_name(in, unit, scope, &answer->name);
		of = unit->split_files ? &unit->split_lines : &unit->lines;
		file = scope ? scope->call_file : UINT32_MAX;
		line = scope ? scope->call_line : 0;
		at = scope ? scope->parent : SCOPES_NONE;
		if (!scope || at == SCOPES_NONE)
			break;
	} while (err == 0);
	return err;
}

static void fill_frames(const struct inlined *in, const struct answer *answers, size_t len,
	struct inlined_frames *out)
{
	for (size_t i = 0; i < len; i++) {
		const char *path = strtab_get(&in->strings, answers[i].path);
		const char *slash = strrchr(path, '/');

		out->all[i] = (struct inlined_frame){
			.name = strtab_get(&in->strings, answers[i].name),
			.path = path,
			.file = slash ? slash + 1 : path,
			.line = answers[i].line,
		};
	}
	out->len = len;
}

static int find(struct inlined *in, struct unit *unit, uint64_t vaddr, struct inlined_frames *out)
{
	struct answer answers[INLINED_FRAMES_MAX];
	size_t len;
	int err = unit->loaded ? 0 : load(in, unit);

	if (err == 0) {
		unit->loaded->used = ++in->clock;
		err = climb(in, unit->loaded, vaddr, answers, &len);
	}
	if (err < 0)
		return err;
	if (answers[0].name == 0 && answers[0].path == 0)
		return INLINED_NONE;
	fill_frames(in, answers, len, out);
	return INLINED_FOUND;
}

int inlined_find(struct inlined *in, uint64_t vaddr, struct inlined_frames *out)
{
	uint32_t at = cover_find(&in->cover, vaddr);
	int err;

	if (at == COVER_NONE || in->all.data[at].state == UNIT_BAD)
		return INLINED_NONE;
	if (in->all.data[at].state == UNIT_GIVEN_UP)
		return INLINED_GIVEN_UP;
	if (in->parts.wanted.kind != DEBUG_PART_NONE)
		return INLINED_WANTS;
	err = limit_strings(in);
	if (err < 0)
		return err;
	begin_work(in, in->work_max);
	err = find(in, &in->all.data[at], vaddr, out);
	if (err == -ENOMEM || err >= 0)
		return err;
	if (err == -EAGAIN)
		return INLINED_WANTS;
	return err == -ETIME || err == -EFBIG ? INLINED_GIVEN_UP : INLINED_NONE;
}

const struct debug_part *inlined_wanted(const struct inlined *in)
{
	return &in->parts.wanted;
}

int inlined_give(struct inlined *in, struct image *image)
{
	begin_work(in, OPEN_WORK_MAX);
	return dwarf_parts_give(&in->parts, image, &in->work);
}

void inlined_stats(const struct inlined *in, struct inlined_stats *out)
{
	*out = in->stats;
	out->memory_bytes = sizeof(*in) + in->loaded_bytes + strtab_memory(&in->strings) +
		dwarf_parts_memory(&in->parts) + in->all.cap * sizeof(*in->all.data) +
		in->cover.pieces.cap * sizeof(*in->cover.pieces.data);
}
