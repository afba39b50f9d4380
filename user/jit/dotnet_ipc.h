/* SPDX-License-Identifier: Apache-2.0 */
/* jit/dotnet_ipc.h - the diagnostics socket of a .NET runtime (5 and later; perf maps need 8). One
 * request a connection. Answers are untrusted: they are bounded and only printed. Source: the IPC
 * protocol in the documentation of github.com/dotnet/diagnostics
 * (documentation/design-docs/ipc-protocol.md). */
#pragma once

#include "base/err.h"
#include "jit/jit_target.h"

#define DOTNET_IPC_TEXT_MAX 256

/* Files that EnablePerfMap makes the runtime write; the numbers are the protocol's. */
enum dotnet_ipc_files {
	DOTNET_IPC_ALL = 1,     /* perf map and jitdump */
	DOTNET_IPC_JITDUMP = 2, /* also has precompiled methods */
	DOTNET_IPC_PERF_MAP = 3,
};

struct dotnet_ipc_info {
	char version[DOTNET_IPC_TEXT_MAX]; /* of the runtime, "9.0.5"; "" before .NET 6 */
	char entry[DOTNET_IPC_TEXT_MAX];   /* the assembly with Main; "" if unknown */
};

/* Each call finds the socket again. -ENOENT: none; -EACCES: another user's; -ENOSYS: the runtime is
 * too old for the request; -EPROTO: a malformed answer; -EREMOTEIO: the runtime refused, why has
 * its code; -ETIMEDOUT; others as unix_client_connect(). */

/* On return the methods that were already compiled are written too. */
int dotnet_ipc_enable(
	const struct jit_target *target, enum dotnet_ipc_files files, struct why *why);
/* The files remain. */
int dotnet_ipc_disable(const struct jit_target *target, struct why *why);
int dotnet_ipc_info(const struct jit_target *target, struct dotnet_ipc_info *out, struct why *why);
