/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/scan.h - walks the code mappings of tasks by a BPF iterator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_bpf;
struct sampler;
struct scan_mapping;

struct scan {
	struct sampler *sampler; /* polled meanwhile: the scan sends events */
	struct sample_bpf *skel;
	bool by_tasks; /* the kernel has no iterator of mappings */
	int (*take)(void *ctx, const struct scan_mapping *mapping); /* NULL: only events count */
	void *ctx;
};

/* Of one process, or of all (tgid 0). 0; -errno, also that of take. */
int scan_run(const struct scan *scan, uint32_t tgid);
