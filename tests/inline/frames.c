/* SPDX-License-Identifier: Apache-2.0 */
/* tests/inline/frames.c - what we say of addresses, in the form of `addr2line -a -i -f`.
 *     frames FILE [-a ALT] [-s SPLIT]... [-t] < addresses, one hexadecimal vaddr a line
 * FILE has the debugging information, ALT is what its .gnu_debugaltlink names, SPLIT is a .dwo or
 * .dwp file. With -t, seconds and bytes go to stderr: opening, all addresses, all of them again. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/vec.h"
#include "dwarf/inlined.h"

#define SPLITS_MAX 256

struct vaddrs {
	VEC(uint64_t) all;
};

struct options {
	const char *file, *alt, *splits[SPLITS_MAX];
	size_t splits_len;
	bool timing;
};

static void open_image(const char *path, struct image *out)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct why why;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(2);
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		exit(2);
	if (image_init_part(out, data, (size_t)st.st_size, &why) < 0) {
		fprintf(stderr, "%s: %s\n", path, why.text);
		exit(2);
	}
}

static void print(uint64_t vaddr, const struct inlined_frames *frames)
{
	printf("0x%016llx\n", (unsigned long long)vaddr);
	for (size_t i = 0; i < frames->len; i++) {
		const struct inlined_frame *f = &frames->all[i];

		printf("%s\n%s:%u\n", f->name[0] ? f->name : "??", f->path[0] ? f->path : "??",
			f->line);
	}
	if (frames->len == 0)
		printf("??\n??:0\n");
}

static double seconds_since(uint64_t start)
{
	return (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
}

static void find_all(struct inlined *inlined, const struct vaddrs *vaddrs, bool printing)
{
	vec_each (&vaddrs->all, vaddr) {
		struct inlined_frames frames = { .len = 0 };
		int result = inlined_find(inlined, *vaddr, &frames);

		if (result < 0 || result == INLINED_GIVEN_UP)
			fprintf(stderr, "0x%llx: %d\n", (unsigned long long)*vaddr, result);
		if (printing)
			print(*vaddr, &frames);
	}
}

static void parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "a:s:t")) != -1) {
		if (c == 'a')
			o->alt = optarg;
		else if (c == 's' && o->splits_len < SPLITS_MAX)
			o->splits[o->splits_len++] = optarg;
		else if (c == 't')
			o->timing = true;
		else
			exit(2);
	}
	if (optind != argc - 1)
		exit(2);
	o->file = argv[optind];
}

static void read_vaddrs(struct vaddrs *out)
{
	unsigned long long vaddr;

	while (scanf("%llx", &vaddr) == 1) {
		uint64_t *slot = vec_add(&out->all);

		if (!slot)
			exit(2);
		*slot = vaddr;
	}
}

int main(int argc, char **argv)
{
	struct image image, alt, splits[SPLITS_MAX], *split_list[SPLITS_MAX];
	struct options o = { 0 };
	struct inlined_input input = { .image = &image, .splits = split_list };
	struct vaddrs vaddrs = { 0 };
	struct inlined_stats stats;
	struct inlined *inlined;
	double opened, cold;
	uint64_t start;
	int err;

	parse(argc, argv, &o);
	read_vaddrs(&vaddrs);
	start = clock_ns(CLOCK_MONOTONIC);
	open_image(o.file, &image);
	if (o.alt) {
		open_image(o.alt, &alt);
		input.alt = &alt;
	}
	for (; input.splits_len < o.splits_len; input.splits_len++) {
		open_image(o.splits[input.splits_len], &splits[input.splits_len]);
		split_list[input.splits_len] = &splits[input.splits_len];
	}
	err = inlined_open(&input, &inlined);
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", o.file, strerror(-err));
		return 1;
	}
	opened = seconds_since(start);
	find_all(inlined, &vaddrs, !o.timing);
	cold = seconds_since(start) - opened;
	start = clock_ns(CLOCK_MONOTONIC);
	if (o.timing)
		find_all(inlined, &vaddrs, false);
	inlined_stats(inlined, &stats);
	if (o.timing)
		fprintf(stderr,
			"addresses %zu open %.4f cold %.4f warm %.4f units %zu loaded %zu bad %zu "
			"given_up %zu memory %zu\n",
			vaddrs.all.len, opened, cold, seconds_since(start), stats.units,
			stats.units_loaded, stats.units_bad, stats.units_given_up,
			stats.memory_bytes);
	vec_done(&vaddrs.all);
	inlined_free(inlined);
	image_done(&image);
	if (o.alt)
		image_done(&alt);
	for (size_t i = 0; i < input.splits_len; i++)
		image_done(&splits[i]);
	return 0;
}
