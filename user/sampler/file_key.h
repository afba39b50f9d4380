/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/file_key.h - identifies opened files by the kernel's own inodes, as BPF identifies mapped
 * ones: bpf/file_key.bpf.h reads them. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct file_view;
struct object_key;
struct sampler;

/* Reads the key of an opened file. 0; -errno: it is not known. */
int file_key_read(struct sampler *sampler, int fd, struct object_key *key);
/* Has it this key? 0: yes; -ESTALE: no; -errno: it is not known. */
int file_key_compare(struct sampler *sampler, int fd, const struct object_key *key);
/* Reads the view of a process whose root an opened folder is. 0; -errno: it is not known. */
int file_key_view(struct sampler *sampler, int fd, struct file_view *view);
/* Reads the key of a file that a child of ours has mapped there, and the magic number of its file
 * system: of the layer below, if it is an overlay's. It makes no call of that file system. 0;
 * -errno: it is not known. */
int file_key_of_child(struct sampler *sampler, pid_t child, uint64_t mapped, struct object_key *key,
	uint32_t *magic);
/* The magic number of an opened file's file system, without a call of it. */
int file_key_magic(struct sampler *sampler, int fd, uint32_t *magic);
