/* SPDX-License-Identifier: Apache-2.0 */
/* jit/dotnet_ipc.h - the diagnostics socket of a .NET runtime (5 and later; what matters here, 8
 * and later). One request a connection. Everything the runtime answers is bounded and believed no
 * further than it can be printed. Source: the IPC protocol in the documentation of
 * github.com/dotnet/diagnostics (documentation/design-docs/ipc-protocol.md). */
#pragma once

#include "base/err.h"
#include "jit/jit_target.h"

#define DOTNET_IPC_TEXT_MAX 256

/* What EnablePerfMap makes the runtime write; the numbers are the protocol's. */
enum dotnet_ipc_files {
	DOTNET_IPC_ALL = 1,     /* perf map and jitdump */
	DOTNET_IPC_JITDUMP = 2, /* which has precompiled methods too */
	DOTNET_IPC_PERF_MAP = 3,
};

struct dotnet_ipc_info {
	char version[DOTNET_IPC_TEXT_MAX]; /* of the runtime, "9.0.5"; "" from one before 6 */
	char entry[DOTNET_IPC_TEXT_MAX];   /* the assembly with Main; "" when it is not told */
};

/* All find the socket anew. -ENOENT: there is none; -EACCES: it is another user's; -ENOSYS: this
 * runtime is too old for the request; -EPROTO: an answer that makes no sense; -EREMOTEIO: the
 * runtime refused, why has its code; -ETIMEDOUT; others as unix_client_connect(). */

/* Methods that are compiled already are written too, before this returns. */
int dotnet_ipc_enable(
	const struct jit_target *target, enum dotnet_ipc_files files, struct why *why);
/* The files stay. */
int dotnet_ipc_disable(const struct jit_target *target, struct why *why);
int dotnet_ipc_info(const struct jit_target *target, struct dotnet_ipc_info *out, struct why *why);
