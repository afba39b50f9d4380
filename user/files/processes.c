/* SPDX-License-Identifier: Apache-2.0 */
/* files/processes.c - keeps descriptors only: the folders of a future map, so that a late map is
 * found even after the process ended, the map, and the jitdump. Finding a jitdump means reading all
 * mappings, which an opener copies and a worker reads, and many runtimes write no map, so the
 * search becomes less and less frequent. The end of an interval searches once more. A container may
 * have thousands of such processes: searches take the time of its account, and who owes has none.
 * Ended processes stay until all of their ticks are named: their files may be large. */
#include "files/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/share.h"
#include "base/vec.h"
#include "client/client.h"
#include "client/mappings.h"
#include "client/opener_call.h"
#include "files/file_time.h"
#include "files/hotspots.h"
#include "jit/jit_files.h"
#include "proc/opener.h"
#include "proc/status.h"

#define READ_BYTES 65536
#define COMMAND_BYTES_MAX (1 << 20)
#define IDLE_INTERVALS 4
#define PAUSE_FIRST_NS (200 * NSEC_PER_MSEC)
#define UNANSWERED_NS (10 * NSEC_PER_MSEC) /* at the start the workers have much to do */
#define PAUSE_MAX_NS (64 * PAUSE_FIRST_NS)
#define DUMP_PAUSE_MAX_NS (1024 * PAUSE_FIRST_NS)
#define MAP_PIDS_MAX 4
#define EARLY_PART 4 /* of a pause: searches that are due within it are done together */

struct jit_file {
	int fd; /* -1: none */
	uid_t uid;
	dev_t dev;
	ino_t ino;
	bool own; /* named after this process: it is not a parent's */
};

struct process {
	uint64_t serial;
	struct opener_process id;
	struct status status;
	char program[PROCESSES_NAME_BYTES];
	struct jit_files_dirs dirs;
	struct jit_file map, dump;
	uint64_t next_ns, pause_ns; /* of the search for files; CLOCK_MONOTONIC */
	uint64_t dump_next_ns, dump_pause_ns; /* for a jitdump alone */
	uint64_t again_ns; /* before it no other program of the process is looked at */
	uint64_t account;           /* 0: unknown */
	uint32_t used;
	uint32_t ended; /* from this interval on there are no ticks of it; 0: it lives */
	bool is_read; /* dirs and preserves_fp are known */
	bool preserves_fp;
	bool unanswered; /* the latest search: the worker had no time */
	uint32_t refused; /* a bit for each enum file_reason that a map of its was refused for */
};

struct processes {
	VEC(struct process *) all;
	struct hash by_id;
	struct hash by_serial;
	uint64_t last_serial;
	uint32_t interval;
	void (*drop)(void *ctx, uint64_t id);
	void *ctx;
	struct worker_client *worker;
	struct hotspots *hotspots; /* NULL: none are described */
	uint64_t refused[FILE_REASONS_LEN]; /* of processes that are forgotten */
	uint64_t (*account)(pid_t process);
	struct file_time time;
	struct share places;
	struct share_debt reading; /* CPU time of a worker, for what is in the files */
	size_t turn; /* index of the next whose mappings are read */
	uint64_t due_ns; /* no search is due before */
};

static uint64_t key_of(uint32_t tgid, uint64_t start_ns)
{
	return hash_mix(start_ns) ^ tgid;
}

static void process_free(struct process *p)
{
	if (!p)
		return;
	jit_files_close_dirs(&p->dirs);
	fd_close(&p->map.fd);
	fd_close(&p->dump.fd);
	free(p);
}

DEFINE_CLEANUP(struct process, process_free)

int processes_new(const struct processes_options *options, struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	int err = 0;

	if (!processes)
		return -ENOMEM;
	if (options->objects)
		err = hotspots_new(options->objects, options->sampler,
			worker_client_call(options->worker), &processes->hotspots);
	if (err < 0) {
		free(processes);
		return err;
	}
	processes->drop = options->drop;
	processes->ctx = options->ctx;
	processes->worker = options->worker;
	processes->account = options->account;
	processes->due_ns = CLOCK_NEVER_NS;
	processes->reading.since_ns = clock_ns(CLOCK_MONOTONIC);
	*out = processes;
	return 0;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	vec_each (&processes->all, p)
		process_free(*p);
	vec_done(&processes->all);
	hash_done(&processes->by_id);
	hash_done(&processes->by_serial);
	share_done(&processes->places);
	share_debt_done(&processes->reading);
	file_time_done(&processes->time);
	hotspots_free(processes->hotspots);
	free(processes);
}

