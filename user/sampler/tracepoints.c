/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tracepoints.c - a list of programs; each names its tracepoint itself. */
#include "sampler/tracepoints.h"

#include <bpf/libbpf.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/own.h"
#include "sample.skel.h"

void tracepoints_attach(struct tracepoints *t, const struct sample_bpf *skel)
{
	struct bpf_program *const programs[TRACEPOINTS_LEN] = {
		skel->progs.exec, skel->progs.cgroup_made, skel->progs.cgroup_removed,
		skel->progs.cgroup_renamed,
		skel->progs.cpu_changed, /* the last: tracepoints_watch_cpus */
	};

	for (size_t i = 0; i < TRACEPOINTS_LEN; i++)
		t->links[i] = bpf_program__attach(programs[i]);
}

bool tracepoints_watch_cpus(const struct tracepoints *t)
{
	return t->links[TRACEPOINTS_LEN - 1];
}

void tracepoints_detach(struct tracepoints *t)
{
	for (size_t i = 0; i < TRACEPOINTS_LEN; i++)
		bpf_link__destroy(t->links[i]);
}
