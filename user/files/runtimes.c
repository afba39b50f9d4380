/* SPDX-License-Identifier: Apache-2.0 */
/* files/runtimes.c - identifies a runtime by a library that it maps, or by its program's name; its
 * perf map is searched where a capture would find it. */
#include "files/runtimes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/mappings.h"
#include "client/opener_call.h"
#include "jit/jit_files.h"
#include "jit/jit_target.h"

#define PROCESSES_MAX 64
#define TEXT_BYTES_MAX (1UL << 20)

static const struct {
	const char *library, *program, *name;
} runtimes[] = {
	{ "libcoreclr.so", NULL, ".NET" },
	{ "libjvm.so", NULL, "JVM" },
	{ NULL, "node", "Node" },
	{ NULL, "luajit", "LuaJIT" },
};

static const char *runtime_of(const struct jit_target *target)
{
	char program[64];

	jit_target_exe(target, program, sizeof(program));
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (runtimes[i].library ? jit_target_maps(target, runtimes[i].library)
					: strcmp(program, runtimes[i].program) == 0)
			return runtimes[i].name;
	return NULL;
}

/* Openers search: what is mounted in a container may never answer. */
static bool has_map(struct worker_client *worker, const struct jit_target *target)
{
	const struct opener_process process = { target->pid, target->start_ns };
	struct opener_call *call = worker_client_call(worker);
	const struct jit_files_access access = opener_call_access(call);
	struct jit_files_dirs dirs = { .len = 0 };
	struct opener_found found = { .fd = -1 };
	_cleanup_fd_ int fd = -1;
	int err = -ENOENT;
	pid_t number;

	jit_files_open_dirs(&access, &process, &dirs);
	for (size_t i = 0; i < dirs.len && err < 0; i++)
		err = opener_call_perf_map(
			call, dirs.fds[i], &process, target->ns_pid, target->uid, &found);
	jit_files_close_dirs(&dirs);
	if (err < 0)
		(void)worker_client_dump(
			worker, &process, (uint64_t)target->pid, &found, &number, NULL);
	fd = found.fd;
	return fd >= 0;
}

static void look_at(struct worker_client *worker, pid_t pid, struct runtimes *out)
{
	_cleanup_(jit_target_close) struct jit_target target = JIT_TARGET_INIT;
	const char *name;
	struct why why;

	if (pid <= 0 || jit_target_open(pid, &target, &why) < 0)
		return;
	name = runtime_of(&target);
	if (!name)
		return;
	out->name = out->processes > 0 && strcmp(out->name, name) != 0 ? "several" : name;
	out->processes++;
	out->mapped += has_map(worker, &target);
}

void runtimes_look(struct worker_client *worker, int cgroup_fd, struct runtimes *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_fd_ int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char *at;

	if (!out->name)
		out->name = "native";
	if (fd < 0 || fd_read_all(fd, TEXT_BYTES_MAX, &text) < 0 || !text.data)
		return;
	at = text.data;
	for (int i = 0; i < PROCESSES_MAX && *at; i++) {
		look_at(worker, (pid_t)strtol(at, &at, 10), out);
		at += *at == '\n';
	}
}