struct file_time *processes_time(struct processes *processes)
{
	return &processes->time;
}

/* The innermost pid first: that is what a program in a container writes. The last is the host's,
 * which its tools write; of many between a few. */
static pid_t map_pid(const struct status *status, size_t at)
{
	return status->ns_pids[at == MAP_PIDS_MAX - 1 ? 0 : status->ns_pids_len - 1 - at];
}

static int open_map(struct opener_call *call, struct process *p, struct opener_found *found)
{
	size_t pids = p->status.ns_pids_len < MAP_PIDS_MAX ? p->status.ns_pids_len : MAP_PIDS_MAX;
	int err = -ENOENT, reason;

	for (size_t at = 0; at < p->dirs.len * pids && err < 0; at++) {
		err = opener_call_perf_map(call, p->dirs.fds[at / pids], &p->id,
			map_pid(&p->status, at % pids), p->status.euid, found);
		reason = err < 0 ? opener_reason(err) : -1;
		if (reason >= 0)
			p->refused |= 1U << reason;
	}
	return err;
}

/* A file that was removed and made anew is another one under the same name. Takes the descriptor.
 */
static void follow(struct jit_file *file, const struct opener_found *now, bool own)
{
	_cleanup_fd_ int fd = now->fd;

	if (file->fd >= 0 && file->ino == now->ino && file->dev == now->dev)
		return;
	fd_close(&file->fd);
	*file = (struct jit_file){ TAKE_FD(fd), now->uid, now->dev, now->ino, own };
}

/* Looks for the JVM's option in the command line and in the environment, where JAVA_TOOL_OPTIONS
 * and JDK_JAVA_OPTIONS are; the last one counts. False: not all was answered. */
static bool find_option(struct opener_call *call, struct process *p)
{
	const struct opener_process process = { .pid = p->id.pid };
	static const char *const names[] = { "environ", "cmdline" };
	static const char option[] = "PreserveFramePointer";
	bool answered = true;

	p->preserves_fp = false;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		int err = opener_call_read(call, &process, names[i], COMMAND_BYTES_MAX, &text);
		const char *at, *end;

		answered &= !jit_files_unanswered(err);
		if (err < 0 || !text.data)
			continue;
		end = text.data + text.len;
		for (at = text.data; (at = memmem(at, (size_t)(end - at), option, strlen(option)));
			at += strlen(option))
			if (at - text.data >= 5 && memcmp(at - 5, "-XX:", 4) == 0)
				p->preserves_fp = at[-1] == '+';
	}
	return answered;
}

/* Reads what a process was started with; again, as long as openers were too busy to answer. */
static void read_start(struct opener_call *call, struct process *p)
{
	const struct jit_files_access access = opener_call_access(call);

	if (p->is_read)
		return;
	jit_files_close_dirs(&p->dirs);
	p->is_read = jit_files_open_dirs(&access, &p->id, &p->dirs);
	p->is_read &= find_option(call, p);
}

static void find_map(struct processes *processes, struct process *p)
{
	struct opener_found found;

	read_start(worker_client_call(processes->worker), p);
	if (open_map(worker_client_call(processes->worker), p, &found) == 0)
		follow(&p->map, &found, true);
}

static bool has_pid(const struct process *p, pid_t pid)
{
	for (uint32_t i = 0; i < p->status.ns_pids_len; i++)
		if (p->status.ns_pids[i] == pid)
			return true;
	return false;
}

/* To read all mappings is dear, and a runtime that writes a jitdump does so when it starts: after
 * some tries it is looked for less and less often, at the end of an interval, too. */
static void find_dump(struct processes *processes, struct process *p)
{
	struct mappings_library jvm = { 0 };
	struct opener_found found;
	pid_t number = 0;
	int err = worker_client_dump(processes->worker, &p->id, p->serial, &found, &number, &jvm);

	if (jvm.ino != 0 && processes->hotspots)
		hotspots_meet(processes->hotspots, p->serial, &p->id, p->account, &jvm);
	else if ((err == 0 || err == -ENOENT) && processes->hotspots &&
		hotspots_has(processes->hotspots, p->serial)) /* after an exec */
		hotspots_drop(processes->hotspots, p->serial, (uint32_t)p->id.pid);
	if (err == 0 && found.uid != 0 && found.uid != p->status.euid) {
		fd_close(&found.fd);
		err = -EPERM;
	}
	if (err == 0)
		follow(&p->dump, &found, has_pid(p, number));
	else if (err == -EFBIG || err == -ETIMEDOUT || err == -ETIME || err == -EPERM)
		p->refused |= 1U << opener_reason(err);
	p->unanswered = jit_files_unanswered(err);
	if (p->unanswered)
		return;
	p->dump_next_ns = clock_ns(CLOCK_MONOTONIC) + p->dump_pause_ns;
	p->dump_pause_ns = clock_sooner(2 * p->dump_pause_ns, DUMP_PAUSE_MAX_NS);
}

