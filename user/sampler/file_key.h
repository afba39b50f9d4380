/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/file_key.h - identifies opened files by the kernel's own inodes, as BPF identifies mapped
 * ones: bpf/file_key.bpf.h reads them. */
#pragma once

struct file_view;
struct object_key;
struct sampler;

/* Reads the key of an opened file. 0; -errno: it is not known. */
int file_key_read(struct sampler *sampler, int fd, struct object_key *key);
/* Has it this key? 0: yes; -ESTALE: no; -errno: it is not known. */
int file_key_compare(struct sampler *sampler, int fd, const struct object_key *key);
/* Reads the view of a process whose root an opened folder is. 0; -errno: it is not known. */
int file_key_view(struct sampler *sampler, int fd, struct file_view *view);
