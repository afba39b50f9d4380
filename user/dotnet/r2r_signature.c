/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r_signature.c - one pass that writes while it reads. Tokens of another module cannot be
 * resolved: the name is dropped, but reading continues, because the data after the signature
 * matter. Types are nested: a stack holds the work that remains after the current type. Its height
 * and the number of types are limited, and so is the text. */
#include "dotnet/r2r_signature.h"

#include <errno.h>
#include <string.h>

#define TODO_MAX 32
#define TYPES_MAX 256 /* of one signature */

enum method_flag {
	METHOD_INSTANTIATION = 0x04,
	METHOD_SLOT = 0x08,
	METHOD_MEMBER_REF = 0x10,
	METHOD_CONSTRAINED = 0x20,
	METHOD_OWNER_TYPE = 0x40,
	METHOD_OTHER_MODULE = 0x80,
};

enum element {
	ELEMENT_PTR = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_VAR = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERICINST = 0x15,
	ELEMENT_FNPTR = 0x1b,
	ELEMENT_SZARRAY = 0x1d,
	ELEMENT_MVAR = 0x1e,
	ELEMENT_CMOD_REQD = 0x1f,
	ELEMENT_CMOD_OPT = 0x20,
	ELEMENT_VAR_ZAPSIG = 0x3b,
	ELEMENT_NATIVE_VALUETYPE = 0x3d,
	ELEMENT_CANON = 0x3e,
	ELEMENT_MODULE = 0x3f,
};

enum todo_kind {
	TODO_TYPE,
	TODO_TEXT,       /* text is put */
	TODO_TYPES,      /* a list: its number, then so many types */
	TODO_MORE_TYPES, /* left of them */
	TODO_SHAPE,      /* of an array, after the type of its elements */
	TODO_PARAMETERS, /* left types, which are not printed */
	TODO_HOME,       /* the tokens that follow are again as was_foreign says */
};

struct todo {
	enum todo_kind kind;
	uint32_t left;
	bool is_first, was_foreign;
	const char *text;
};

struct reader {
	const struct cli_metadata *metadata;
	struct cursor *c;
	struct buf *out;
	struct buf unused; /* takes what is put while muted */
	uint32_t muted;
	uint32_t types_left;
	bool is_foreign; /* the tokens that follow are another module's */
	bool is_unknown; /* the text has a hole */
	int err;
	struct todo todo[TODO_MAX];
	size_t todo_len;
};

static const char *primitive(uint8_t element)
{
	static const char *const names[] = {
		[0x01] = "System.Void",
		[0x02] = "System.Boolean",
		[0x03] = "System.Char",
		[0x04] = "System.SByte",
		[0x05] = "System.Byte",
		[0x06] = "System.Int16",
		[0x07] = "System.UInt16",
		[0x08] = "System.Int32",
		[0x09] = "System.UInt32",
		[0x0a] = "System.Int64",
		[0x0b] = "System.UInt64",
		[0x0c] = "System.Single",
		[0x0d] = "System.Double",
		[0x0e] = "System.String",
		[0x16] = "System.TypedReference",
		[0x18] = "System.IntPtr",
		[0x19] = "System.UIntPtr",
		[0x1c] = "System.Object",
		[ELEMENT_CANON] = "System.__Canon",
	};

	return element < sizeof(names) / sizeof(names[0]) ? names[element] : NULL;
}

/* ECMA-335 II.23.2: 1, 2 or 4 bytes, the high bits of the first say how many. */
static uint32_t compressed(struct cursor *c)
{
	uint32_t first = cursor_u8(c), second;

	if (!(first & 0x80))
		return first;
	second = cursor_u8(c);
	if (!(first & 0x40))
		return (first & 0x3f) << 8 | second;
	if (first & 0x20)
		c->bad = true;
	second = second << 8 | cursor_u8(c);
	return (first & 0x1f) << 24 | second << 8 | cursor_u8(c);
}

/* The buffer that takes text now; NULL: there is room for no more. */
static struct buf *sink_of(struct reader *r)
{
	struct buf *out = r->muted > 0 ? &r->unused : r->out;

	return r->err == 0 && out->len < R2R_SIGNATURE_TEXT_MAX ? out : NULL;
}

static void mute(struct reader *r)
{
	if (r->muted++ == 0)
		r->unused.len = 0;
}

