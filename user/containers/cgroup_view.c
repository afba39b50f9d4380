/* SPDX-License-Identifier: Apache-2.0 */
/* containers/cgroup_view.c - a mount is complete if its root is the hierarchy's root. But in a
 * cgroup namespace of our own every root looks like that. */
#include "containers/cgroup_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cgroup/mounts.h"
#include "proc/pid_namespace.h"

#define HOST_NUMBER 0xeffffffbU /* linux/proc_ns.h, PROC_CGROUP_INIT_INO */

static bool is_whole(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct stat st;

	if (stat("/proc/self/ns/cgroup", &st) == 0 && (uint32_t)st.st_ino != HOST_NUMBER)
		return false;
	return fd_read_path("/proc/self/mountinfo", MOUNTS_BYTES_MAX, &text) < 0 ||
		buf_putc(&text, '\0') < 0 || mounts_are_whole(text.data);
}

/* In a pid namespace of its own, process 1 is nobody to be believed. */
static bool shows_init(void)
{
	return pid_namespace_is_host() && access("/proc/1/root/proc", F_OK) == 0;
}

const char *cgroup_view(void)
{
	return !is_whole() && shows_init() ? "/proc/1" : "/proc/self";
}

bool cgroup_view_is_partial(void)
{
	return !is_whole() && !shows_init();
}
