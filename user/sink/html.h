/* SPDX-License-Identifier: Apache-2.0 */
/* sink/html.h - the page that shows a profile, or how two differ, in one file without any request
 * to outside. Its script is in user/sink/page/. */
#pragma once

#include "sink/diff.h"
#include "sink/sink.h"

/* before and after; names: what to call them, raw. 0 or -ENOMEM. */
int html_write_diff(const struct profile *const profiles[2], const char *const names[2],
	const struct sink_options *options, enum diff_scale scale, struct buf *out);
