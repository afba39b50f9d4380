/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor_process.c - reports how the stacks of one process will be walked and named: the same
 * workers read the same files as in a capture, and the results are printed. */
#include "cmd/doctor_process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cmd/doctor_tables.h"
#include "cmd/print.h"
#include "files/debug_files.h"
#include "files/languages.h"
#include "agent/file_notes.h"
#include "agent/privileges.h"
#include "proc/maps.h"
#include "jit/jit_control.h"
#include "jit/jit_files.h"
#include "proc/opener.h"
#include "proc/status.h"
#include "client/client.h"

#define TEXT_BYTES_MAX (64UL << 20)
#define FILE_WAIT_NS (20 * NSEC_PER_SEC)
#define POLL_MS 100

struct patient {
	struct opener_process process;
	struct status status;
	struct worker_client *worker; /* borrowed */
	const struct language_files *tables;
	int roots[2]; /* the one of the process, and ours */
	uint64_t files;
	uint64_t anon_bytes;
	struct maps_entry before, anon; /* anon is counted when the mapping after it is known */
	uint64_t last_ino;
	uint32_t last_dev;
	bool has_heaps; /* one of its files is HotSpot, and describes its code */
	bool answered; /* of the file that is asked about; the rest is its too */
	uint64_t base; /* where the file's offset 0 is or would be */
	int fd;
	const char *path;
	struct debug_files debug;
};

static int read_proc(pid_t pid, const char *name, struct buf *out)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	err = fd_read_path(path, TEXT_BYTES_MAX, out);
	return err < 0 ? err : buf_putc(out, '\0');
}

static int ignore_name(void *ctx, size_t index, const struct worker_name *name)
{
	(void)ctx;
	(void)index;
	(void)name;
	return 0;
}

/* The debug files that are there and are not its, and what would help. */
static void print_debug_files(const struct patient *p, const struct worker_symbols *symbols)
{
	_cleanup_(buf_done) struct buf advice = BUF_INIT;
	const char *slash = strrchr(p->path, '/');

	for (size_t i = 0; i < p->debug.len; i++) {
		const char *why = file_notes_refusal((uint8_t)symbols->debug[i]);

		if (!why)
			continue;
		fputs("; refused ", stdout);
		print_clean(p->debug.paths[i] ? p->debug.paths[i] : "?", 0);
		printf(": %s", why);
	}
	if (symbols->debug_used < 0 && file_notes_stripped(symbols->symbols, symbols->sources) &&
		file_notes_put_advice(&advice, slash ? slash + 1 : p->path) == 0)
		printf("; %s", advice.data);
}

static void print_symbols(struct patient *p)
{
	const uint64_t nowhere = 0;
	struct worker_object object = {
		.id = p->files, .fd = p->fd, .debug_fds_len = p->debug.len
	};
	const struct worker_query query = {
		.addresses = &nowhere,
		.len = 1,
		.until_ns = clock_ns(CLOCK_MONOTONIC) + FILE_WAIT_NS,
	};
	struct worker_symbols symbols = { 0 };

	memcpy(object.debug_fds, p->debug.fds, p->debug.len * sizeof(*p->debug.fds));
	if (worker_client_names(p->worker, &object, &query, ignore_name, NULL, &symbols) < 0)
		return;
	if (symbols.status != WORKER_OK)
		printf("; names: none (%s)", worker_status_text(symbols.status));
	else if (symbols.symbols == 0)
		printf("; names: none, frames are shown as FILE+0xOFFSET: it is stripped and has "
		       "no debug file");
	else
		printf("; names: %zu symbols%s", symbols.symbols,
			symbols.debug_used >= 0 ? " with its debug file"
				: file_notes_stripped(symbols.symbols, symbols.sources)
				? ", only its exports"
				: "");
	if (symbols.status == WORKER_OK)
		print_debug_files(p, &symbols);
}

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	struct patient *p = ctx;
	struct debug_root roots[] = {
		{ .kind = DEBUG_ROOT_OWN, .fd = p->roots[1] },
		{ .kind = DEBUG_ROOT_TARGET, .fd = p->roots[0] },
	};
	struct stat st = { 0 };
	char note[1024];
	const struct languages_place place = { worker_client_call(p->worker), p->process,
		p->base };

	fstat(p->fd, &st);
	roots[1].uid = st.st_uid;
	p->answered = true;
	if (rows->status != WORKER_OK) {
		printf("walk: by frame pointer (%s)", worker_status_text(rows->status));
		return;
	}
	debug_files_open(&p->debug, NULL,
		&(struct debug_file_query){ p->path, rows->build_id, rows->link }, roots,
		ARRAY_SIZE(roots));
	if (rows->rows && rows->rows->head->kind == UNWIND_ROWS_OUTLINE)
		printf("walk: by table, %u pages", unwind_rows_span(rows->rows));
	else if (rows->rows)
		printf("walk: by table, %u rows", rows->rows->head->rows_len);
	else
		printf("walk: by frame pointer (%s)", worker_status_text(rows->rows_status));
	p->has_heaps |= (rows->contents & WORKER_HAS_HEAPS) != 0;
	if (languages_note(rows, p->tables, &place, note, sizeof(note)))
		printf("; %s", note);
}

