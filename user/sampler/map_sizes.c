/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/map_sizes.c - asks libbpf for the CPUs, because libbpf sizes per-CPU maps by the same
 * number. The kernel reports a map's memory only as text, under the name of the limit that it used
 * to count against. */
#include "sampler/map_sizes.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"

int map_sizes_cpus(uint32_t *out, struct why *why)
{
	libbpf_print_fn_t said = libbpf_set_print(NULL); /* the reason is in why */
	int cpus = libbpf_num_possible_cpus();

	libbpf_set_print(said);
	if (cpus < 0)
		return why_set(why, cpus,
			"cannot read /sys/devices/system/cpu (%s): mount sysfs at /sys",
			err_text(cpus));
	*out = (uint32_t)cpus;
	return 0;
}

uint64_t map_sizes_bytes(int map_fd)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	if (fd_read_path(path, 65536, &text) < 0 || !text.data)
		return 0;
	line = strstr(text.data, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}
