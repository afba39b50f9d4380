/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/file_key.c - runs a BPF program once for an answer. A file of an overlay has an inode of
 * the overlay's, while its mappings have the inode of the layer below: that one is compared, so the
 * file is mapped for a moment, and nothing of it is read. */
#include "sampler/file_key.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "sample.skel.h"
#include "sampler/sampler.h"

/* By its descriptor, or by where it is mapped, if that is not 0: by a child, or if pid is 0 by us.
 */
static int ask(
	const struct sample_bpf *skel, int fd, uint64_t mapped, pid_t pid, struct file_answer *out)
{
	const uint64_t args[] = { (uint64_t)fd, mapped, (uint64_t)pid };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.file_ask), &opts);

	if (err < 0)
		return err;
	*out = skel->bss->file_answer;
	return out->found ? 0 : -ENOENT;
}

static int ask_mapped(const struct sample_bpf *skel, int fd, struct file_answer *out)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (mapped == MAP_FAILED)
		return -errno;
	err = ask(skel, fd, (uint64_t)(uintptr_t)mapped, 0, out);
	munmap(mapped, size);
	return err;
}

int file_key_read(struct sampler *sampler, int fd, struct object_key *key)
{
	const struct sample_bpf *skel = sampler_skeleton(sampler);
	struct file_answer answer = { 0 };
	int err = ask(skel, fd, 0, 0, &answer);

	if (err == 0 && answer.magic == OVERLAYFS_SUPER_MAGIC)
		err = ask_mapped(skel, fd, &answer);
	if (err < 0)
		return err;
	*key = answer.key;
	return 0;
}

int file_key_compare(struct sampler *sampler, int fd, const struct object_key *key)
{
	struct object_key its;
	int err = file_key_read(sampler, fd, &its);

	if (err < 0)
		return err;
	return memcmp(&its, key, sizeof(its)) == 0 ? 0 : -ESTALE;
}

int file_key_view(struct sampler *sampler, int fd, struct file_view *view)
{
	struct file_answer answer = { 0 };
	int err = ask(sampler_skeleton(sampler), fd, 0, 0, &answer);

	if (err < 0)
		return err;
	if (answer.view.mounts == 0)
		return -ENODATA;
	*view = answer.view;
	return 0;
}

int file_key_of_child(struct sampler *sampler, pid_t child, uint64_t mapped, struct object_key *key,
	uint32_t *magic)
{
	struct file_answer answer = { 0 };
	int err = ask(sampler_skeleton(sampler), -1, mapped, child, &answer);

	if (err < 0)
		return err;
	*key = answer.key;
	*magic = (uint32_t)answer.magic;
	return 0;
}

int file_key_magic(struct sampler *sampler, int fd, uint32_t *magic)
{
	struct file_answer answer = { 0 };
	int err = ask(sampler_skeleton(sampler), fd, 0, 0, &answer);

	if (err < 0)
		return err;
	*magic = (uint32_t)answer.magic;
	return 0;
}
