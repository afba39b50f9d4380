/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/cli_metadata.c - the width of a column depends on the number of rows in the tables that it
 * refers to, so the schema of all tables is here, though few are read. Cells are read one at a time
 * by table, row and column. Invariant: every table with rows is within the bytes. */
#include "dotnet/cli_metadata.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"

#define ROOT_MAGIC 0x424a5342
#define STREAMS_MAX 16
#define TABLES_KNOWN 45

#define HEAP_STRINGS 1
#define HEAP_GUIDS 2
#define HEAP_BLOBS 4

/* Columns that may point into one of several tables: the low bits of a value are the table. */
enum coded_kind {
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_CUSTOM_ATTRIBUTE,
	HAS_FIELD_MARSHAL,
	HAS_DECL_SECURITY,
	MEMBER_REF_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	CUSTOM_ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	TYPE_OR_METHOD_DEF,
};

#define T(n) (1ULL << (n))
static const struct {
	uint8_t tag_bits;
	uint64_t tables;
} coded[] = {
	[TYPE_DEF_OR_REF] = { 2, T(1) | T(2) | T(27) },
	[HAS_CONSTANT] = { 2, T(4) | T(8) | T(23) },
	[HAS_CUSTOM_ATTRIBUTE] = { 5,
		T(0) | T(1) | T(2) | T(4) | T(6) | T(8) | T(9) | T(10) | T(14) | T(17) | T(20) |
			T(23) | T(26) | T(27) | T(32) | T(35) | T(38) | T(39) | T(40) | T(42) |
			T(43) | T(44) },
	[HAS_FIELD_MARSHAL] = { 1, T(4) | T(8) },
	[HAS_DECL_SECURITY] = { 2, T(2) | T(6) | T(32) },
	[MEMBER_REF_PARENT] = { 3, T(1) | T(2) | T(6) | T(26) | T(27) },
	[HAS_SEMANTICS] = { 1, T(20) | T(23) },
	[METHOD_DEF_OR_REF] = { 1, T(6) | T(10) },
	[MEMBER_FORWARDED] = { 1, T(4) | T(6) },
	[IMPLEMENTATION] = { 2, T(35) | T(38) | T(39) },
	[CUSTOM_ATTRIBUTE_TYPE] = { 3, T(6) | T(10) },
	[RESOLUTION_SCOPE] = { 2, T(0) | T(1) | T(26) | T(35) },
	[TYPE_OR_METHOD_DEF] = { 1, T(2) | T(6) },
};
#undef T

enum {
	END,
	U16,
	U32,
	STR,
	GUID,
	BLOB,
};
#define ROW(n) (0x40 | (n))
#define CODED(kind) (0x80 | (kind))

