/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - a stopped process's stack, by the code that runs in the kernel. */
#pragma once

#include <sys/user.h>

#include "chain.h"
#include "record.h"
#include "space.h"

/* What a sample would hold if a tick came now. record: NULL, or where to note what the walk asked
 * for. */
void walk_now(struct space *space, const struct user_regs_struct *regs, struct chain *out,
	struct record *record);
