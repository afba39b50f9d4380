/* SPDX-License-Identifier: Apache-2.0 */
/* write_segments.c - a store for tests/golden/store: `write_segments DIR START HZ BY FILE...` puts
 * each file of sorted folded lines into DIR as the segment of one minute, the first from START on,
 * which is in seconds since 1970. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/segment.h"
#include "store/store.h"

#define MINUTE (60 * NSEC_PER_SEC)
#define TEXT_BYTES_MAX (16UL << 20)

static int put(
	struct store *store, const struct segment_about *about, const char *path, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	int err = fd_read_path(path, TEXT_BYTES_MAX, &text);

	if (err == 0)
		err = segment_write(
			about, (struct bytes){ (const uint8_t *)text.data, text.len }, &bytes);
	if (err < 0)
		return why_set(why, err, "%s: %s", path, err_text(err));
	return store_put(store, (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, why);
}

int main(int argc, char **argv)
{
	_cleanup_(store_freep) struct store *store = NULL;
	struct segment_about about = { .host = "golden", .account = "{}" };
	struct store_report report;
	struct why why;
	int err;

	if (argc < 6)
		return 2;
	about.end_ns = strtoull(argv[2], NULL, 10) * NSEC_PER_SEC;
	about.hz = (uint32_t)strtoul(argv[3], NULL, 10);
	about.by = argv[4];
	if (mkdir(argv[1], 0755) < 0 && errno != EEXIST) {
		perror(argv[1]);
		return 1;
	}
	err = store_open(AT_FDCWD, argv[1], STORE_WRITE, &store, &report, &why);
	for (int i = 5; i < argc && err == 0; i++) {
		about.id++;
		about.start_ns = about.end_ns;
		about.end_ns += MINUTE;
		err = put(store, &about, argv[i], &why);
	}
	if (err < 0)
		fprintf(stderr, "%s\n", why.text);
	return err < 0;
}
