/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r.c - the table of runtime functions has the ranges of code, in order. Two other tables
 * give the function at which a method (or a generic instance) begins; the functions up to the next
 * method belong to it. A name is stored in two halves, type and method, because types repeat from
 * method to method and method names from type to type. Invariant: ranges are sorted and disjoint,
 * and the halves are offsets of strings that end within names. */
#include "dotnet/r2r.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/vec.h"
#include "dotnet/pe.h"
#include "dotnet/cli_metadata.h"
#include "dotnet/native_format.h"
#include "dotnet/r2r_signature.h"

#define R2R_MAGIC 0x00525452 /* "RTR" */
#define R2R_SECTIONS_MAX 64
#define TYPES_MAX (1U << 22) /* CoreLib has a hundredth of it */
#define MACHINE_AMD64 0x8664
/* On other systems than Windows the machine is stored xor one of these. */
static const uint16_t machine_masks[] = { 0, 0x7b79, 0x4644, 0xadc4, 0x1993, 0x1992 };

enum r2r_section {
	R2R_RUNTIME_FUNCTIONS = 102,
	R2R_METHOD_ENTRY_POINTS = 103,
	R2R_INSTANCE_ENTRY_POINTS = 109,
	R2R_HOT_COLD_MAP = 120,
	R2R_SECTIONS,
};

struct r2r_range {
	uint32_t start;
	uint32_t size;
	uint32_t type;   /* offset in names; 0: the method's half is the whole name */
	uint32_t method; /* 0: no name */
};

struct r2r {
	VEC(struct r2r_range) ranges;
	struct buf names;
	struct buf found;
	struct r2r_stats stats;
};

DEFINE_CLEANUP(struct r2r, r2r_free)

/* The method that begins at a runtime function. */
struct owner {
	uint32_t type;   /* row of TypeDef, or 0 for a generic instance */
	uint32_t method; /* offset in the metadata's strings, or of the instance's name in names */
	bool is_begin;
};

struct loader {
	struct pe pe;
	struct cli_metadata metadata;
	struct pe_directory sections[R2R_SECTIONS];
	struct bytes functions;
	uint32_t function_size;
	uint32_t functions_len;
	struct owner *owners; /* by runtime function */
	uint32_t
		types_left; /* of signatures: an image that repeats long ones must not take hours */
	struct r2r *r2r;
};

/* ---- headers -------------------------------------------------------------------------------- */

static bool directory_bytes(
	const struct pe *pe, const struct pe_directory *directory, struct bytes *out)
{
	return directory->rva != 0 && pe_bytes(pe, directory->rva, directory->size, out);
}

static int read_cli_header(struct loader *l, struct pe_directory *native)
{
	struct pe_directory metadata;
	struct bytes bytes;
	struct cursor c;

	if (!directory_bytes(&l->pe, &l->pe.directories[PE_DIRECTORY_CLI], &bytes))
		return -ENOENT;
	c = cursor_init(bytes.data, bytes.len);
	cursor_skip(&c, 8);
	metadata.rva = cursor_u32(&c);
	metadata.size = cursor_u32(&c);
	cursor_seek(&c, 64);
	native->rva = cursor_u32(&c);
	native->size = cursor_u32(&c);
	if (c.bad || native->rva == 0)
		return -ENOENT;
	if (!directory_bytes(&l->pe, &metadata, &bytes))
		return -EBADMSG;
	return cli_metadata_init(&l->metadata, bytes);
}

static int read_r2r_header(struct loader *l, const struct pe_directory *native)
{
	struct bytes bytes;
	struct cursor c;
	uint32_t n;

	if (!directory_bytes(&l->pe, native, &bytes))
		return -EBADMSG;
	c = cursor_init(bytes.data, bytes.len);
	if (cursor_u32(&c) != R2R_MAGIC)
		return -ENOENT; /* an image of the older kind, NGen's */
	cursor_skip(&c, 8);
	n = cursor_u32(&c);
	if (n > R2R_SECTIONS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t type = cursor_u32(&c);
		struct pe_directory d;

		d.rva = cursor_u32(&c);
		d.size = cursor_u32(&c);
		if (type < R2R_SECTIONS)
			l->sections[type] = d;
	}
	return c.bad ? -EBADMSG : 0;
}

