/* SPDX-License-Identifier: Apache-2.0 */
/* agent/vdso.h - the kernel's own library in each process, as a file. */
#pragma once

/* A file in memory that holds a copy; *fd is the caller's. -ENOENT: there is none. */
int vdso_copy(int *fd);
