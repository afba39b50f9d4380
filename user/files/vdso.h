/* SPDX-License-Identifier: Apache-2.0 */
/* files/vdso.h - copies the kernel's own library of each process into a file. */
#pragma once

/* A memfd with the copy; *fd is the caller's. -ENOENT: there is no vDSO. */
int vdso_copy(int *fd);
