/* SPDX-License-Identifier: Apache-2.0 */
/* agent/file_notes.h - what the account says of single files: those with the most frames that have
 * no name, why, and what would help; and debug files that were refused. */
#pragma once

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "agent/objects.h"

#define FILE_NOTES_MAX 10

/* Lists of objects, the worst first; a new reference, or NULL without memory. */
json_t *file_notes_unnamed(const struct objects *objects);
json_t *file_notes_refused(const struct objects *objects);
/* Why a debug file is not used, by its fate (enum worker_debug); NULL: it is, or nobody looked. */
const char *file_notes_refusal(uint8_t fate);
/* Has it but names of what it exports, or none at all? A debug file would help. */
bool file_notes_stripped(size_t symbols, uint32_t sources);
/* What would help such a file, by its name. 0 or -ENOMEM. */
int file_notes_put_advice(struct buf *out, const char *name);
/* The same as lines for a person. 0 or -ENOMEM. */
int file_notes_write(const struct objects *objects, struct buf *out);