static const uint8_t schema[CLI_TABLES_READ][CLI_COLUMNS_MAX + 1] = {
	[0] = { U16, STR, GUID, GUID, GUID },                            /* Module */
	[1] = { CODED(RESOLUTION_SCOPE), STR, STR },                     /* TypeRef */
	[2] = { U32, STR, STR, CODED(TYPE_DEF_OR_REF), ROW(4), ROW(6) }, /* TypeDef */
	[3] = { ROW(4) },                                                /* FieldPtr */
	[4] = { U16, STR, BLOB },                                        /* Field */
	[5] = { ROW(6) },                                                /* MethodPtr */
	[6] = { U32, U16, U16, STR, BLOB, ROW(8) },                      /* MethodDef */
	[7] = { ROW(8) },                                                /* ParamPtr */
	[8] = { U16, U16, STR },                                         /* Param */
	[9] = { ROW(2), CODED(TYPE_DEF_OR_REF) },                        /* InterfaceImpl */
	[10] = { CODED(MEMBER_REF_PARENT), STR, BLOB },                  /* MemberRef */
	[11] = { U16, CODED(HAS_CONSTANT), BLOB },                       /* Constant */
	[12] = { CODED(HAS_CUSTOM_ATTRIBUTE), CODED(CUSTOM_ATTRIBUTE_TYPE), BLOB },
	[13] = { CODED(HAS_FIELD_MARSHAL), BLOB },                             /* FieldMarshal */
	[14] = { U16, CODED(HAS_DECL_SECURITY), BLOB },                        /* DeclSecurity */
	[15] = { U16, U32, ROW(2) },                                           /* ClassLayout */
	[16] = { U32, ROW(4) },                                                /* FieldLayout */
	[17] = { BLOB },                                                       /* StandAloneSig */
	[18] = { ROW(2), ROW(20) },                                            /* EventMap */
	[19] = { ROW(20) },                                                    /* EventPtr */
	[20] = { U16, STR, CODED(TYPE_DEF_OR_REF) },                           /* Event */
	[21] = { ROW(2), ROW(23) },                                            /* PropertyMap */
	[22] = { ROW(23) },                                                    /* PropertyPtr */
	[23] = { U16, STR, BLOB },                                             /* Property */
	[24] = { U16, ROW(6), CODED(HAS_SEMANTICS) },                          /* MethodSemantics */
	[25] = { ROW(2), CODED(METHOD_DEF_OR_REF), CODED(METHOD_DEF_OR_REF) }, /* MethodImpl */
	[26] = { STR },                                                        /* ModuleRef */
	[27] = { BLOB },                                                       /* TypeSpec */
	[28] = { U16, CODED(MEMBER_FORWARDED), STR, ROW(26) },                 /* ImplMap */
	[29] = { U32, ROW(4) },                                                /* FieldRVA */
	[30] = { U32, U32 },                                                   /* ENCLog */
	[31] = { U32 },                                                        /* ENCMap */
	[32] = { U32, U16, U16, U16, U16, U32, BLOB, STR, STR },               /* Assembly */
	[33] = { U32 },                                           /* AssemblyProcessor */
	[34] = { U32, U32, U32 },                                 /* AssemblyOS */
	[35] = { U16, U16, U16, U16, U32, BLOB, STR, STR, BLOB }, /* AssemblyRef */
	[36] = { U32, ROW(35) },                                  /* AssemblyRefProcessor */
	[37] = { U32, U32, U32, ROW(35) },                        /* AssemblyRefOS */
	[38] = { U32, STR, BLOB },                                /* File */
	[39] = { U32, U32, STR, STR, CODED(IMPLEMENTATION) },     /* ExportedType */
	[40] = { U32, U32, STR, CODED(IMPLEMENTATION) },          /* ManifestResource */
	[41] = { ROW(2), ROW(2) },                                /* NestedClass */
};

enum {
	TYPE_DEF_NAME = 1,
	TYPE_DEF_NAMESPACE = 2,
	TYPE_DEF_METHODS = 5,
	TYPE_REF_SCOPE = 0,
	TYPE_REF_NAME = 1,
	TYPE_REF_NAMESPACE = 2,
	METHOD_DEF_NAME = 3,
	MEMBER_REF_PARENT_COLUMN = 0,
	MEMBER_REF_NAME = 1,
	NESTED_INNER = 0,
	NESTED_OUTER = 1,
};

#define SCOPE_TAG_TYPE_REF 3 /* of ResolutionScope: the type is nested in that one */

/* ---- layout --------------------------------------------------------------------------------- */

static uint32_t coded_width(const struct cli_metadata *m, enum coded_kind kind)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < TABLES_KNOWN; i++)
		if (coded[kind].tables >> i & 1 && m->rows[i] > most)
			most = m->rows[i];
	return most < 1U << (16 - coded[kind].tag_bits) ? 2 : 4;
}

