/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sandbox.h - a process locks itself in for good.
 * Afterwards it can use memory, clocks, and descriptors that it has or receives; any other system
 * call kills it. Guaranteed: no capability, no new privileges, not traceable, limits, the list of
 * system calls. The rest depends on the starter's privileges:
 *     an own empty read-only root and no network, by namespaces (CAP_SYS_ADMIN, or a user
 *     namespace), else a chroot into an empty place; no file by Landlock; an own user. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SANDBOX_NAMESPACES 1U /* own mounts (an empty root), network, IPC */
#define SANDBOX_USER_NS 2U    /* by a user namespace: outside, the user stays the starter's */
#define SANDBOX_CHROOT 4U
#define SANDBOX_LANDLOCK 8U
#define SANDBOX_USER 16U /* runs as a user of worker/users.h, which owns nothing */
#define SANDBOX_PROC 32U /* of mounts of its own only /proc, read-only */

/* Private writable memory. Mapped files do not count. */
#define SANDBOX_DATA_BYTES_MAX (1UL << 30)
#define SANDBOX_FILE_BYTES_MAX (128UL << 20) /* of a memfd: 40 million rows */
#define SANDBOX_FDS_MAX 16

/* For a process that serves connections. */
#define SANDBOX_SERVER_FDS_MAX 256

/* Call it once, single-threaded. *report: the SANDBOX_* that were achieved. -errno: a guaranteed
 * part failed, -EUSERS if no user is left, and the process must exit. */
int sandbox_enter(uint32_t *report);

/* Why that failed, or for a server what follows, for a message. */
const char *sandbox_failure(bool server);
/* Why no opener can be had; NULL: nothing is known that prevents it. */
const char *sandbox_opener_failure(void);

/* The same for a process that accepts connections on a listener, which it cannot change
 * (filter_keep_listener), may have threads, and reads the files below one directory, which becomes
 * its root and its working directory. Its user is USERS_SERVER or the next, with the directory's
 * group where that may read there. It cannot connect or change files. */
int sandbox_enter_server(int listener, int directory, uint32_t *report);

/* For a process that opens files of others to read them. It keeps these capabilities, and /proc of
 * all it had. With SANDBOX_PROC and SANDBOX_USER it can open nothing for writing but what everybody
 * may write: not its own /proc, and elsewhere, where the mounts are those of other processes, only
 * what its user may. Without the rights for them, both stay the starter's. */
int sandbox_enter_opener(uint64_t keep, uint32_t *report);

/* The same for a daemon that samples nothing: no capability, a user of USERS_SERVER, FILTER_IDLE.
 */
int sandbox_enter_idle(uint32_t *report);

/* For processes with other sandboxes. Limits of descriptors, of a file's size and of private
 * memory: lower ones stay. -errno. */
int sandbox_limit(uint64_t fds_max, uint64_t file_bytes_max, uint64_t data_bytes_max);
/* By Landlock, where the kernel has it: this process makes no file and opens none for writing. It
 * must have set PR_SET_NO_NEW_PRIVS. True: it is denied. */
bool sandbox_deny_writing(void);
