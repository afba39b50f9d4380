/* SPDX-License-Identifier: Apache-2.0 */
/* base/dir.h - a folder that is being listed, as a local: _cleanup_(dir_closep) DIR *list. */
#pragma once

#include <dirent.h>

#include "base/own.h"

static inline void dir_close(DIR *dir)
{
	if (dir)
		closedir(dir);
}

DEFINE_CLEANUP(DIR, dir_close)
