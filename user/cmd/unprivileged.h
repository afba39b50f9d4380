/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/unprivileged.h - for commands that only read files and write one: whatever the program's own
 * file allows (file capabilities) is given up before anybody's bytes are read. Root stays root, as
 * the files may be root's alone. */
#pragma once

#include "base/err.h"

/* And a reader that closes its pipe is an error of a write, not the end. -EPERM with why. */
int unprivileged_begin(struct why *why);