static uint32_t width(const struct cli_metadata *m, uint8_t column)
{
	if (column & 0x80)
		return coded_width(m, column & 0x3f);
	if (column & 0x40)
		return m->rows[column & 0x3f] < 65536 ? 2 : 4;
	switch (column) {
	case U16:
		return 2;
	case U32:
		return 4;
	case STR:
		return m->heap_sizes & HEAP_STRINGS ? 4 : 2;
	case GUID:
		return m->heap_sizes & HEAP_GUIDS ? 4 : 2;
	case BLOB:
		return m->heap_sizes & HEAP_BLOBS ? 4 : 2;
	default:
		return 0;
	}
}

static uint32_t lay_out(struct cli_metadata *m, uint32_t table)
{
	uint8_t size = 0;

	for (uint32_t k = 0; k < CLI_COLUMNS_MAX; k++) {
		m->columns[table][k] = size;
		size += (uint8_t)width(m, schema[table][k]);
	}
	m->columns[table][CLI_COLUMNS_MAX] = size;
	return size;
}

/* Tables after NestedClass are not read, so their rows need no size. */
static int read_tables(struct cli_metadata *m)
{
	struct cursor c = cursor_init(m->tables.data, m->tables.len);
	uint64_t valid, at;

	cursor_skip(&c, 6);
	m->heap_sizes = cursor_u8(&c);
	cursor_skip(&c, 1);
	valid = cursor_u64(&c);
	cursor_skip(&c, 8); /* the tables that are sorted */
	for (uint32_t i = 0; i < CLI_TABLES; i++)
		m->rows[i] = valid >> i & 1 ? cursor_u32(&c) : 0;
	at = cursor_offset(&c);
	for (uint32_t i = 0; i < CLI_TABLES_READ; i++) {
		m->at[i] = at;
		at += (uint64_t)m->rows[i] * lay_out(m, i);
	}
	return c.bad || at > m->tables.len ? -EBADMSG : 0;
}

static bool is_stream(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0;
}

static int read_stream(struct cli_metadata *m, struct cursor *c, struct bytes all)
{
	struct cursor data = cursor_init(all.data, all.len);
	uint32_t offset = cursor_u32(c), size = cursor_u32(c);
	const char *name = cursor_str(c);
	struct bytes bytes;

	cursor_seek(c, (cursor_offset(c) + 3) & ~(size_t)3);
	cursor_seek(&data, offset);
	bytes = cursor_bytes(&data, size);
	if (c->bad || data.bad)
		return -EBADMSG;
	if (is_stream(name, "#~"))
		m->tables = bytes;
	else if (is_stream(name, "#Strings"))
		m->strings = bytes;
	return 0;
}

