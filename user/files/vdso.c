/* SPDX-License-Identifier: Apache-2.0 */
/* files/vdso.c - the vDSO is not a file, but a worker reads files. The kernel gives its address
 * without a size, but its section headers are at its end. */
#include "files/vdso.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/fd.h"

#define VDSO_BYTES_MAX (16UL << 12)

int vdso_copy(int *fd)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t sections_at;
	uint16_t entry_size, entries;
	size_t size;

	if (!vdso)
		return -ENOENT;
	memcpy(&sections_at, vdso + 0x28, sizeof(sections_at)); /* e_shoff, e_shentsize, e_shnum */
	memcpy(&entry_size, vdso + 0x3a, sizeof(entry_size));
	memcpy(&entries, vdso + 0x3c, sizeof(entries));
	size = sections_at + (size_t)entry_size * entries;
	return fd_in_memory("vdso", vdso, size < VDSO_BYTES_MAX ? size : VDSO_BYTES_MAX, fd);
}