static bool is_amd64(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(machine_masks); i++)
		if ((machine ^ machine_masks[i]) == MACHINE_AMD64)
			return true;
	return false;
}

static int read_functions(struct loader *l)
{
	if (!directory_bytes(&l->pe, &l->sections[R2R_RUNTIME_FUNCTIONS], &l->functions))
		return -ENOENT;
	/* begin, end, unwind data; elsewhere the end is in the unwind data */
	l->function_size = is_amd64(l->pe.machine) ? 12 : 8;
	l->functions_len = (uint32_t)(l->functions.len / l->function_size);
	if (l->functions_len > R2R_FUNCTIONS_MAX) {
		l->r2r->stats.dropped += l->functions_len - R2R_FUNCTIONS_MAX;
		l->functions_len = R2R_FUNCTIONS_MAX;
	}
	l->owners = calloc(l->functions_len + 1UL, sizeof(*l->owners));
	return l->owners ? 0 : -ENOMEM;
}

/* ---- who begins where ----------------------------------------------------------------------- */

/* The number of a runtime function; fixups may follow it. False: cut off, or not of this file. */
static bool read_entry(const struct loader *l, struct cursor c, uint32_t *function)
{
	uint32_t id = native_format_unsigned(&c);

	id = id & 1 ? id >> 2 : id >> 1;
	*function = id;
	return !c.bad && id < l->functions_len;
}

static int collect_methods(struct loader *l)
{
	struct native_array array;
	struct bytes bytes;

	if (!directory_bytes(&l->pe, &l->sections[R2R_METHOD_ENTRY_POINTS], &bytes))
		return -ENOENT;
	if (!native_array_init(&array, bytes))
		return -EBADMSG;
	for (uint32_t i = 0; i < array.len && i < l->metadata.rows[CLI_METHOD_DEF]; i++) {
		uint32_t function, name, type;
		struct cursor c;

		if (!native_array_find(&array, i, &c) || !read_entry(l, c, &function))
			continue;
		l->owners[function].is_begin = true;
		if (cli_metadata_method(&l->metadata, i + 1, &name, &type)) {
			l->owners[function].method = name;
			l->owners[function].type = type;
		}
	}
	return 0;
}

static int put_string(struct loader *l, const char *text, size_t len, uint32_t *out)
{
	struct buf *names = &l->r2r->names;
	size_t at = names->len;
	int err;

	if (at + len + 1 > R2R_NAMES_BYTES_MAX) {
		l->r2r->stats.dropped++;
		*out = 0;
		return 0;
	}
	err = buf_put(names, text, len);
	if (err == 0)
		err = buf_putc(names, '\0');
	if (err == 0)
		*out = (uint32_t)at;
	return err;
}

static int take_instance(void *ctx, struct cursor entry)
{
	struct loader *l = ctx;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = r2r_signature_read(&l->metadata, &entry, &l->types_left, &text);
	uint32_t function;

	if (err == -ENOMEM)
		return err;
	if (err == -EBADMSG || !read_entry(l, entry, &function))
		return 0;
	l->owners[function] = (struct owner){ .is_begin = true };
	if (err < 0 || text.len == 0)
		return 0;
	return put_string(l, text.data, text.len, &l->owners[function].method);
}

static int collect_instances(struct loader *l)
{
	struct bytes bytes;
	int err;

	if (!directory_bytes(&l->pe, &l->sections[R2R_INSTANCE_ENTRY_POINTS], &bytes))
		return 0;
	err = native_table_walk(bytes, l->functions_len, take_instance, l);
	return err == -EBADMSG ? 0 : err;
}

/* Seldom executed halves of methods lie after all others: pairs (first cold function, its hot
 * one). */
static void collect_cold(struct loader *l)
{
	struct bytes bytes;
	struct cursor c;

	if (!directory_bytes(&l->pe, &l->sections[R2R_HOT_COLD_MAP], &bytes))
		return;
	c = cursor_init(bytes.data, bytes.len);
	while (cursor_left(&c) >= 8) {
		uint32_t cold = cursor_u32(&c), hot = cursor_u32(&c);

		if (cold < l->functions_len && hot < l->functions_len) {
			l->owners[cold] = l->owners[hot];
			l->owners[cold].is_begin = true;
		}
	}
}

/* ---- names ---------------------------------------------------------------------------------- */

struct string {
	uint32_t offset; /* in the metadata */
	uint32_t name;   /* in names */
};