int cli_metadata_init(struct cli_metadata *metadata, struct bytes bytes)
{
	struct cursor c = cursor_init(bytes.data, bytes.len);
	struct cli_metadata m = { 0 };
	bool is_root = cursor_u32(&c) == ROOT_MAGIC;
	uint16_t streams;
	int err = 0;

	cursor_skip(&c, 8);
	cursor_skip(&c, cursor_u32(&c)); /* version's text */
	cursor_skip(&c, 2);
	streams = cursor_u16(&c);
	if (!is_root || c.bad || streams > STREAMS_MAX)
		return -EBADMSG;
	for (uint16_t i = 0; i < streams && err == 0; i++)
		err = read_stream(&m, &c, bytes);
	if (err < 0 || m.tables.len == 0 || m.strings.len == 0)
		return -EBADMSG;
	err = read_tables(&m);
	if (err == 0)
		*metadata = m;
	return err;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static uint32_t cell(
	const struct cli_metadata *m, enum cli_table table, uint32_t row, uint32_t column)
{
	const uint8_t *columns = m->columns[table];
	struct cursor c = cursor_init(m->tables.data, m->tables.len);

	cursor_seek(&c,
		m->at[table] + (uint64_t)(row - 1) * columns[CLI_COLUMNS_MAX] + columns[column]);
	return columns[column + 1] - columns[column] == 4 ? cursor_u32(&c) : cursor_u16(&c);
}

static bool has_row(const struct cli_metadata *m, enum cli_table table, uint32_t row)
{
	return row >= 1 && row <= m->rows[table];
}

/* The last row whose cell is not above the value; 0: none. The column is sorted. */
static uint32_t find_row(
	const struct cli_metadata *m, enum cli_table table, uint32_t column, uint32_t value)
{
	uint32_t low = 1, high = m->rows[table] + 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cell(m, table, middle, column) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

bool cli_metadata_method(
	const struct cli_metadata *metadata, uint32_t row, uint32_t *name, uint32_t *type)
{
	uint32_t owner;

	if (!has_row(metadata, CLI_METHOD_DEF, row))
		return false;
	owner = find_row(metadata, CLI_TYPE_DEF, TYPE_DEF_METHODS, row);
	if (owner == 0)
		return false;
	*name = cell(metadata, CLI_METHOD_DEF, row, METHOD_DEF_NAME);
	*type = owner;
	return true;
}

bool cli_metadata_member(
	const struct cli_metadata *metadata, uint32_t row, uint32_t *name, uint32_t *parent)
{
	if (!has_row(metadata, CLI_MEMBER_REF, row))
		return false;
	*name = cell(metadata, CLI_MEMBER_REF, row, MEMBER_REF_NAME);
	*parent = cell(metadata, CLI_MEMBER_REF, row, MEMBER_REF_PARENT_COLUMN);
	return true;
}

struct bytes cli_metadata_string(const struct cli_metadata *metadata, uint32_t offset)
{
	struct cursor c = cursor_init(metadata->strings.data, metadata->strings.len), near;
	size_t left;
	const char *text;

	cursor_seek(&c, offset);
	left = cursor_left(&c);
	near = cursor_sub(&c, left <= CLI_NAME_MAX ? left : CLI_NAME_MAX + 1);
	text = cursor_str(&near);
	if (c.bad || near.bad)
		return (struct bytes){ 0 };
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

/* The type that a type is nested in; 0: none. */
static uint32_t outer_type(const struct cli_metadata *m, enum cli_table table, uint32_t row)
{
	uint32_t found;

	if (table == CLI_TYPE_REF) {
		uint32_t scope = cell(m, CLI_TYPE_REF, row, TYPE_REF_SCOPE);

		found = (scope & 3) == SCOPE_TAG_TYPE_REF ? scope >> 2 : 0;
	} else {
		found = find_row(m, CLI_NESTED_CLASS, NESTED_INNER, row);
		if (found == 0 || cell(m, CLI_NESTED_CLASS, found, NESTED_INNER) != row)
			return 0;
		found = cell(m, CLI_NESTED_CLASS, found, NESTED_OUTER);
	}
	return has_row(m, table, found) ? found : 0;
}

static int put_string(const struct cli_metadata *m, uint32_t offset, struct buf *out)
{
	struct bytes text = cli_metadata_string(m, offset);

	return text.len == 0 ? -ENOENT : buf_put(out, text.data, text.len);
}

int cli_metadata_put_type(
	const struct cli_metadata *metadata, enum cli_table table, uint32_t row, struct buf *out)
{
	uint32_t chain[CLI_NESTED_MAX], n = 0;
	bool is_def = table == CLI_TYPE_DEF;
	int err;

	for (; has_row(metadata, table, row) && n < CLI_NESTED_MAX; n++) {
		chain[n] = row;
		row = outer_type(metadata, table, row);
	}
	if (n == 0)
		return -ENOENT;
	err = put_string(metadata,
		cell(metadata, table, chain[n - 1],
			is_def ? TYPE_DEF_NAMESPACE : TYPE_REF_NAMESPACE),
		out);
	if (err == 0)
		err = buf_putc(out, '.');
	if (err == -ENOENT) /* in no namespace */
		err = 0;
	while (err == 0 && n > 0) {
		err = put_string(metadata,
			cell(metadata, table, chain[--n], is_def ? TYPE_DEF_NAME : TYPE_REF_NAME),
			out);
		if (err == 0 && n > 0)
			err = buf_putc(out, '+');
	}
	return err;
}
