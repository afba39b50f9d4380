/* SPDX-License-Identifier: Apache-2.0 */
/* worker/elf_file.h - maps an ELF file and reads its headers. The descriptor is not needed
 * afterwards. */
#pragma once

#include "elf/image.h"
#include "worker/mapping.h"

struct elf_file {
	struct mapping mapping; /* len 0: none */
	struct image image;
};

#define ELF_FILE_INIT                   \
	{                               \
		.mapping = MAPPING_INIT \
	}

/* Converts a parser's error for the client. */
enum worker_status elf_file_status(int err);
enum worker_status elf_file_open(int fd, struct elf_file *out);
/* The same for any type of ELF file. */
enum worker_status elf_file_open_part(int fd, struct elf_file *out);
void elf_file_close(struct elf_file *file);
