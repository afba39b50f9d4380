/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/opened.c - judges a descriptor by its flags, its seals and what BPF reads of its file. An
 * opener that was taken over may hand over any. */
#include "sampler/opened.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>

#include "base/fd.h"
#include "proc/file_system.h"
#include "sampler/file_key.h"

bool opened_is(struct sampler *sampler, int fd, enum opened as)
{
	int flags = fcntl(fd, F_GETFL);
	uint32_t magic;

	if (flags < 0 || as == OPENED_FOLDER)
		return flags >= 0 && (flags & O_PATH);
	if (as == OPENED_COPY)
		return fd_is_sealed(fd);
	if ((flags & (O_PATH | O_ACCMODE)) != O_RDONLY)
		return false;
	if (as == OPENED_OURS)
		return true;
	return file_key_magic(sampler, fd, &magic) == 0 &&
		(file_system_is_local(magic) ||
			(as == OPENED_PROVEN && magic == OVERLAYFS_SUPER_MAGIC));
}
