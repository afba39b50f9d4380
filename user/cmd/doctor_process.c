/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_process.c - reads what /proc tells of a process: its code, in files and in none, the
 * symbols of each file, and the perf map of its JIT. */
#include "cmd/doctor_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "elf/image.h"
#include "proc/maps.h"
#include "proc/opener.h"
#include "proc/status.h"
#include "sym/elf_sym.h"

#define TEXT_BYTES_MAX (64UL << 20)

static int read_proc(pid_t pid, const char *name, struct buf *out)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	err = fd_read_path(path, TEXT_BYTES_MAX, out);
	return err < 0 ? err : buf_putc(out, '\0');
}

/* Text of a stranger, for a terminal. */
static void print_clean(const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	if (utf8_put_clean(&clean, text) == 0)
		fputs(clean.data ? clean.data : "", stdout);
}

static void judge_image(const void *data, size_t len)
{
	struct elf_sym_stats stats;
	struct elf_sym *sym;
	struct image image;
	struct why why;

	if (image_init(&image, data, len, &why) < 0) {
		printf("not read: %s\n", why.text);
		return;
	}
	if (elf_sym_load(&image, NULL, ELF_SYM_SYMTAB, &sym) == 0) {
		elf_sym_stats(sym, &stats);
		if (stats.symbols == 0)
			printf("no symbols: frames read NAME+0xOFFSET\n");
		else
			printf("%zu symbols%s\n", stats.symbols,
				image_section_find(&image, ".symtab")
					? ""
					: ", exported ones only (stripped)");
		elf_sym_free(sym);
	}
	image_done(&image);
}

static void judge_file(pid_t pid, const struct maps_entry *entry)
{
	struct opener_mapping mapping = {
		.process = { .pid = pid },
		.vm_start = entry->start,
		.vm_end = entry->end,
		.ino = entry->ino,
	};
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	void *data;

	if (opener_mapped_file(&mapping, &fd, path, sizeof(path)) != 0 || fstat(fd, &st) < 0) {
		printf("cannot be opened: frames read NAME+0xOFFSET\n");
		return;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		printf("cannot be read\n");
		return;
	}
	judge_image(data, (size_t)st.st_size);
	munmap(data, (size_t)st.st_size);
}

static void judge_jit(pid_t pid, const struct status *status, uint64_t start_ns)
{
	struct opener_process process = { .pid = pid, .start_ns = start_ns };
	_cleanup_fd_ int tmp_fd = -1;
	_cleanup_fd_ int fd = -1;
	int err = opener_tmp_dir(&process, &tmp_fd);

	for (uint32_t i = status->ns_pids_len; err == 0 && fd < 0 && i-- > 0;)
		opener_perf_map(tmp_fd, &process, status->ns_pids[i], status->euid, &fd);
	if (fd >= 0)
		printf("there is a perf map: frames have its names\n");
	else
		printf("no perf map: frames read [anon]+0xADDRESS; let the runtime write one "
		       "(node --perf-basic-prof, DOTNET_PerfMapEnabled=3, java "
		       "-XX:+PreserveFramePointer "
		       "and jcmd PID Compiler.perfmap)\n");
}

struct walk {
	pid_t pid;
	uint64_t anon_bytes;
	uint64_t last_ino;
	uint32_t last_dev;
};

static void on_mapping(void *ctx, const struct maps_entry *entry)
{
	struct walk *walk = ctx;

	if (!entry->executable)
		return;
	if (maps_is_anon_code(entry)) {
		walk->anon_bytes += entry->end - entry->start;
		return;
	}
	if (entry->ino == 0 || (entry->ino == walk->last_ino && entry->dev == walk->last_dev))
		return;
	walk->last_ino = entry->ino;
	walk->last_dev = entry->dev;
	printf("file  ");
	print_clean(entry->path);
	printf(": ");
	judge_file(walk->pid, entry);
}

static uint64_t start_ns_of(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t ticks = 0;

	if (read_proc(pid, "stat", &text) == 0)
		status_parse_start(text.data, &ticks);
	return ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

int doctor_process(pid_t pid, struct why *why)
{
	_cleanup_(buf_done) struct buf maps = BUF_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct walk walk = { .pid = pid };
	struct status status;
	int err = read_proc(pid, "status", &text);

	if (err == 0)
		err = status_parse(text.data, &status);
	if (err == -ENOENT || err == -ESRCH)
		return why_set(why, -ESRCH, "no such process: %d", pid);
	if (err == 0)
		err = read_proc(pid, "maps", &maps);
	if (err < 0)
		return why_set(why, err, "cannot look at process %d: %s", pid, err_text(err));
	printf("\nprocess %d (", pid);
	print_clean(status.name);
	printf("), %u threads\n", status.threads);
	printf("walk  by frame pointers: complete for programs built with -fno-omit-frame-pointer "
	       "and for "
	       "JIT code that keeps them\n");
	maps_parse(maps.data, on_mapping, &walk);
	if (walk.anon_bytes > 0) {
		printf("jit   %llu kB of code in no file: ",
			(unsigned long long)(walk.anon_bytes >> 10));
		judge_jit(pid, &status, start_ns_of(pid));
	}
	return 0;
}
