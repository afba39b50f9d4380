/* SPDX-License-Identifier: Apache-2.0 */
/* sink/html.h - a page that shows a profile or the difference of two, in one file that sends no
 * request. Its script is in user/sink/page/. */
#pragma once

#include "sink/diff.h"
#include "sink/sink.h"

/* profiles and names: before and after; names are raw text. Returns buf_err(out). */
int html_write_diff(const struct profile *const profiles[2], const char *const names[2],
	const struct sink_options *options, enum diff_scale scale, struct buf *out);
