/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_faults.c - a table of ranges of versions, each with a function that only a kernel
 * with the fault has.
 *
 * Sources. Waiting for a lock in a tick: Linux commit 0aef499f3172 (5.19) has the checks of
 * CONFIG_HARDENED_USERCOPY look up memory of vmalloc under a lock, and bpf_probe_read_user in an
 * interrupt writes such memory; commit d319f344561d (6.4, in 6.3.10 and 6.1.36) leaves the lock
 * alone where page faults are off. No fault of others' BPF programs that needs uprobes, or
 * bpf_get_stackid for user stacks, is listed: ours use neither. */
#include "sampler/kernel_faults.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "sampler/kernel_features.h"

#define TEXT_BYTES_MAX 1024
#define VERSION(a, b, c) ((uint32_t)(a) << 16 | (uint32_t)(b) << 8 | (uint32_t)(c))
#define PART_MAX 255

#define WAITS_IN_A_TICK                                                                           \
	"this kernel can hang the host: a read of user memory in a tick can wait for ever for a " \
	"lock (CONFIG_HARDENED_USERCOPY; repaired in 6.1.36, 6.3.10 and 6.4); boot another one, " \
	"or accept that: touch " KERNEL_FAULTS_ACCEPTED

static const struct {
	uint32_t from, before;
	const char *function; /* in the kernel only if it has the fault's option */
	const char *fault;
} faults[] = {
	{ VERSION(5, 19, 0), VERSION(6, 1, 36), "__check_object_size", WAITS_IN_A_TICK },
	{ VERSION(6, 2, 0), VERSION(6, 3, 10), "__check_object_size", WAITS_IN_A_TICK },
};

/* 0: no version. Later parts of a number of a long-term series may be over 255. */
static uint32_t parse(const char *text)
{
	unsigned long parts[3] = { 0 };
	size_t len = 0;
	char *end;

	do {
		parts[len] = strtoul(text, &end, 10);
		if (end == text)
			break;
		len++;
		text = end + 1;
	} while (len < ARRAY_SIZE(parts) && *end == '.');
	if (len < 2 || parts[0] > PART_MAX || parts[1] > PART_MAX)
		return 0;
	return VERSION(parts[0], parts[1], parts[2] < PART_MAX ? parts[2] : PART_MAX);
}

/* Debian's release is that of its ABI (6.1.0-13-amd64), and its version has the source's. */
static uint32_t version_of(const char *release, const char *version)
{
	static const char debian[] = " Debian ";
	const char *source = strstr(version, debian);
	uint32_t number = source ? parse(source + strlen(debian)) : 0;

	return number ? number : parse(release);
}

static const char *find(uint32_t number, const struct btf *types)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (number >= faults[i].from && number < faults[i].before &&
			(!types ||
				btf__find_by_name_kind(types, faults[i].function, BTF_KIND_FUNC) >
					0))
			return faults[i].fault;
	return NULL;
}

const char *kernel_faults_find(const char *release, const char *version, const struct btf *types)
{
	return find(version_of(release, version), types);
}

/* A link's own owner, as only that says who put it there. */
static bool is_accepted(void)
{
	struct stat st;

	return lstat(KERNEL_FAULTS_ACCEPTED, &st) == 0 && st.st_uid == 0;
}

const char *kernel_faults_here(void)
{
	_cleanup_(buf_done) struct buf release = BUF_INIT, version = BUF_INIT;
	struct btf *types;
	const char *fault;
	uint32_t number;

	if (fd_read_path("/proc/sys/kernel/osrelease", TEXT_BYTES_MAX, &release) < 0 ||
		fd_read_path("/proc/sys/kernel/version", TEXT_BYTES_MAX, &version) < 0)
		return NULL;
	number = version_of(release.data, version.data);
	if (!find(number, NULL) || is_accepted())
		return NULL;
	types = btf__parse_raw(KERNEL_FEATURES_BTF);
	fault = find(number, types);
	btf__free(types);
	return fault;
}
