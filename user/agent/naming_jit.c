/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming_jit.c - names places in code of JITs by the perf map or the jitdump of their
 * process; what neither has is one frame of the process (profile/jit_code.h). */
#include "agent/naming_batch.h"

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/jit_code.h"

static const enum name_source map_sources[] = {
	[WORKER_PERF_MAP] = NAME_PERFMAP,
	[WORKER_JITDUMP] = NAME_JITDUMP,
};

static enum unnamed_reason jit_unnamed_reason(const struct processes_files *files,
	const struct worker_map *map, const struct worker_map_status *status)
{
	if (files->shared)
		return UNNAMED_SHARED_MAP;
	if (map->fd < 0 && map->dump_fd < 0)
		return UNNAMED_NO_MAP;
	if (status->dump == WORKER_BYTE_ORDER || status->dump == WORKER_DAMAGED)
		return UNNAMED_JITDUMP;
	return status->status == WORKER_OK ? UNNAMED_NOT_IN_MAP : UNNAMED_WORKER;
}

/* One name for all of a process. Formats that hold addresses have theirs. */
static int put_unnamed(struct naming_batch *b, uint64_t process, enum unnamed_reason reason)
{
	struct processes_name of = processes_name(b->naming->processes, process);
	_cleanup_(buf_done) struct buf name = BUF_INIT;
	int err = jit_code_put(&name, of.name, of.tgid);

	b->own = true;
	for (size_t i = 0; i < b->len && err == 0; i++)
		if (b->places[i].source < 0)
			err = naming_put_name(b, &b->places[i], name.data, UNNAMED(reason));
	return err;
}

int naming_jit(struct naming_batch *b, uint64_t process)
{
	struct processes_files files = processes_files(b->naming->processes, process);
	struct worker_map map = {
		process, files.map_fd, files.dump_fd, b->naming->at_ns, files.unread
	};
	struct worker_map_status status = { WORKER_OK, WORKER_OK, 0 };
	struct worker_query query;
	int err = 0;

	b->frame.class = PROFILE_JIT;
	b->sources = map_sources;
	b->sources_len = ARRAY_SIZE(map_sources);
	if (map.fd >= 0 || map.dump_fd >= 0) {
		err = naming_make_query(b, &query);
		if (err == 0)
			err = worker_client_map_names(
				b->naming->worker, &map, &query, naming_on_name, b, &status);
		processes_charge(b->naming->processes, process, status.took_ns);
		if (files.last)
			worker_client_drop_map(b->naming->worker, process);
	}
	if (files.shared)
		why_set(&b->naming->note, 0,
			"process %u: another living process writes the same perf map or jitdump, "
			"so "
			"neither is read; give each container a /tmp of its own, or set "
			"DOTNET_PerfMapJitDumpPath",
			files.tgid);
	if (files.unread)
		why_set(&b->naming->note, 0,
			"process %u: the perf maps of its container took more CPU time than their "
			"share: for a while no new names are read in them",
			files.tgid);
	if (status.dump == WORKER_BYTE_ORDER || status.dump == WORKER_DAMAGED)
		why_set(&b->naming->note, 0,
			"process %u: its jitdump cannot be read further: it is %s", files.tgid,
			worker_status_text(status.dump));
	return err < 0 ? err : put_unnamed(b, process, jit_unnamed_reason(&files, &map, &status));
}
