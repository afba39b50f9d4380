/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - runtimes that run already, played by a test's own program: a process with the socket
 * (and, for a JVM, the mapping) by which the real one is known. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct runtime {
	char dir[32]; /* of its map, but for a JVM: that is in /tmp */
	pid_t pid;
};

/* What main() has to return where its arguments are `serve MODE`. */
int runtime_serve(const char *mode);
/* variable: of its environment, NULL: none. */
void runtime_start(struct runtime *runtime, const char *mode, const char *variable);
void runtime_stop(struct runtime *runtime);
/* format: of its pid. */
bool runtime_has(const struct runtime *runtime, const char *format);
/* A socket at this path; ends the process if there can be none. */
int runtime_listen(const char *path);
