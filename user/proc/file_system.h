/* SPDX-License-Identifier: Apache-2.0 */
/* proc/file_system.h - the file systems that answer by themselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* magic: statfs(2), f_type. False: a call that concerns a file of it may wait for another machine,
 * for a process that any user may have started (FUSE), or for a layer of such a kind (overlayfs);
 * or it is not known. */
bool file_system_is_local(uint32_t magic);
