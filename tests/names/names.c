/* SPDX-License-Identifier: Apache-2.0 */
/* tests/names/names.c - what we call addresses of a file, through the workers and with the debug
 * file that is found for it.
 *
 *     names [-d] [-i] [-o] [-s] [-t] FILE < addresses, one hexadecimal vaddr a line; -o: file
 * offsets
 *
 * prints "ADDRESS NAME", NAME `?` where there is none, or with -s "+OFFSET" of the function in the
 * file if that is known; with -d demangled; with -i the frames that
 * are inlined there too, each behind its function: "ADDRESS NAME FILE:LINE\tNAME FILE:LINE". With
 * -t, what it took goes to stderr: CPU microseconds cold (symbols are loaded) and warm, and bytes
 * of symbols. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/vec.h"
#include "files/debug_files.h"
#include "elf/image.h"
#include "client/client.h"
#include "client/stats.h"
#include "worker/worker.h"

#define FILE_BYTES_MAX (1UL << 30)
#define WAIT_NS (120 * NSEC_PER_SEC)

struct names {
	struct worker_client *client;
	struct worker_object object;
	struct debug_root root;
	struct debug_files debug;
	const char *path;
	bool demangle, inlined, by_offset, starts, timing, rows_done;
	VEC(uint64_t) vaddrs;
	VEC(uint64_t) offsets; /* in the file */
	struct buf *texts;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "names: %s: %s\n", what, err_text(err));
	exit(1);
}

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	struct names *n = ctx;
	const struct debug_file_query query = { n->path, rows->build_id, rows->link };

	n->rows_done = true;
	debug_files_open(&n->debug, NULL, &query, &n->root, 1);
}

static int on_name(void *ctx, size_t index, const struct worker_name *name)
{
	struct names *n = ctx;
	struct buf *text = &n->texts[index];
	int err = text->len > 0 ? buf_putc(text, '\t') : 0;

	if (name->name[0] == '\0' && !name->inlined && !n->starts)
		return err;
	if (err == 0 && name->name[0] == '\0' && !name->inlined)
		err = buf_printf(text, "+%llx", (unsigned long long)name->start);
	else if (err == 0)
		err = buf_puts(text, name->name);
	if (err == 0 && n->inlined)
		err = buf_printf(text, " %s:%u", name->path[0] ? name->path : "?", name->line);
	return err;
}

static int on_part(void *ctx, const struct debug_part *part)
{
	struct names *n = ctx;

	return debug_files_open_part(NULL, part, n->path, &n->root, 1);
}

/* Finds the debug files, as the answer to what is in the file. */
static void look_for_debug_files(struct names *n)
{
	struct pollfd ready = { worker_client_fd(n->client), POLLIN, 0 };

	n->root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (worker_client_rows(n->client, n->object.id, n->object.fd) < 0)
		exit(1);
	while (!n->rows_done) {
		poll(&ready, 1, 100);
		worker_client_poll(n->client);
	}
	for (size_t i = 0; i < n->debug.len; i++)
		n->object.debug_fds[n->object.debug_fds_len++] = n->debug.fds[i];
}

static void read_addresses(struct names *n)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct image image;
	struct why why;
	unsigned long long vaddr;
	int err = fd_read_path(n->path, FILE_BYTES_MAX, &bytes);

	if (err == 0)
		err = image_init(&image, bytes.data, bytes.len, &why);
	if (err < 0)
		die(n->path, err);
	while (scanf("%llx", &vaddr) == 1) {
		uint64_t *at = vec_add(&n->vaddrs), *offset = vec_add(&n->offsets);

		if (!at || !offset)
			die("addresses", -ENOMEM);
		*at = vaddr;
		*offset = vaddr;
		if (!n->by_offset && !image_vaddr_to_offset(&image, vaddr, offset))
			die("an address in no segment", -EINVAL);
	}
	image_done(&image);
	n->texts = calloc(n->vaddrs.len + 1, sizeof(*n->texts));
}

/* CPU time so far, of this process and its workers: other load does not count. */
static uint64_t cpu_ns(const struct names *n)
{
	uint64_t ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct worker_stats stats;
	clockid_t clock;

	worker_client_stats(n->client, &stats);
	for (int i = 0; i < WORKER_LANES; i++)
		if (stats.pids[i] > 0 && clock_getcpuclockid(stats.pids[i], &clock) == 0)
			ns += clock_ns(clock);
	return ns;
}

static uint64_t ask(struct names *n)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), start_cpu = cpu_ns(n);
	const struct worker_query query = {
		.addresses = n->offsets.data,
		.len = n->offsets.len,
		.demangle = n->demangle,
		.until_ns = start + WAIT_NS,
		.lines_until_ns = n->inlined ? start + WAIT_NS : 0,
		.open_part = on_part,
	};
	struct worker_symbols symbols;
	int err;

	for (size_t i = 0; i < n->offsets.len; i++)
		buf_clear(&n->texts[i]);
	err = worker_client_names(n->client, &n->object, &query, on_name, n, &symbols);
	if (err < 0)
		die("names", err);
	if (symbols.status != WORKER_OK) {
		fprintf(stderr, "names: %s\n", worker_status_text(symbols.status));
		exit(1);
	}
	return (cpu_ns(n) - start_cpu) / 1000;
}

static void run(struct names *n)
{
	uint64_t cold, warm;
	struct worker_stats stats;

	look_for_debug_files(n);
	read_addresses(n);
	cold = ask(n);
	if (n->timing) {
		warm = ask(n);
		worker_client_stats(n->client, &stats);
		fprintf(stderr, "addresses %zu cold_us %llu warm_us %llu bytes %llu\n",
			n->offsets.len, (unsigned long long)cold, (unsigned long long)warm,
			(unsigned long long)stats.kept_bytes);
	}
	for (size_t i = 0; i < n->vaddrs.len; i++)
		printf("%llx %s\n", (unsigned long long)n->vaddrs.data[i],
			n->texts[i].len > 0 ? n->texts[i].data : "?");
}

int main(int argc, char **argv)
{
	struct names n = { .object = { .id = 1 }, .root = { .fd = -1 } };
	const struct worker_client_options options = { 0 };
	struct why why;
	int c;

	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		return worker_main(WORKER_FD);
	while ((c = getopt(argc, argv, "diost")) != -1) {
		n.demangle |= c == 'd';
		n.inlined |= c == 'i';
		n.by_offset |= c == 'o';
		n.starts |= c == 's';
		n.timing |= c == 't';
		if (c == '?')
			return 2;
	}
	if (optind != argc - 1)
		return 2;
	n.path = argv[optind];
	if (worker_client_open(&options, &n.client, &why) < 0) {
		fprintf(stderr, "names: %s\n", why.text);
		return 1;
	}
	worker_client_listen(n.client, on_rows, &n);
	n.object.fd = open(n.path, O_RDONLY | O_CLOEXEC);
	if (n.object.fd < 0)
		die(n.path, -errno);
	run(&n);
	worker_client_free(n.client);
	for (size_t i = 0; i < n.offsets.len; i++)
		buf_done(&n.texts[i]);
	free(n.texts);
	vec_done(&n.vaddrs);
	vec_done(&n.offsets);
	debug_files_close(&n.debug);
	return 0;
}