static bool is_dump_due(const struct process *p, uint64_t now_ns)
{
	return !p->ended &&
		(p->dump.fd >= 0 || p->dump_pause_ns <= PAUSE_MAX_NS || now_ns >= p->dump_next_ns);
}

static void search(struct processes *processes, struct process *p, bool map, bool dump)
{
	uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (file_time_owes(&processes->time, p->account, clock_ns(CLOCK_MONOTONIC))) {
		p->refused |= 1U << opener_reason(-ETIME);
		return;
	}
	if (map)
		find_map(processes, p);
	if (dump)
		find_dump(processes, p);
	file_time_charge_since(&processes->time, p->account, begun_ns);
}

static int read_status(pid_t pid, struct status *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = fd_read_path(path, READ_BYTES, &text);
	return err < 0 ? err : status_parse(text.data, out);
}

/* Notes where a process is in the list. */
static int index_at(struct processes *processes, size_t at)
{
	const struct process *p = processes->all.data[at];
	int err = hash_put(&processes->by_id, key_of((uint32_t)p->id.pid, p->id.start_ns), at);

	return err < 0 ? err : hash_put(&processes->by_serial, p->serial, at);
}

int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	_cleanup_(process_freep) struct process *p = NULL;
	uint64_t key = key_of(tgid, start_ns), account;
	struct process **slot;

	if (hash_find(&processes->by_id, key))
		return 0;
	account = processes->account((pid_t)tgid);
	if (share_refuses(&processes->places, account, 1, PROCESSES_MAX))
		return -ENOSPC;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct process){
		.serial = ++processes->last_serial,
		.id = { .pid = (pid_t)tgid, .start_ns = start_ns },
		.map = { .fd = -1 },
		.dump = { .fd = -1 },
		.used = processes->interval,
		.account = account,
		.pause_ns = PAUSE_FIRST_NS,
		.dump_pause_ns = PAUSE_FIRST_NS,
		.next_ns = clock_ns(CLOCK_MONOTONIC) + PAUSE_FIRST_NS,
	};
	if (read_status(p->id.pid, &p->status) == 0)
		search(processes, p, true, true);
	p->next_ns -= p->unanswered ? PAUSE_FIRST_NS - UNANSWERED_NS : 0;
	if (opener_program(&p->id, p->program, sizeof(p->program)) < 0)
		snprintf(p->program, sizeof(p->program), "%s", p->status.name);
	slot = vec_add(&processes->all);
	if (!slot)
		return -ENOMEM;
	if (share_charge(&processes->places, account, 1) < 0) {
		processes->all.len--;
		return -ENOMEM;
	}
	processes->due_ns = clock_sooner(processes->due_ns, p->next_ns);
	*slot = TAKE_PTR(p);
	return index_at(processes, processes->all.len - 1);
}

int processes_runs(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	uint64_t *known = hash_find(&processes->by_id, key_of(tgid, start_ns));
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct process *p;

	if (!known)
		return processes_add(processes, tgid, start_ns);
	p = processes->all.data[*known];
	if (now_ns < p->again_ns)
		return 0;
	p->again_ns = now_ns + NSEC_PER_SEC;
	p->is_read = false;
	p->pause_ns = p->dump_pause_ns = PAUSE_FIRST_NS;
	p->next_ns = now_ns + PAUSE_FIRST_NS;
	processes->due_ns = clock_sooner(processes->due_ns, p->next_ns);
	search(processes, p, true, true);
	return 0;
}

bool processes_met(
	const struct processes *processes, uint64_t *after, struct processes_met *out)
{
	const struct process *next = NULL;

	if (*after >= processes->last_serial)
		return false;
	vec_each (&processes->all, p)
		if ((*p)->serial > *after && (!next || (*p)->serial < next->serial))
			next = *p;
	*after = next ? next->serial : processes->last_serial;
	if (next)
		*out = (struct processes_met){ (uint32_t)next->id.pid, next->account };
	return next != NULL;
}

