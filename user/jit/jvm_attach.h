/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jvm_attach.h - commands for a running HotSpot, as jcmd sends them. A JVM that has not been
 * talked to yet opens its socket on SIGQUIT, which ends a process that does not expect it: so none
 * is sent unless the process is a HotSpot that catches it and did not have attaching turned off.
 * All that is done to the JVM's files and socket is done by a child with the JVM's user and group.
 * Source: OpenJDK, src/jdk.attach/linux and src/hotspot/os/posix/attachListener_posix.cpp. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "jit/jit_target.h"

#define JVM_ATTACH_REPLY_MAX (1U << 20)

/* Is it a HotSpot? Looks at what is mapped. */
bool jvm_attach_is_hotspot(const struct jit_target *target);

/* Sends a command of jcmd ("Compiler.perfmap") and appends the answer's text, with a NUL. -ENOSYS:
 * no such command in this Java; -ENOTSUP: no HotSpot, or one that cannot be attached to (why says
 * how); -EREMOTEIO: the command failed, why has its first line; -ETIMEDOUT: it does not answer;
 * others. */
int jvm_attach_command(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why);
/* The same for a JVM that was attached to before: -ENOENT when it was not. Sends no signal. */
int jvm_attach_command_quietly(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why);
