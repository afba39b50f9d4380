/* SPDX-License-Identifier: Apache-2.0 */
/* worker/elf_file.h - the ELF file behind a descriptor: mapped, and its headers read. The
 * descriptor is not needed any more. */
#pragma once

#include "elf/image.h"
#include "worker/mapping.h"

struct elf_file {
	struct mapping mapping; /* len 0: there is none */
	struct image image;
};

#define ELF_FILE_INIT                   \
	{                               \
		.mapping = MAPPING_INIT \
	}

/* What an error of a parser is to the client. */
enum worker_status elf_file_status(int err);
enum worker_status elf_file_open(int fd, struct elf_file *out);
/* The same for a file of any type. */
enum worker_status elf_file_open_part(int fd, struct elf_file *out);
void elf_file_close(struct elf_file *file);
