/* SPDX-License-Identifier: Apache-2.0 */
/* worker/elf_file.c - the mapping lives as long as the image, which points into it. The caller asks
 * the mapping whether the file was truncated meanwhile. */
#include "worker/elf_file.h"

#include <errno.h>

enum worker_status elf_file_status(int err)
{
	switch (err) {
	case 0:
		return WORKER_OK;
	case -ENOEXEC:
		return WORKER_NOT_ELF;
	case -ENODATA:
		return WORKER_NO_DATA;
	case -ENOTSUP:
		return WORKER_MACHINE;
	case -EFBIG:
		return WORKER_TOO_LARGE;
	case -ENOMEM:
		return WORKER_MEMORY;
	default:
		return WORKER_DAMAGED;
	}
}

static enum worker_status open_with(
	int (*init)(struct image *image, const void *data, size_t len, struct why *why), int fd,
	struct elf_file *out)
{
	struct elf_file file = ELF_FILE_INIT;
	struct why why;
	enum worker_status status = mapping_open(fd, &file.mapping);

	if (status == WORKER_OK)
		status = elf_file_status(
			init(&file.image, file.mapping.data, file.mapping.len, &why));
	if (status == WORKER_OK)
		*out = file;
	else
		mapping_done(&file.mapping);
	return status;
}

enum worker_status elf_file_open(int fd, struct elf_file *out)
{
	return open_with(image_init, fd, out);
}

enum worker_status elf_file_open_part(int fd, struct elf_file *out)
{
	return open_with(image_init_part, fd, out);
}

void elf_file_close(struct elf_file *file)
{
	image_done(&file->image);
	mapping_done(&file->mapping);
}
