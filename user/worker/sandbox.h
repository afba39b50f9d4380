/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sandbox.h - a process shuts itself in, for good.
 * Afterwards it can use memory, the descriptors it has or is sent, and clocks; any other system
 * call kills it. What always holds: no capability, no new privileges, not traceable, limits, the
 * list of system calls. The rest, by what the starter may do:
 *     an own empty read-only root and no network, by namespaces (CAP_SYS_ADMIN, or a user
 *     namespace), else a chroot into an empty place; no file by Landlock; an own user. */
#pragma once

#include <stdint.h>

#define SANDBOX_NAMESPACES 1U /* own mounts (an empty root), network, IPC */
#define SANDBOX_USER_NS 2U    /* had by a user namespace: the user outside is still the starter's */
#define SANDBOX_CHROOT 4U
#define SANDBOX_LANDLOCK 8U
#define SANDBOX_USER 16U /* runs as SANDBOX_UID, which nothing belongs to */

#define SANDBOX_UID 65534
/* Private writable memory. Mapped files do not count. */
#define SANDBOX_DATA_BYTES_MAX (1UL << 30)
#define SANDBOX_FILE_BYTES_MAX (512UL << 20) /* of a memfd */
#define SANDBOX_FDS_MAX 16

/* One that serves connections. */
#define SANDBOX_SERVER_UID 65533
#define SANDBOX_SERVER_FDS_MAX 256

/* Once, single-threaded. *report: SANDBOX_* that were had. -errno: one of what must always hold
 * could not be had, and the process is fit for nothing. */
int sandbox_enter(uint32_t *report);

/* The same for a process that accepts connections on a socket that it has, may have threads, and
 * reads the files below one directory, which becomes its root and its working directory. Its user
 * is SANDBOX_SERVER_UID if that one may read there. It connects to nothing and changes no file. */
int sandbox_enter_server(int directory, uint32_t *report);
