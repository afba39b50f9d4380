/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/resource.h - the text of that for which a thread waits: a socket by the end that many
 * connections share, a file by the end of its path. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

#define RESOURCE_TEXT_MAX 160 /* bytes, with the NUL; whole words */

/* The length, without the NUL; 0: there is nothing to say. The text is of the shapes
 *     tcp 10.0.0.7:5432   the other end, of a connection that goes there
 *     tcp :8080           the own port: for connections, or on one that came there
 *     unix /run/x.sock, unix @name, file /a/b, file .../b/c/d/e, futex 0x7f0000001000
 *     time                a poll without descriptors: the thread sleeps
 * Bytes of paths are as they are in the kernel. */
size_t resource_text(const struct visit_resource *resource, char *out, size_t size);

/* Does this text name the other end of a connection that the program made? */
bool resource_is_peer(const char *text);
bool resource_is_time(const char *text);
bool resource_is_futex(const char *text);
/* Can a thread of this state (profile/marks.h) wait for it? Under the descriptor of a socket that
 * was closed a file may be open by now. */
bool resource_fits(const char *text, const char *state);
