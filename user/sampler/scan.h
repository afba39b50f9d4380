/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/scan.h - walks the code mappings of tasks by a BPF iterator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_bpf;
struct sampler;
struct scan_mapping;

/* Reads iterators in the place of the sampler: the mappings of a process can be locked for ever. */
struct scan_reader {
	/* Copies what it gives. tgid: of one process, or 0: of all; then it polls the sampler
	 * meanwhile. *fd: the copy, the caller's. NULL: the sampler reads. */
	int (*read)(void *ctx, int iterator_fd, uint32_t tgid, int *fd);
	void *ctx;
};

struct scan {
	struct sampler *sampler; /* polled meanwhile: the scan sends events */
	struct sample_bpf *skel;
	bool by_tasks; /* the kernel has no iterator of mappings */
	int (*take)(void *ctx, const struct scan_mapping *mapping); /* NULL: only events count */
	void *ctx;
	struct scan_reader reader;
};

/* Of one process, or of all (tgid 0). 0; -errno, also that of take. */
int scan_run(const struct scan *scan, uint32_t tgid);
