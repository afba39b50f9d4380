/* SPDX-License-Identifier: Apache-2.0 */
/* agent/file_notes.h - the account's notes on single files: those with the most unnamed frames, the
 * cause and a remedy; and refused debug files. */
#pragma once

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "files/objects.h"

#define FILE_NOTES_MAX 10

/* Lists of objects, the worst first; a new reference, or NULL without memory. */
json_t *file_notes_unnamed(const struct objects *objects);
json_t *file_notes_refused(const struct objects *objects);
/* The reason why a debug file is not used, by its fate (enum worker_debug); NULL: it is used or was
 * not examined. */
const char *file_notes_refusal(uint8_t fate);
/* Does it have at most the names of its exports? Then a debug file would help. */
bool file_notes_stripped(size_t symbols, uint32_t sources);
/* Appends a remedy for such a file, by its name. 0 or -ENOMEM. */
int file_notes_put_advice(struct buf *out, const char *name);
/* The same as text for a person. 0 or -ENOMEM. */
int file_notes_write(const struct objects *objects, struct buf *out);
