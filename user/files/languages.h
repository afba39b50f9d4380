/* SPDX-License-Identifier: Apache-2.0 */
/* files/languages.h - describes to BPF the runtimes that workers have found. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct object;
struct publish;
struct worker_rows;

/* A file that is no runtime, or of a version that is not known, shows native frames alone. */
void languages_describe(
	struct publish *publish, struct object *object, const struct worker_rows *rows);
/* How the frames of the runtime that is in the file are walked and named, in words. False: there is
 * none. */
bool languages_note(const struct worker_rows *rows, char *out, size_t size);