static bool is_alive(const struct process *p)
{
	_cleanup_fd_ int fd = -1;

	return opener_process(&p->id, &fd) == 0;
}

/* interval: the latest that may have ticks of it. */
static bool has_ended(struct process *p, uint32_t interval)
{
	if (!p->ended && !is_alive(p))
		p->ended = interval + 1;
	return p->ended;
}

static bool lacks_files(const struct process *p)
{
	return !p->ended && (p->map.fd < 0 || p->dump.fd < 0);
}

static void retry(struct processes *processes, struct process *p, uint64_t now_ns)
{
	if (has_ended(p, processes->interval))
		return;
	search(processes, p, p->map.fd < 0, p->dump.fd < 0 && is_dump_due(p, now_ns));
	p->pause_ns = clock_sooner(2 * p->pause_ns, PAUSE_MAX_NS);
	p->next_ns = now_ns + p->pause_ns;
	if (p->map.fd >= 0 && p->next_ns < p->dump_next_ns)
		p->next_ns = p->dump_next_ns;
}

void processes_retry(struct processes *processes, uint64_t now_ns)
{
	if (processes->hotspots)
		hotspots_retry(processes->hotspots, now_ns);
	if (now_ns < processes->due_ns)
		return;
	processes->due_ns = CLOCK_NEVER_NS;
	vec_each (&processes->all, at) {
		struct process *p = *at;

		if (lacks_files(p) && now_ns + p->pause_ns / EARLY_PART >= p->next_ns)
			retry(processes, p, now_ns);
		if (lacks_files(p))
			processes->due_ns = clock_sooner(processes->due_ns, p->next_ns);
	}
}

uint64_t processes_due_ns(const struct processes *processes)
{
	return processes->hotspots
		? clock_sooner(processes->due_ns, hotspots_due_ns(processes->hotspots))
		: processes->due_ns;
}

void processes_refresh(struct processes *processes)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	size_t len = processes->all.len;

	/* Another one comes first each time: there may not be time for all. */
	processes->turn++;
	for (size_t i = 0; i < len; i++) {
		struct process *p = processes->all.data[(processes->turn + i) % len];

		/* Its last ticks are of the next interval, at most. A map may be late. */
		has_ended(p, processes->interval + 1);
		search(processes, p, true, is_dump_due(p, now_ns));
	}
}

static void add_refused(const struct process *p, uint64_t sums[FILE_REASONS_LEN])
{
	for (int reason = 0; reason < FILE_REASONS_LEN; reason++)
		sums[reason] += p->refused >> reason & 1;
}

void processes_refused(const struct processes *processes, uint64_t out[FILE_REASONS_LEN])
{
	memcpy(out, processes->refused, sizeof(processes->refused));
	vec_each (&processes->all, p)
		add_refused(*p, out);
}

static void forget(struct processes *processes, size_t at)
{
	struct process *p = processes->all.data[at];

	add_refused(p, processes->refused);
	share_return(&processes->places, p->account, 1);
	processes->drop(processes->ctx, p->serial);
	if (processes->hotspots)
		hotspots_drop(processes->hotspots, p->serial, (uint32_t)p->id.pid);
	hash_del(&processes->by_id, key_of((uint32_t)p->id.pid, p->id.start_ns));
	hash_del(&processes->by_serial, p->serial);
	process_free(p);
	processes->all.data[at] = processes->all.data[--processes->all.len];
	if (at < processes->all.len)
		index_at(processes, at);
}

static bool is_over(const struct process *p, uint32_t interval)
{
	return p->ended && p->ended <= interval;
}

/* A process that ended stays for an interval more: a sample may be late. */
void processes_next(struct processes *processes)
{
	processes->interval++;
	for (size_t i = processes->all.len; i-- > 0;) {
		const struct process *p = processes->all.data[i];

		if (is_over(p, processes->interval - 1) ||
			processes->interval - p->used > IDLE_INTERVALS)
			forget(processes, i);
	}
}

uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	uint64_t *at = hash_find(&processes->by_id, key_of(tgid, start_ns));
	struct process *p;

	if (!at)
		return 0;
	p = processes->all.data[*at];
	p->used = processes->interval;
	return p->serial;
}

