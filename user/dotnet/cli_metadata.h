/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/cli_metadata.h - names of types and methods from the metadata of a .NET assembly, read in
 * place; nothing is allocated, and the bytes must outlive it. Rows count from 1. Source: ECMA-335,
 * partition II, sections 22 (tables) and 24 (their layout). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

#define CLI_TABLES 64
#define CLI_TABLES_READ 42 /* up to NestedClass */
#define CLI_COLUMNS_MAX 9
#define CLI_NAME_MAX 1024 /* of one name; a longer one is ignored */
#define CLI_NESTED_MAX 16 /* nesting of types */

enum cli_table {
	CLI_TYPE_REF = 1,
	CLI_TYPE_DEF = 2,
	CLI_METHOD_DEF = 6,
	CLI_MEMBER_REF = 10,
	CLI_TYPE_SPEC = 27,
	CLI_NESTED_CLASS = 41,
};

struct cli_metadata {
	struct bytes strings;
	struct bytes tables;
	uint8_t heap_sizes;
	uint32_t rows[CLI_TABLES];
	/* offset of each column in a row; after the last one the row's size */
	uint8_t columns[CLI_TABLES_READ][CLI_COLUMNS_MAX + 1];
	uint64_t at[CLI_TABLES_READ]; /* offset of the first row in tables */
};

/* -EBADMSG: no metadata, or the uncompressed kind that only compilers use. */
int cli_metadata_init(struct cli_metadata *metadata, struct bytes bytes);

/* The offset of the method's name in strings, and the row of its type. False: no such method. */
bool cli_metadata_method(
	const struct cli_metadata *metadata, uint32_t row, uint32_t *name, uint32_t *type);
/* The same for a MemberRef. Its parent is returned as encoded: a coded index with a tag of three
 * bits (TypeDef, TypeRef, ModuleRef, MethodDef, TypeSpec). */
bool cli_metadata_member(
	const struct cli_metadata *metadata, uint32_t row, uint32_t *name, uint32_t *parent);
/* The string at an offset; empty if it is too long or outside. */
struct bytes cli_metadata_string(const struct cli_metadata *metadata, uint32_t offset);

/* Appends `Namespace.Outer+Inner` of a row of TypeDef or TypeRef. -ENOENT: no such type, or no
 * name; -ENOMEM. */
int cli_metadata_put_type(
	const struct cli_metadata *metadata, enum cli_table table, uint32_t row, struct buf *out);
