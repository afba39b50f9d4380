/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/scan.c - runs the iterator and reads it to its end. The ring buffer is read in between,
 * because the files of a large host would fill it. */
#include "sampler/scan.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/fd.h"
#include "sample.skel.h"
#include "sampler/sampler.h"

#define SCAN_BATCH 512

static int read_all(const struct scan *scan, int fd)
{
	struct scan_mapping batch[SCAN_BATCH];
	ssize_t len;
	int err = 0;

	while (err == 0 && (len = read(fd, batch, sizeof(batch))) > 0) {
		for (size_t i = 0; i < (size_t)len / sizeof(*batch) && err == 0; i++)
			err = scan->take ? scan->take(scan->ctx, &batch[i]) : 0;
		if (err == 0)
			err = sampler_poll(scan->sampler);
	}
	return err;
}

int scan_run(const struct scan *scan, uint32_t tgid)
{
	union bpf_iter_link_info info = { .task.pid = tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link;
	_cleanup_fd_ int fd = -1, copy_fd = -1;
	int err;

	scan->skel->bss->scan_tgid = tgid;
	link = scan->by_tasks ? bpf_program__attach_iter(scan->skel->progs.scan_tasks, NULL)
			      : bpf_program__attach_iter(scan->skel->progs.scan, &opts);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : 0;
	if (err == 0 && scan->reader.read)
		err = scan->reader.read(scan->reader.ctx, fd, tgid, &copy_fd);
	if (err == 0)
		err = read_all(scan, scan->reader.read ? copy_fd : fd);
	bpf_link__destroy(link);
	return err;
}
