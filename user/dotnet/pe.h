/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/pe.h - the headers of a PE file (32 and 64 bit, any machine), as .NET maps them on Linux
 * too. What lies where is told in RVAs, addresses relative to the image's start; the file is mapped
 * by sections, so a place in the file is an offset in a section's raw data. Nothing is allocated;
 * the bytes are the caller's and outlive the pe. Source: Microsoft, "PE Format". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"

#define PE_SECTIONS_MAX 96 /* Windows loads no more */
#define PE_DIRECTORIES 16
#define PE_DIRECTORY_CLI 14 /* the header of .NET */

struct pe_section {
	uint32_t rva;
	uint32_t size; /* that the file holds, no more than the section has in memory */
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
	struct pe_directory directories[PE_DIRECTORIES]; /* zeroed where there is none */
};

/* -ENOEXEC: no PE; -EBADMSG: one whose headers lead out of its bytes. */
int pe_init(struct pe *pe, const void *data, size_t len, struct why *why);
/* The section that holds the byte in the file; NULL: none does. */
const struct pe_section *pe_section_of(const struct pe *pe, uint32_t rva);
bool pe_rva_to_offset(const struct pe *pe, uint32_t rva, uint32_t *offset);
/* size bytes at an RVA, all in one section. False: they are not in the file. */
bool pe_bytes(const struct pe *pe, uint32_t rva, uint32_t size, struct bytes *out);
