/* SPDX-License-Identifier: Apache-2.0 */
/* containers/cgroup_view.h - through whose mounts cgroups are looked at. In a container that has
 * the host's processes but mounts of its own, those show a part of the cgroups only; process 1's
 * show all. */
#pragma once

#include <stdbool.h>

/* "/proc/self" or "/proc/1": its mountinfo says where they are mounted, below its root. */
const char *cgroup_view(void);
/* It shows a part only, and there is no better one. */
bool cgroup_view_is_partial(void);