const struct java_layout *processes_java(const struct processes *processes,
	const struct opener_process *process, uint64_t *account)
{
	const uint64_t *at = hash_find(
		&processes->by_id, key_of((uint32_t)process->pid, process->start_ns));

	if (!at || !processes->hotspots)
		return NULL;
	return hotspots_layout(
		processes->hotspots, processes->all.data[*at]->serial, account);
}

bool processes_preserve_fp(const struct processes *processes, uint64_t id)
{
	uint64_t *at = hash_find(&processes->by_serial, id);

	return at && processes->all.data[*at]->preserves_fp;
}

struct processes_name processes_name(const struct processes *processes, uint64_t id)
{
	const uint64_t *at = hash_find(&processes->by_serial, id);
	const struct process *p = at ? processes->all.data[*at] : NULL;
	struct processes_name name = { .tgid = p ? (uint32_t)p->id.pid : 0 };

	if (p)
		memcpy(name.name, p->program, sizeof(name.name));
	name.is_described = processes->hotspots && hotspots_has(processes->hotspots, id);
	return name;
}

/* ---- shared files ------------------------------------------------------------------------------
 * Containers that have one /tmp have one perf-1.map: the names of a process would be given to
 * another. */

static bool is_same(const struct jit_file *a, const struct jit_file *b)
{
	return a->fd >= 0 && b->fd >= 0 && a->ino == b->ino && a->dev == b->dev;
}

/* Does the other process keep this one from having the file alone? Anybody may mount or map a file
 * of root's, which stays root's. */
static bool has_claim(
	const struct process *other, const struct process *p, const struct jit_file *file)
{
	return other != p &&
		(other->status.euid == file->uid || p->status.euid != file->uid) &&
		((other->map.own && is_same(&other->map, file)) ||
			(other->dump.own && is_same(&other->dump, file)));
}

/* Does another living process claim the file, too? A process that ended leaves it to the next one,
 * and a child shares its parent's, which knows its code. Thousands may claim one file: the
 * search ends at the first who does. */
static bool is_shared(
	const struct processes *processes, const struct process *p, const struct jit_file *file)
{
	unsigned int owners = 0, most = file->own ? 0 : 1;

	for (size_t i = 0; i < processes->all.len && owners <= most; i++) {
		const struct process *other = processes->all.data[i];

		if (has_claim(other, p, file))
			owners += (!other->ended && is_alive(other)) ||
				(file->own && other->id.start_ns > p->id.start_ns && !is_alive(p));
	}
	return owners > most;
}

static int usable_fd(struct processes *processes, struct process *p, const struct jit_file *file)
{
	if (file->fd < 0 || !is_shared(processes, p, file))
		return file->fd;
	p->refused |= 1U << FILE_SHARED;
	return -1;
}

static bool is_unread(struct processes *processes, struct process *p)
{
	struct share_debt *reading = &processes->reading;

	if (processes->time.part == 0)
		return false;
	share_debt_pass(reading, PROCESSES_READ_PART, clock_ns(CLOCK_MONOTONIC));
	if (!share_owes_more(reading, p->account, share_debt_level(reading, PROCESSES_READ_NS)))
		return false;
	p->refused |= 1U << FILE_LATE;
	return true;
}

void processes_charge(struct processes *processes, uint64_t id, uint64_t took_ns)
{
	uint64_t *at = hash_find(&processes->by_serial, id);

	/* Without memory it is nobody's. */
	if (at)
		(void)share_charge(&processes->reading.held,
			processes->all.data[*at]->account, took_ns);
}

struct processes_files processes_files(struct processes *processes, uint64_t id)
{
	uint64_t *at = hash_find(&processes->by_serial, id);
	struct process *p = at ? processes->all.data[*at] : NULL;
	struct processes_files files = { .map_fd = -1, .dump_fd = -1 };

	if (!p)
		return files;
	files.tgid = (uint32_t)p->id.pid;
	files.last = is_over(p, processes->interval + 1);
	files.map_fd = usable_fd(processes, p, &p->map);
	files.dump_fd = usable_fd(processes, p, &p->dump);
	files.shared = files.map_fd != p->map.fd || files.dump_fd != p->dump.fd;
	files.unread = (files.map_fd >= 0 || files.dump_fd >= 0) && is_unread(processes, p);
	return files;
}

uint64_t processes_undescribed(const struct processes *processes)
{
	return processes->hotspots ? hotspots_refused(processes->hotspots) : 0;
}
