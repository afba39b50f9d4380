/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/flush.h - stdout at the end of a command. */
#pragma once

#include "base/err.h"

/* -errno with why: something could not be written, now or before. */
int flush_stdout(struct why *why);
