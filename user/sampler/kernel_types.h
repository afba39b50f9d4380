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
/* Writes them to a file, for libbpf to read. 0 or -errno. */
int kernel_types_write(const struct btf *kernel, const struct btf *object, int fd);