static void put_text(struct reader *r, const char *text)
{
	struct buf *out = sink_of(r);

	if (out)
		r->err = buf_puts(out, text);
}

static void put_type(struct reader *r, enum cli_table table, uint32_t row)
{
	struct buf *out = sink_of(r);
	int err;

	if (!out)
		return;
	err = r->is_foreign ? -ENOENT : cli_metadata_put_type(r->metadata, table, row, out);
	if (err == -ENOENT)
		r->is_unknown = true;
	else
		r->err = err;
}

/* TypeDefOrRefEncoded */
static void read_token(struct reader *r)
{
	uint32_t token = compressed(r->c);

	if ((token & 3) == 2)
		r->is_unknown = true;
	else
		put_type(r, token & 1 ? CLI_TYPE_REF : CLI_TYPE_DEF, token >> 2);
}

static void push(struct reader *r, struct todo todo)
{
	if (r->todo_len < TODO_MAX)
		r->todo[r->todo_len++] = todo;
	else
		r->c->bad = true;
}

static void push_type(struct reader *r)
{
	push(r, (struct todo){ .kind = TODO_TYPE });
}

static void begin_function_pointer(struct reader *r)
{
	uint32_t n;

	cursor_skip(r->c, 1); /* calling convention */
	n = compressed(r->c);
	mute(r);
	push(r, (struct todo){ .kind = TODO_PARAMETERS, .left = n + 1 });
}

/* Elements that are followed by a type or a number. */
static void begin_composed(struct reader *r, uint8_t element)
{
	const char *text = element == ELEMENT_PTR ? "*" : element == ELEMENT_BYREF ? "&" : "[]";

	switch (element) {
	case ELEMENT_PTR:
	case ELEMENT_BYREF:
	case ELEMENT_SZARRAY:
		push(r, (struct todo){ .kind = TODO_TEXT, .text = text });
		push_type(r);
		return;
	case ELEMENT_CMOD_REQD:
	case ELEMENT_CMOD_OPT:
		compressed(r->c);
		push_type(r);
		return;
	case ELEMENT_NATIVE_VALUETYPE:
		push_type(r);
		return;
	case ELEMENT_VAR:
	case ELEMENT_MVAR:
	case ELEMENT_VAR_ZAPSIG:
		compressed(r->c);
		put_text(r, "!");
		return;
	case ELEMENT_ARRAY:
		push(r, (struct todo){ .kind = TODO_SHAPE });
		push_type(r);
		return;
	default:
		r->c->bad = true;
	}
}

static void begin_type(struct reader *r)
{
	uint8_t element = cursor_u8(r->c);

	if (r->types_left == 0) {
		r->c->bad = true;
		return;
	}
	r->types_left--;
	if (primitive(element)) {
		put_text(r, primitive(element));
		return;
	}
	switch (element) {
	case ELEMENT_VALUETYPE:
	case ELEMENT_CLASS:
		read_token(r);
		return;
	case ELEMENT_GENERICINST:
		push(r, (struct todo){ .kind = TODO_TYPES });
		push_type(r);
		return;
	case ELEMENT_FNPTR:
		begin_function_pointer(r);
		return;
	case ELEMENT_MODULE:
		push(r, (struct todo){ .kind = TODO_HOME, .was_foreign = r->is_foreign });
		r->is_foreign = compressed(r->c) != 0; /* 0 is this module */
		push_type(r);
		return;
	default:
		begin_composed(r, element);
	}
}

static void go_on_with_types(struct reader *r, struct todo types)
{
	if (types.left-- == 0) {
		put_text(r, "]");
		return;
	}
	if (!types.is_first)
		put_text(r, ",");
	types.is_first = false;
	push(r, types);
	push_type(r);
}

static void go_on_with_parameters(struct reader *r, struct todo parameters)
{
	if (parameters.left-- == 0) {
		r->muted--;
		put_text(r, "(fnptr)");
		return;
	}
	push(r, parameters);
	push_type(r);
}

static void read_shape(struct reader *r)
{
	uint32_t rank = compressed(r->c);

	for (int part = 0; part < 2; part++) { /* sizes, lower bounds */
		uint32_t n = compressed(r->c);

		for (uint32_t i = 0; i < n && !r->c->bad; i++)
			compressed(r->c);
	}
	put_text(r, "[");
	for (uint32_t i = 1; i < rank && i < 32; i++)
		put_text(r, ",");
	put_text(r, "]");
}

