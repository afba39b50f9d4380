/* SPDX-License-Identifier: Apache-2.0 */
/* traps/narrow.h - the part of a profile that is of some processes. */
#pragma once

#include "profile/profile.h"
#include "profile/slice.h"
#include "traps/thread_times.h"

/* As profile_add_slice, of these processes alone. 0 or -ENOMEM. */
int narrow_add_slice(const struct profile *profile, const struct thread_pids *pids,
	struct slice *slice, struct profile *out);
/* Adds the waits of a subject in the slice's range of time: of these processes, or of all with its
 * labels if it is given neither a pid nor a command. 0 or -ENOMEM. */
int narrow_add_waits(const struct profile *profile, const struct thread_whose *whose,
	const struct thread_pids *pids, const struct slice *range, struct profile *out);
