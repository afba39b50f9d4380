/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_types.h - the kernel's types that a BPF object can be relocated by. libbpf
 * compares each struct of the object with all types of the kernel: 150,000 in 5 MB. These are a few
 * hundred. */
#pragma once

struct btf;

/* Picks the types with the name of a type of the object, whatever follows `___` in either, and
 * those in them. Of structs, unions and enums only members with a name that the object has, too,
 * are there; pointers lead to void. *out is the caller's. 0 or -ENOMEM. */
int kernel_types_pick(const struct btf *kernel, const struct btf *object, struct btf **out);

/* The same as a file of types for libbpf, written to fd. 0; -EFBIG: a limit of file sizes leaves no
 * room; other -errno. */
int kernel_types_write(const struct btf *kernel, const struct btf *object, int fd);

struct bpf_object;
struct bpf_object_open_opts;
/* Opens an object of ours with these options, in place of one that ctx has already. 0 or -errno. */
typedef int kernel_types_fn(
	void *ctx, const struct bpf_object_open_opts *opts, struct bpf_object **out);
/* Opens it to be relocated by them. *fd has them, and stays open until the object is loaded; it is
 * the caller's. Where a limit of file sizes leaves no room, libbpf compares all types. */
int kernel_types_open(const struct btf *kernel, kernel_types_fn *open, void *ctx, int *fd);
