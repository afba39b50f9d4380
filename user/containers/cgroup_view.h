/* SPDX-License-Identifier: Apache-2.0 */
/* containers/cgroup_view.h - chooses the mounts through which cgroups are read. In a container with
 * the host's processes but its own mounts, these show a part of the cgroups only; process 1's show
 * all. */
#pragma once

#include <stdbool.h>

/* "/proc/self" or "/proc/1": its mountinfo has the mounts, which are below its root. */
const char *cgroup_view(void);
/* True: the view is incomplete, and there is no better one. */
bool cgroup_view_is_partial(void);
