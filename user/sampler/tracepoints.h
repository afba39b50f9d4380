/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/tracepoints.h - the programs outside ticks: at an exec, when a cgroup is made or removed,
 * and when a CPU comes or goes. */
#pragma once

#include <stdbool.h>

#define TRACEPOINTS_LEN 5

struct sample_bpf;
struct bpf_link;

struct tracepoints {
	struct bpf_link *links[TRACEPOINTS_LEN]; /* NULL: not attached */
};

/* Programs that the kernel refuses are skipped. Then a new program's first samples wait for its
 * table, or a cgroup that was removed early has no name, or CPUs must be looked at. */
void tracepoints_attach(struct tracepoints *tracepoints, const struct sample_bpf *skel);
/* Is it reported when a CPU comes or goes? */
bool tracepoints_watch_cpus(const struct tracepoints *tracepoints);
void tracepoints_detach(struct tracepoints *tracepoints);
