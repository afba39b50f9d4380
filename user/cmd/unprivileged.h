/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/unprivileged.h - for commands that only read files and write one: drops the program's
 * privileges (file capabilities) before it reads untrusted data. Root stays root, because only root
 * may be able to read the files. */
#pragma once

#include "base/err.h"

/* Also lets a write to a closed pipe fail instead of killing the process. -EPERM with why. */
int unprivileged_begin(struct why *why);
