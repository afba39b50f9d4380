/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jvm_attach.h - sends commands to a running HotSpot, as jcmd does. A JVM opens its socket on
 * the first SIGQUIT, which kills a process that does not expect it. So the signal is sent only to a
 * HotSpot that catches it and does not have attaching disabled. A child with the JVM's user and
 * group does all work on the JVM's files and socket.
 * Source: OpenJDK, src/jdk.attach/linux and src/hotspot/os/posix/attachListener_posix.cpp. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "jit/jit_target.h"

#define JVM_ATTACH_REPLY_MAX (1U << 20)

/* Is it a HotSpot? Judged by its mappings. */
bool jvm_attach_is_hotspot(const struct jit_target *target);

/* Sends a command of jcmd ("Compiler.perfmap") and appends the answer's text, with a NUL. -ENOSYS:
 * this Java has no such command; -ENOTSUP: not a HotSpot, or attaching is impossible (see why);
 * -EREMOTEIO: the command failed, why has its first line; -ETIMEDOUT: no answer; others. */
int jvm_attach_command(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why);
/* The same, only for a JVM that was attached to before: else -ENOENT. Sends no signal. */
int jvm_attach_command_quietly(
	const struct jit_target *target, const char *command, struct buf *reply, struct why *why);
