/* SPDX-License-Identifier: Apache-2.0 */
/* dotnet/r2r_signature.h - which generic method with which arguments a ReadyToRun entry is about,
 * as text: `System.Collections.Generic.List`1[System.__Canon]::Add`. Source: ECMA-335 II.23.2
 * (signatures) and dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md (method and type
 * signatures). */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "dotnet/cli_metadata.h"

#define R2R_SIGNATURE_TEXT_MAX 2048

/* Reads one method signature and appends its name. The cursor then stands behind it. *types_left is
 * how many types may be read still, in this signature and those after it. 0; -ENOENT: it was read,
 * but names something that is in another module; -EBADMSG: it makes no sense, and where it ends is
 * not known; -ENOMEM. */
int r2r_signature_read(const struct cli_metadata *metadata, struct cursor *c, uint32_t *types_left,
	struct buf *out);
