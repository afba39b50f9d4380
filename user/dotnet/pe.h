/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/pe.h - the headers of a PE file (32 and 64 bit, any machine), which .NET also maps on
 * Linux. Places are RVAs, addresses relative to the image's start; the file is mapped by sections,
 * so a place in the file is an offset in a section's raw data. Nothing is allocated; the bytes are
 * the caller's and must outlive the pe. Source: Microsoft, "PE Format". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"

#define PE_SECTIONS_MAX 96 /* Windows loads no more */
#define PE_DIRECTORIES 16
#define PE_DIRECTORY_CLI 14 /* the .NET header */

struct pe_section {
	uint32_t rva;
	uint32_t size; /* size in the file, at most the section's size in memory */
	uint32_t file_offset;
	bool executable;
};

struct pe_directory {
	uint32_t rva;
	uint32_t size;
};

struct pe {
	struct bytes file;
	uint16_t machine;
	uint32_t sections_len;
	struct pe_section sections[PE_SECTIONS_MAX];
	struct pe_directory directories[PE_DIRECTORIES]; /* zeroed if missing */
};

/* -ENOEXEC: not PE; -EBADMSG: headers that point outside the bytes. */
int pe_init(struct pe *pe, const void *data, size_t len, struct why *why);
/* The section that contains the RVA in the file; NULL: none. */
const struct pe_section *pe_section_of(const struct pe *pe, uint32_t rva);
bool pe_rva_to_offset(const struct pe *pe, uint32_t rva, uint32_t *offset);
/* size bytes at an RVA, all in one section. False: not in the file. */
bool pe_bytes(const struct pe *pe, uint32_t rva, uint32_t size, struct bytes *out);