static void go_on(struct reader *r, struct todo todo)
{
	switch (todo.kind) {
	case TODO_TYPE:
		begin_type(r);
		return;
	case TODO_TEXT:
		put_text(r, todo.text);
		return;
	case TODO_TYPES:
		put_text(r, "[");
		push(r,
			(struct todo){ .kind = TODO_MORE_TYPES,
				.left = compressed(r->c),
				.is_first = true });
		return;
	case TODO_MORE_TYPES:
		go_on_with_types(r, todo);
		return;
	case TODO_SHAPE:
		read_shape(r);
		return;
	case TODO_PARAMETERS:
		go_on_with_parameters(r, todo);
		return;
	case TODO_HOME:
		r->is_foreign = todo.was_foreign;
		return;
	}
}

/* A type, or a list of them. */
static void read_all(struct reader *r, enum todo_kind kind)
{
	push(r, (struct todo){ .kind = kind });
	while (r->todo_len > 0 && !r->c->bad)
		go_on(r, r->todo[--r->todo_len]);
}

static void put_name(struct reader *r, uint32_t offset)
{
	struct bytes name = cli_metadata_string(r->metadata, offset);

	put_text(r, "::");
	if (name.len == 0)
		r->is_unknown = true;
	else if (r->err == 0)
		r->err = buf_put(r->out, name.data, name.len);
}

static void put_member(struct reader *r, uint32_t row, bool has_owner)
{
	uint32_t name, parent;

	if (r->is_foreign || !cli_metadata_member(r->metadata, row, &name, &parent)) {
		r->is_unknown = true;
		return;
	}
	/* MemberRefParent: 0 is a TypeDef, 1 a TypeRef */
	if (!has_owner && (parent & 7) <= 1)
		put_type(r, parent & 1 ? CLI_TYPE_REF : CLI_TYPE_DEF, parent >> 3);
	else if (!has_owner)
		r->is_unknown = true;
	put_name(r, name);
}

static void put_method(struct reader *r, uint32_t row, bool has_owner)
{
	uint32_t name, type;

	if (r->is_foreign || !cli_metadata_method(r->metadata, row, &name, &type)) {
		r->is_unknown = true;
		return;
	}
	if (!has_owner)
		put_type(r, CLI_TYPE_DEF, type);
	put_name(r, name);
}

/* The runtime's own perf map does not print the arguments of methods, only of types. */
static void skip_tail(struct reader *r, uint32_t flags)
{
	bool was_unknown = r->is_unknown;

	mute(r);
	if (flags & METHOD_INSTANTIATION)
		read_all(r, TODO_TYPES);
	if (flags & METHOD_CONSTRAINED)
		read_all(r, TODO_TYPE);
	r->muted--;
	r->is_unknown = was_unknown;
}

static void read_method(struct reader *r)
{
	uint32_t flags = compressed(r->c), token;
	bool has_owner = flags & METHOD_OWNER_TYPE;

	if (flags & METHOD_OTHER_MODULE)
		r->is_foreign = compressed(r->c) != 0;
	if (has_owner)
		read_all(r, TODO_TYPE);
	token = compressed(r->c);
	if (flags & METHOD_SLOT)
		r->is_unknown = true;
	else if (flags & METHOD_MEMBER_REF)
		put_member(r, token, has_owner);
	else
		put_method(r, token, has_owner);
	skip_tail(r, flags);
}

int r2r_signature_read(const struct cli_metadata *metadata, struct cursor *c, uint32_t *types_left,
	struct buf *out)
{
	uint32_t most = *types_left < TYPES_MAX ? *types_left : TYPES_MAX;
	struct buf text = BUF_INIT;
	struct reader r = { .metadata = metadata, .c = c, .out = &text, .types_left = most };

	read_method(&r);
	*types_left -= most - r.types_left;
	if (r.err == 0 && c->bad)
		r.err = -EBADMSG;
	if (r.err == 0 && r.is_unknown)
		r.err = -ENOENT;
	if (r.err == 0)
		r.err = buf_put(out, text.data, text.len);
	buf_done(&text);
	buf_done(&r.unused);
	return r.err;
}
