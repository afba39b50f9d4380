/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tracepoints.h - the programs that run between the ticks: at an exec, and when a cgroup
 * comes or goes. */
#pragma once

#define TRACEPOINTS_LEN 4

struct sample_bpf;
struct bpf_link;

struct tracepoints {
	struct bpf_link *links[TRACEPOINTS_LEN]; /* NULL: not attached */
};

/* One that the kernel refuses is done without: then a new program's first samples wait for its
 * table, or a cgroup that is gone when it is asked for has no name. */
void tracepoints_attach(struct tracepoints *tracepoints, const struct sample_bpf *skel);
void tracepoints_detach(struct tracepoints *tracepoints);