static int by_offset(const void *a, const void *b)
{
	const struct string *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Copies each method name of the metadata once: the strings in order of their offsets. */
static int copy_names(struct loader *l, struct string *strings, size_t n, size_t *kept)
{
	size_t k = 0;
	int err = 0;

	qsort(strings, n, sizeof(*strings), by_offset);
	for (size_t i = 0; i < n && err == 0; i++) {
		struct bytes text;

		if (k > 0 && strings[k - 1].offset == strings[i].offset)
			continue;
		strings[k].offset = strings[i].offset;
		strings[k].name = 0;
		text = cli_metadata_string(&l->metadata, strings[k].offset);
		if (text.len > 0)
			err = put_string(l, (const char *)text.data, text.len, &strings[k].name);
		k++;
	}
	*kept = k;
	return err;
}

/* Turns the owners' offsets in the metadata into offsets in names. */
static int name_methods(struct loader *l)
{
	_cleanup_(freep) struct string *strings =
		reallocarray(NULL, l->functions_len + 1UL, sizeof(*strings));
	size_t n = 0;
	int err;

	if (!strings)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->functions_len; i++)
		if (l->owners[i].type != 0)
			strings[n++].offset = l->owners[i].method;
	err = copy_names(l, strings, n, &n);
	for (uint32_t i = 0; i < l->functions_len && err == 0; i++) {
		struct string key = { .offset = l->owners[i].method };
		const struct string *found;

		if (l->owners[i].type == 0)
			continue;
		found = bsearch(&key, strings, n, sizeof(key), by_offset);
		l->owners[i].method = found->name;
	}
	return err;
}

static int name_type(struct loader *l, uint32_t row, uint32_t *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = cli_metadata_put_type(&l->metadata, CLI_TYPE_DEF, row, &text);

	*out = 0;
	if (err == -ENOENT)
		return 0;
	return err < 0 ? err : put_string(l, text.data, text.len, out);
}

/* Each type once; types are few against functions. */
static int name_types(struct loader *l)
{
	uint32_t rows = l->metadata.rows[CLI_TYPE_DEF];
	_cleanup_(freep) uint32_t *names = calloc(rows + 1UL, sizeof(*names));
	_cleanup_(freep) bool *is_named = calloc(rows + 1UL, sizeof(*is_named));
	int err = names && is_named ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < l->functions_len && err == 0; i++) {
		uint32_t row = l->owners[i].type;

		if (row == 0)
			continue;
		if (!is_named[row])
			err = name_type(l, row, &names[row]);
		is_named[row] = true;
		if (names[row] == 0)
			l->owners[i].method = 0;
		l->owners[i].type = names[row];
	}
	return err;
}

/* ---- ranges --------------------------------------------------------------------------------- */

static uint32_t begin_of(const struct loader *l, uint32_t i)
{
	struct cursor c = cursor_init(l->functions.data, l->functions.len);

	cursor_seek(&c, (size_t)i * l->function_size);
	return cursor_u32(&c);
}

static uint32_t end_of(const struct loader *l, uint32_t i)
{
	struct cursor c = cursor_init(l->functions.data, l->functions.len);

	if (l->function_size == 8)
		return i + 1 < l->functions_len ? begin_of(l, i + 1) : begin_of(l, i) + 4;
	cursor_seek(&c, (size_t)i * l->function_size + 4);
	return cursor_u32(&c);
}

/* Only code, only forwards: a table that is out of order loses what goes back. */
static bool is_range(const struct loader *l, uint32_t begin, uint32_t end, uint32_t *offset)
{
	const struct pe_section *section = pe_section_of(&l->pe, begin);
	const struct r2r *r2r = l->r2r;
	const struct r2r_range *last =
		r2r->ranges.len > 0 ? &r2r->ranges.data[r2r->ranges.len - 1] : NULL;

	return section && section->executable && end > begin &&
		end - section->rva <= section->size && pe_rva_to_offset(&l->pe, begin, offset) &&
		(!last || *offset >= last->start + last->size);
}

