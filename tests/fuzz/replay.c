/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - main() for a fuzz target without a fuzzer: runs it over the files that are given. */
#include <dirent.h>
#include <stdio.h>

#include "base/fd.h"
#include "fuzz.h"

#define FILE_BYTES_MAX (64UL << 20)

static int replay(const char *path)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;

	if (fd_read_path(path, FILE_BYTES_MAX, &bytes) < 0) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput((const uint8_t *)(bytes.data ? bytes.data : ""), bytes.len);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	return bad;
}
