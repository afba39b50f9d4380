/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tracepoints.h - the programs outside ticks: at an exec, and when a cgroup is made or
 * removed. */
#pragma once

#define TRACEPOINTS_LEN 4

struct sample_bpf;
struct bpf_link;

struct tracepoints {
	struct bpf_link *links[TRACEPOINTS_LEN]; /* NULL: not attached */
};

/* Programs that the kernel refuses are skipped. Then a new program's first samples wait for its
 * table, or a cgroup that was removed early has no name. */
void tracepoints_attach(struct tracepoints *tracepoints, const struct sample_bpf *skel);
void tracepoints_detach(struct tracepoints *tracepoints);