/* A function that begins no method is a handler of the one before it, and makes that longer. */
static int add_range(struct loader *l, uint32_t i, const struct owner *owner, bool *is_open)
{
	uint32_t begin = begin_of(l, i), end = end_of(l, i), offset;
	bool goes_on = *is_open && !l->owners[i].is_begin;
	struct r2r *r2r = l->r2r;
	struct r2r_range *range;

	*is_open = owner->method != 0 && is_range(l, begin, end, &offset);
	if (!*is_open) {
		r2r->stats.unnamed++;
		return 0;
	}
	range = goes_on ? &r2r->ranges.data[r2r->ranges.len - 1] : vec_add(&r2r->ranges);
	if (!range)
		return -ENOMEM;
	if (!goes_on)
		*range = (struct r2r_range){ offset, 0, owner->type, owner->method };
	range->size = offset + (end - begin) - range->start;
	r2r->stats.functions += !goes_on;
	return 0;
}

static int make_ranges(struct loader *l)
{
	struct owner owner = { 0 };
	bool is_open = false;
	int err = 0;

	for (uint32_t i = 0; i < l->functions_len && err == 0; i++) {
		if (l->owners[i].is_begin)
			owner = l->owners[i];
		err = add_range(l, i, &owner, &is_open);
	}
	return err;
}

static void trim(struct r2r *r2r)
{
	void *ranges =
		reallocarray(r2r->ranges.data, r2r->ranges.len + 1, sizeof(struct r2r_range));
	void *names = realloc(r2r->names.data, r2r->names.len + 1);

	if (ranges) {
		r2r->ranges.data = ranges;
		r2r->ranges.cap = r2r->ranges.len + 1;
	}
	if (names) {
		r2r->names.data = names;
		r2r->names.cap = r2r->names.len + 1;
	}
	r2r->stats.memory_bytes =
		sizeof(*r2r) + r2r->ranges.cap * sizeof(struct r2r_range) + r2r->names.cap;
}

/* ---- public --------------------------------------------------------------------------------- */

static int read_headers(struct loader *l, const void *data, size_t len)
{
	struct pe_directory native = { 0 };
	struct why why;
	int err = pe_init(&l->pe, data, len, &why);

	if (err == 0)
		err = read_cli_header(l, &native);
	if (err == 0)
		err = read_r2r_header(l, &native);
	return err < 0 ? err : read_functions(l);
}

static int load(struct loader *l, const void *data, size_t len)
{
	int err = read_headers(l, data, len);

	if (err == 0)
		err = buf_putc(&l->r2r->names, '\0'); /* offset 0 is no name */
	if (err == 0)
		err = collect_methods(l);
	if (err == 0)
		err = collect_instances(l);
	if (err < 0)
		return err;
	collect_cold(l);
	err = name_methods(l);
	if (err == 0)
		err = name_types(l);
	return err < 0 ? err : make_ranges(l);
}

int r2r_load(const void *data, size_t len, struct r2r **out)
{
	_cleanup_(r2r_freep) struct r2r *r2r = calloc(1, sizeof(*r2r));
	struct loader l = { .r2r = r2r, .types_left = TYPES_MAX };
	int err;

	if (!r2r)
		return -ENOMEM;
	err = load(&l, data, len);
	free(l.owners);
	if (err < 0)
		return err;
	trim(r2r);
	*out = TAKE_PTR(r2r);
	return 0;
}

void r2r_free(struct r2r *r2r)
{
	if (!r2r)
		return;
	vec_done(&r2r->ranges);
	buf_done(&r2r->names);
	buf_done(&r2r->found);
	free(r2r);
}

static const char *join(struct r2r *r2r, const struct r2r_range *range)
{
	const char *method = r2r->names.data + range->method;

	if (range->type == 0)
		return method;
	buf_clear(&r2r->found);
	if (buf_printf(&r2r->found, "%s::%s", r2r->names.data + range->type, method) < 0)
		return NULL;
	return r2r->found.data;
}

bool r2r_find(struct r2r *r2r, uint64_t file_offset, const char **name, uint64_t *start)
{
	size_t low = 0, high = r2r->ranges.len;
	const struct r2r_range *range;
	const char *joined;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r2r->ranges.data[middle].start <= file_offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	range = &r2r->ranges.data[low - 1];
	joined = file_offset - range->start < range->size ? join(r2r, range) : NULL;
	if (!joined)
		return false;
	*name = joined;
	*start = range->start;
	return true;
}

void r2r_stats(const struct r2r *r2r, struct r2r_stats *out)
{
	*out = r2r->stats;
}
