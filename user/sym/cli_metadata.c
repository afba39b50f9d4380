/* SPDX-License-Identifier: Apache-2.0 */
/* sym/cli_metadata.c - the widths of the columns depend on how many rows the tables have that they point
 * into, so the schema of all tables stands here, though few are read. A column is a letter:
 * 2, 4: bytes; s, g, b: offset in a heap; i and a table: its row; c and a kind: a row of one of several
 * tables, with a tag in the low bits. */
#include "sym/cli_metadata.h"

#include <errno.h>
#include <string.h>

#define ROOT_MAGIC 0x424a5342
#define STREAMS_MAX 16

#define HEAP_STRINGS 1
#define HEAP_GUIDS 2
#define HEAP_BLOBS 4

enum {
	FIELD = 4,
	PARAM = 8,
	EVENT = 20,
	PROPERTY = 23,
	MODULE_REF = 26,
	ASSEMBLY_REF = 35,
	GENERIC_PARAM = 42,
};

/* Which tables a coded column can point into, as a set, and how many bits its tag has. */
static const struct {
	char kind;
	uint8_t tag_bits;
	uint64_t tables;
} coded[] = {
#define T(n) (1ULL << (n))
	{ 't', 2, T(2) | T(1) | T(27) },                          /* TypeDefOrRef */
	{ 'k', 2, T(4) | T(8) | T(23) },                          /* HasConstant */
	{ 'a', 5, T(6) | T(4) | T(1) | T(2) | T(8) | T(9) | T(10) | T(0) | T(14) | T(23) | T(20) |
			T(17) | T(26) | T(27) | T(32) | T(35) | T(38) | T(39) | T(40) | T(42) |
			T(44) | T(43) },                          /* HasCustomAttribute */
	{ 'm', 1, T(4) | T(8) },                                  /* HasFieldMarshal */
	{ 'd', 2, T(2) | T(6) | T(32) },                          /* HasDeclSecurity */
	{ 'p', 3, T(2) | T(1) | T(26) | T(6) | T(27) },           /* MemberRefParent */
	{ 's', 1, T(20) | T(23) },                                /* HasSemantics */
	{ 'r', 1, T(6) | T(10) },                                 /* MethodDefOrRef */
	{ 'f', 1, T(4) | T(6) },                                  /* MemberForwarded */
	{ 'i', 2, T(38) | T(35) | T(39) },                        /* Implementation */
	{ 'y', 3, T(6) | T(10) },                                 /* CustomAttributeType */
	{ 'o', 2, T(0) | T(26) | T(35) | T(1) },                  /* ResolutionScope */
	{ 'g', 1, T(2) | T(6) },                                  /* TypeOrMethodDef */
#undef T
};

/* Rows of other tables are written as characters above '0': table n is '0' + n. */
#define ROW(n) (char)('0' + (n))
static const char *const schema[CLI_TABLES] = {
	[0] = "2sggg",
	[1] = "coss",
	[2] = "4ssct" "i4" "i6",
};
