/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r_signature.h - the generic method and arguments of a ReadyToRun entry as text:
 * `System.Collections.Generic.List`1[System.__Canon]::Add`. Source: ECMA-335 II.23.2 (signatures)
 * and dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md (method and type
 * signatures). */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "dotnet/cli_metadata.h"

#define R2R_SIGNATURE_TEXT_MAX 2048

/* Reads one method signature, appends its name, and leaves the cursor after it. *types_left is the
 * remaining limit of types, in this signature and later ones. 0; -ENOENT: it names something in
 * another module; -EBADMSG: malformed, and its end is unknown; -ENOMEM. */
int r2r_signature_read(const struct cli_metadata *metadata, struct cursor *c, uint32_t *types_left,
	struct buf *out);
