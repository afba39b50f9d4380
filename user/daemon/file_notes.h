/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/file_notes.h - what the account says of single files: those with the most frames that have
 * no name, why, and what would help; and debug files that were refused. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "daemon/objects.h"

#define FILE_NOTES_MAX 10

/* Lists of objects, the worst first; a new reference, or NULL without memory. */
json_t *file_notes_unnamed(const struct objects *objects);
json_t *file_notes_refused(const struct objects *objects);
/* The same as lines for a person. 0 or -ENOMEM. */
int file_notes_write(const struct objects *objects, struct buf *out);
