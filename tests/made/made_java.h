/* SPDX-License-Identifier: Apache-2.0 */
/* made_java.h - memory as that of a process with HotSpot: a method a.A.run that has compiled code,
 * and two more, a.B.inner and C.leaf, that may be a part of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "language/java_image.h"

#define JAVA_PARTS_MAX 64
#define JAVA_PART_BYTES 512

#define JAVA_BLOB 0x7f0000100000ULL
#define JAVA_TABLES 0x7f0000200000ULL
#define JAVA_METADATA 0x7f0000300000ULL
#define JAVA_METHODS 0x7f0000400000ULL
#define JAVA_CODE_SIZE 40
#define JAVA_COMPILE_ID 77

enum made_java_kind { JAVA_TOGETHER, JAVA_APART };

struct made_java {
	struct java_layout layout;
	struct {
		uint64_t at;
		uint8_t bytes[JAVA_PART_BYTES];
	} parts[JAVA_PARTS_MAX];
	size_t parts_len;
	struct buf scopes;
	struct java_wanted code;
	int rounds; /* that the latest reading took */
};

void made_java_begin(struct made_java *made, enum made_java_kind kind);
void made_java_done(struct made_java *made);
void made_java_set(struct made_java *made, uint64_t at, uint64_t value, size_t width);
void made_java_symbol(struct made_java *made, uint64_t at, const char *text);
void made_java_put_number(struct made_java *made, struct buf *out, uint32_t value);
void made_java_put_signed(struct made_java *made, struct buf *out, int32_t value);
/* method: from 1 on. Returns the offset of the scope. */
uint32_t made_java_scope(struct made_java *made, uint32_t sender, uint32_t method, int32_t bci);
/* Describes places up to this one. */
void made_java_place(struct made_java *made, uint32_t number, int32_t end, uint32_t scope);
/* places_len: of those that were described. */
void made_java_finish(struct made_java *made, uint32_t places_len);
/* Reads as files/java_codes.c does. *reply is the last one, which has tables; else the error. */
int made_java_read(struct made_java *made, struct buf *reply);
