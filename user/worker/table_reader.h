/* SPDX-License-Identifier: Apache-2.0 */
/* worker/table_reader.h - reads the table of a language runtime that is in a file. */
#pragma once

#include "language/cpython_table.h"
#include "wire/status.h"

/* WORKER_OK: the file was read, and out->fault says whether it is a table; WORKER_TOO_LARGE,
 * WORKER_UNREADABLE, WORKER_MEMORY. */
enum worker_status table_reader_read(int fd, struct cpython_table *out);