static void judge_file(struct patient *p, const struct maps_entry *entry)
{
	const struct opener_mapping mapping = { p->process, entry->start, entry->end, entry->ino,
		0 };
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + FILE_WAIT_NS;
	struct pollfd poller = { .fd = worker_client_fd(p->worker), .events = POLLIN };
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX];

	if (opener_mapped_file(&mapping, &fd, path, sizeof(path)) != 0) {
		printf("cannot be opened: frames are shown as FILE+0xOFFSET");
		return;
	}
	p->fd = fd;
	p->base = entry->start - entry->file_offset;
	p->path = path;
	p->files++;
	p->answered = false;
	if (worker_client_rows(p->worker, p->files, fd) < 0) {
		printf("walk: not known, as too many files wait for a worker");
		return;
	}
	while (!p->answered && clock_ns(CLOCK_MONOTONIC) < until_ns) {
		poll(&poller, 1, POLL_MS);
		worker_client_poll(p->worker);
	}
	if (!p->answered)
		printf("walk: not known, as no worker answered in %llu s",
			FILE_WAIT_NS / NSEC_PER_SEC);
	print_symbols(p);
	debug_files_close(&p->debug);
	worker_client_drop(p->worker, p->files);
}

/* Text that moved belongs to its file, which is judged for other mappings. */
static void count_anon(struct patient *p, const struct maps_entry *after)
{
	if (!maps_is_moved_text(&p->before, &p->anon, after))
		p->anon_bytes += p->anon.end - p->anon.start;
	p->anon.start = p->anon.end = 0;
}

static void on_mapping(void *ctx, const struct maps_entry *entry)
{
	struct patient *p = ctx;

	count_anon(p, entry);
	if (maps_is_anon_code(entry)) {
		p->anon = *entry;
		return;
	}
	p->before = *entry;
	if (!entry->executable)
		return;
	if (entry->ino == 0 || (entry->ino == p->last_ino && entry->dev == p->last_dev))
		return;
	p->last_ino = entry->ino;
	p->last_dev = entry->dev;
	print_clean(entry->path, 0);
	fputs("\n      ", stdout);
	judge_file(p, entry);
	putchar('\n');
}

static void print_remedy(const struct patient *p)
{
	char program[64] = "";
	const char *hint;

	(void)opener_program(&p->process, program, sizeof(program));
	hint = jit_control_hint(program);
	fputs("none, there is no perf map: ", stdout);
	if (hint)
		puts(hint);
	else
		printf("`stoker record -p %d --jit` has .NET 8 and HotSpot 17, and later ones, "
		       "write it; others need an option at their start (DOTNET_PerfMapEnabled=3)\n",
			p->process.pid);
}

static void judge_jit(struct patient *p)
{
	_cleanup_(jit_files_close_dirs) struct jit_files_dirs dirs;
	struct opener_found dump = { .fd = -1 };
	_cleanup_fd_ int fd = -1, dump_fd = -1;
	pid_t number;

	if (p->has_heaps) {
		printf("%llu kB of code without a file: HotSpot describes and names it\n",
			(unsigned long long)(p->anon_bytes >> 10));
		return;
	}
	jit_files_open_dirs(&jit_files_direct, &p->process, &dirs);
	jit_files_open_dump(&p->process, &dump, &number);
	dump_fd = dump.fd;
	printf("%llu kB of code without a file\n      walk: by frame pointer; names: ",
		(unsigned long long)(p->anon_bytes >> 10));
	for (size_t dir = 0; dir < dirs.len; dir++)
		for (uint32_t i = p->status.ns_pids_len; fd < 0 && i-- > 0;)
			opener_perf_map(dirs.fds[dir], &p->process, p->status.ns_pids[i],
				p->status.euid, &fd);
	if (dump_fd >= 0)
		puts(fd >= 0 ? "its jitdump and its perf map" : "its jitdump");
	else if (fd >= 0)
		puts("its perf map");
	else
		print_remedy(p);
}

#define OTHERS "; run as root, or grant CAP_SYS_PTRACE"

static int examine(struct patient *p, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf stat = BUF_INIT;
	_cleanup_(buf_done) struct buf maps = BUF_INIT;
	uint64_t ticks = 0;
	int err = read_proc(p->process.pid, "status", &text);

	if (err == 0)
		err = status_parse(text.data, &p->status);
	if (err == -ENOENT || err == -ESRCH)
		return why_set(why, -ESRCH,
			"no such process: %d; it has ended or is of another PID namespace, or "
			"proc is not mounted at /proc",
			p->process.pid);
	if (err == 0)
		err = read_proc(p->process.pid, "maps", &maps);
	if (err < 0)
		return why_set(why, err, "cannot inspect process %d: %s%s", p->process.pid,
			err_text(err), err == -EACCES || err == -EPERM ? OTHERS : "");
	if (read_proc(p->process.pid, "stat", &stat) == 0)
		status_parse_start(stat.data, &ticks);
	p->process.start_ns = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	printf("\nprocess %d (", p->process.pid);
	print_clean(p->status.name, 0);
	printf("), %u thread%s\n", p->status.threads, p->status.threads == 1 ? "" : "s");
	maps_parse(maps.data, on_mapping, p);
	count_anon(p, &(struct maps_entry){ 0 });
	if (p->anon_bytes > 0)
		judge_jit(p);
	return 0;
}

int doctor_process(pid_t pid, struct doctor_tables *tables, struct why *why)
{
	struct patient p = { .process = { .pid = pid },
		.worker = tables->worker,
		.tables = &tables->files,
		.roots = { -1, -1 } };
	int err;

	worker_client_listen(p.worker, on_rows, &p);
	err = privileges_drop(FILTER_AGENT, why);
	if (err < 0)
		return err;
	opener_root(&p.process, &p.roots[0]);
	opener_root(&(struct opener_process){ .pid = getpid() }, &p.roots[1]);
	err = examine(&p, why);
	fd_close(&p.roots[0]);
	fd_close(&p.roots[1]);
	return err;
}
