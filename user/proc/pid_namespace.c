/* SPDX-License-Identifier: Apache-2.0 */
/* proc/pid_namespace.c - a namespace's number is its file's inode number in nsfs. */
#include "proc/pid_namespace.h"

#include <sys/stat.h>

#define HOST_NUMBER 0xeffffffcU /* linux/proc_ns.h, PROC_PID_INIT_INO */

uint32_t pid_namespace_number(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint32_t)st.st_ino;
}

bool pid_namespace_is_host(void)
{
	return pid_namespace_number() == HOST_NUMBER;
}
