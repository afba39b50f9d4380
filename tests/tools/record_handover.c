/* SPDX-License-Identifier: Apache-2.0 */
/* record_handover.c - stoker with a recorder between sampler and agent. Linked with --wrap, it
 * takes the place of the functions below, calls the real ones and notes what they hand over; the
 * product has no such option. With HANDOVER=DIR in the environment the first profile's recording is
 * written there (tests/tools/handover.h). It holds what that profile needs and nothing else of the
 * host: files, kernel symbols and cgroups are those of the stacks, processes those that were
 * sampled. A file that is called refused.so is not opened: "denied", as no program can arrange it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cgroup/tree.h"
#include "client/opener_call.h"
#include "client/openers.h"
#include "files/object.h"
#include "handover.h"
#include "proc/opener.h"
#include "sampler/code_events.h"
#include "sampler/sampler.h"

#define FILE_BYTES_MAX (64UL << 20)
#define STACK_LINE_BYTES 64

/* A line is kept if this is used by what was sampled. */
enum owner { ANYBODY, OF_OBJECT, OF_PROCESS, OF_CGROUP, OWNERS };

struct entry {
	enum owner owner;
	uint64_t id;
	char *text;
};

struct file {
	enum owner owner;
	uint64_t id;
	char *path;
	int fd;          /* -1: */
	struct buf text; /* as it was read */
};

struct mapped {
	struct object_key key;
	int process;
	uint64_t start;
};

/* The functions that are replaced have no context. */
static struct {
	VEC(struct entry) entries;
	VEC(struct file) files;
	VEC(uint64_t) kernel; /* addresses */
	struct hash used[OWNERS];
	struct sampler_events callbacks;
	void *ctx;
	VEC(struct mapped) mapped; /* as they were met */
	bool lines, polled, draining;
} rec;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void use(enum owner owner, uint64_t id)
{
	must(hash_put(&rec.used[owner], id, 1) == 0, "memory");
}

static void use_frames(const __u64 *frames, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t payload = frames[i] & FRAME_PAYLOAD_MASK, *slot;

		if (FRAME_KIND(frames[i]) == FRAME_FILE)
			use(OF_OBJECT, payload >> FRAME_OBJECT_SHIFT);
		if (FRAME_KIND(frames[i]) != FRAME_KERNEL)
			continue;
		slot = vec_add(&rec.kernel);
		must(slot != NULL, "memory");
		*slot = payload | ~FRAME_PAYLOAD_MASK;
	}
}

static void add(enum owner owner, uint64_t id, struct buf *line)
{
	struct entry *entry = vec_add(&rec.entries);

	must(entry && line->data, "memory");
	*entry = (struct entry){ owner, id, line->data };
	*line = (struct buf)BUF_INIT;
}

__attribute__((format(printf, 3, 4))) static void note(
	enum owner owner, uint64_t id, const char *format, ...)
{
	struct buf line = BUF_INIT;
	va_list args;

	va_start(args, format);
	must(buf_vprintf(&line, format, args) == 0, "memory");
	va_end(args);
	add(owner, id, &line);
}

#define U(n) ((unsigned long long)(n))

static void note_poll(void)
{
	if (rec.entries.len > 0 && strcmp(rec.entries.data[rec.entries.len - 1].text, "poll") != 0)
		note(ANYBODY, 0, "poll");
}

/* ---- events -----------------------------------------------------------------------------------
 */

static int on_object(void *ctx, const struct event_object *e)
{
	struct mapped *mapped = vec_add(&rec.mapped);

	note(OF_OBJECT, e->id,
		"object id=%u ino=%llu mtime=%llu dev=%u generation=%u process=%u started=%llu "
		"start=0x%llx end=0x%llx offset=0x%llx name=%.*s",
		e->id, U(e->key.ino), U(e->key.mtime_ns), e->key.dev, e->key.place, e->tgid,
		U(e->start_ns), U(e->vm_start), U(e->vm_end), U(e->file_offset),
		OBJECT_NAME_LEN - 1, e->name);
	must(mapped != NULL, "memory");
	*mapped = (struct mapped){ e->key, (int)e->tgid, e->vm_start };
	return rec.callbacks.object(ctx, e);
}

static int on_task(void *ctx, const struct event_task *e)
{
	use(OF_PROCESS, e->key.tgid);
	use(OF_CGROUP, e->key.cgroup);
	note(ANYBODY, 0, "who id=%u process=%u started=%llu cgroup=%llu thread=%u comm=%.*s", e->id,
		e->key.tgid, U(e->key.start_ns), U(e->key.cgroup), e->key.tid, COMM_LEN - 1,
		e->key.comm);
	return rec.callbacks.task(ctx, e);
}

static int on_stack(void *ctx, const struct event_stack *e, const uint64_t *frames)
{
	struct buf line = BUF_INIT;

	use_frames((const __u64 *)frames, e->frames_len);
	buf_printf(&line, "stack hash=0x%llx rest=0x%llx ended=%u anon=%u", U(e->hash),
		U(e->below_leaf), e->end, e->anon);
	handover_put_frames(&line, (const __u64 *)frames, e->frames_len);
	add(ANYBODY, 0, &line);
	return rec.callbacks.stack(ctx, e, frames);
}

int __real_tally_leaf(struct tally *tally, const struct event_leaf *e);
int __wrap_tally_leaf(struct tally *tally, const struct event_leaf *e);
int __wrap_tally_leaf(struct tally *tally, const struct event_leaf *e)
{
	struct buf line = BUF_INIT;

	use_frames(&e->frame, 1);
	buf_printf(&line, "leaf hash=0x%llx rest=0x%llx anon=%u", U(e->hash), U(e->below_leaf),
		e->anon);
	handover_put_frames(&line, &e->frame, 1);
	add(ANYBODY, 0, &line);
	return __real_tally_leaf(tally, e);
}

static int on_jit(void *ctx, const struct event_jit *e)
{
	note(OF_PROCESS, e->tgid, "jit process=%u started=%llu", e->tgid, U(e->start_ns));
	return rec.callbacks.jit(ctx, e);
}

static int on_exec(void *ctx, const struct event_exec *e)
{
	note(OF_PROCESS, e->tgid, "exec process=%u started=%llu", e->tgid, U(e->start_ns));
	return rec.callbacks.exec(ctx, e);
}

/* Rows of zeroes are left out. */
static void note_stack(const char *name, const uint8_t *bytes, uint32_t len)
{
	static const uint8_t zeroes[STACK_LINE_BYTES];

	for (uint32_t at = 0; at < len; at += STACK_LINE_BYTES) {
		uint32_t size = len - at < STACK_LINE_BYTES ? len - at : STACK_LINE_BYTES;
		struct buf line = BUF_INIT;

		if (memcmp(bytes + at, zeroes, size) == 0)
			continue;
		buf_printf(&line, "%s at=%u hex=", name, at);
		for (uint32_t i = 0; i < size; i++)
			buf_printf(&line, "%02x", bytes[at + i]);
		add(ANYBODY, 0, &line);
	}
}

static int on_deferred(void *ctx, const struct event_deferred *e)
{
	struct buf line = BUF_INIT;

	use_frames(deferred_frames(e), deferred_frames_bytes(e) / sizeof(__u64));
	use(OF_PROCESS, e->tgid);
	buf_printf(&line,
		"deferred who=%u kernel=0x%llx process=%u started=%llu cpu=%u pc=0x%llx sp=0x%llx "
		"fp=0x%llx top=0x%llx exact=%u anon=%u size=%u root_at=0x%llx root_size=%u "
		"tick_cpu=%u time=%llu at_start=0x%llx at_end=0x%llx at_offset=0x%llx at_object=%u "
		"gpr=",
		e->task, U(e->kernel_stack), e->tgid, U(e->start_ns), e->cpu, U(e->pc), U(e->sp),
		U(e->fp), U(e->start_stack), e->exact, e->anon, e->stack_bytes, U(e->root_at),
		e->root_bytes, e->tick_cpu, U(e->time_ns), U(e->at.start), U(e->at.end),
		U(e->at.file_offset), e->at.object);
	for (int i = 0; i < DEFERRED_GPRS; i++)
		buf_printf(&line, "%s0x%llx", i ? "," : "", U(e->gpr[i]));
	handover_put_frames(&line, deferred_frames(e), deferred_frames_bytes(e) / sizeof(__u64));
	add(ANYBODY, 0, &line);
	note_stack("stack_bytes", deferred_stack(e), e->stack_bytes);
	note_stack("root_bytes", deferred_root(e), e->root_bytes);
	return rec.callbacks.deferred(ctx, e);
}

static int on_cgroup(void *ctx, const struct event_cgroup *e)
{
	static const char *const kinds[] = {
		[CGROUP_MADE] = "made", [CGROUP_REMOVED] = "removed", [CGROUP_RENAMED] = "renamed"
	};

	if (e->change < CGROUP_LOST)
		note(OF_CGROUP, e->id, "%s id=%llu path=%s", kinds[e->change], U(e->id), e->path);
	return rec.callbacks.cgroup(ctx, e);
}

/* Deferred samples are counted, too, but by the agent. */
static void note_count(const struct count_key *key, uint64_t count)
{
	if (rec.draining)
		note(ANYBODY, 0, "count user=0x%llx kernel=0x%llx who=%u cpu=%u count=%llu",
			U(key->user_stack), U(key->kernel_stack), key->task, key->cpu, U(count));
}

int __real_tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
int __wrap_tally_count(struct tally *tally, const struct count_key *key, uint64_t count);
int __wrap_tally_count(struct tally *tally, const struct count_key *key, uint64_t count)
{
	note_count(key, count);
	return __real_tally_count(tally, key, count);
}

int __real_tally_key(struct tally *tally, const struct count_key *key, uint32_t id);
int __wrap_tally_key(struct tally *tally, const struct count_key *key, uint32_t id);
int __wrap_tally_key(struct tally *tally, const struct count_key *key, uint32_t id)
{
	note_count(key, id);
	return __real_tally_key(tally, key, id);
}

int __real_timeline_tick(struct timeline *timeline, const struct event_tick *e);
int __wrap_timeline_tick(struct timeline *timeline, const struct event_tick *e);
int __wrap_timeline_tick(struct timeline *timeline, const struct event_tick *e)
{
	note(ANYBODY, 0, "tick id=%u time=%llu cpu=%u", e->id, U(e->time_ns), e->cpu);
	return __real_timeline_tick(timeline, e);
}

int __real_sampler_drain(struct sampler *sampler, bool last);
int __wrap_sampler_drain(struct sampler *sampler, bool last);
int __wrap_sampler_drain(struct sampler *sampler, bool last)
{
	int err;

	rec.draining = true;
	err = __real_sampler_drain(sampler, last);
	rec.draining = false;
	return err;
}

/* ---- the sampler ------------------------------------------------------------------------------
 */

int __real_agent_open(const struct agent_options *options, struct agent **out, struct why *why);
int __wrap_agent_open(const struct agent_options *options, struct agent **out, struct why *why);
int __wrap_agent_open(const struct agent_options *options, struct agent **out, struct why *why)
{
	const struct sampler_options *o = &options->sampler;

	note(ANYBODY, 0, "stoker-handover version=%d", HANDOVER_VERSION);
	note(ANYBODY, 0, "options hz=%u times=%d tids=%d cpus=%d lines=%d", o->hz, o->times,
		o->by_tid, o->by_cpu, options->lines);
	return __real_agent_open(options, out, why);
}

int __real_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why)
{
	struct sampler_events ours = *events;

	rec.callbacks = *events;
	ours.object = on_object;
	ours.task = on_task;
	ours.stack = on_stack;
	ours.jit = on_jit;
	ours.exec = on_exec;
	ours.deferred = on_deferred;
	ours.cgroup = on_cgroup;
	return __real_sampler_open(options, &ours, ctx, tally, out, why);
}

int __real_sampler_poll(struct sampler *sampler);
int __wrap_sampler_poll(struct sampler *sampler);
int __wrap_sampler_poll(struct sampler *sampler)
{
	int err = __real_sampler_poll(sampler);

	note_poll();
	return err;
}

struct taking {
	int (*take)(void *ctx, const struct scan_mapping *mapping);
	void *ctx;
};

static int take(void *ctx, const struct scan_mapping *m)
{
	const struct taking *scan = ctx;

	note(OF_PROCESS, m->tgid,
		"mapping process=%u start=0x%llx end=0x%llx offset=0x%llx object=%u", m->tgid,
		U(m->start), U(m->end), U(m->file_offset), m->object);
	return scan->take(scan->ctx, m);
}

int __real_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*fn)(void *ctx, const struct scan_mapping *mapping), void *ctx);
int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*fn)(void *ctx, const struct scan_mapping *mapping), void *ctx);
int __wrap_sampler_scan(struct sampler *sampler, uint32_t tgid,
	int (*fn)(void *ctx, const struct scan_mapping *mapping), void *ctx)
{
	struct taking scan = { fn, ctx };

	return tgid ? __real_sampler_scan(sampler, tgid, take, &scan)
		    : __real_sampler_scan(sampler, tgid, fn, ctx);
}

/* ---- what the agent reads beside --------------------------------------------------------------
 */

static struct file *add_file(enum owner owner, uint64_t id, const char *path)
{
	struct file *file = vec_add(&rec.files);

	must(file != NULL, "memory");
	*file = (struct file){ .owner = owner, .id = id, .path = strdup(path), .fd = -1 };
	return file;
}

static const struct mapped *mapped_of(const struct object_key *key)
{
	const struct mapped *last = NULL;

	vec_each (&rec.mapped, mapped)
		if (memcmp(&mapped->key, key, sizeof(*key)) == 0)
			last = mapped;
	return last;
}

void __real_object_take(
	struct object *object, struct openers *openers, struct openers_answer *answer);
void __wrap_object_take(
	struct object *object, struct openers *openers, struct openers_answer *answer);
void __wrap_object_take(
	struct object *object, struct openers *openers, struct openers_answer *answer)
{
	const struct mapped *mapped = mapped_of(&object->key);

	if (answer->fd >= 0 && strstr(answer->path, "/refused.so")) {
		fd_close(&answer->fd);
		answer->reason = OBJECT_DENIED;
	}
	note(OF_OBJECT, object->id, "file process=%d start=0x%llx refused=%d path=%s",
		mapped->process, U(mapped->start), answer->fd < 0 ? (int)answer->reason : 0,
		answer->fd >= 0 ? answer->path : "");
	if (answer->fd >= 0)
		add_file(OF_OBJECT, object->id, answer->path)->fd =
			fcntl(answer->fd, F_DUPFD_CLOEXEC, 3);
	__real_object_take(object, openers, answer);
}

int __real_opener_call_perf_map(struct opener_call *call, int dir_fd,
	const struct opener_process *process, pid_t ns_pid, uid_t uid, struct opener_found *found);
int __wrap_opener_call_perf_map(struct opener_call *call, int dir_fd,
	const struct opener_process *process, pid_t ns_pid, uid_t uid, struct opener_found *found);
int __wrap_opener_call_perf_map(struct opener_call *call, int dir_fd,
	const struct opener_process *process, pid_t ns_pid, uid_t uid, struct opener_found *found)
{
	int err = __real_opener_call_perf_map(call, dir_fd, process, ns_pid, uid, found);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", ns_pid);
	if (err == 0)
		add_file(OF_PROCESS, (uint64_t)process->pid, path)->fd =
			fcntl(found->fd, F_DUPFD_CLOEXEC, 3);
	return err;
}

int __real_fd_read_path(const char *path, size_t size_max, struct buf *out);
int __wrap_fd_read_path(const char *path, size_t size_max, struct buf *out);
int __wrap_fd_read_path(const char *path, size_t size_max, struct buf *out)
{
	size_t before = out->len;
	int err = __real_fd_read_path(path, size_max, out), pid = 0, end = 0;
	bool symbols = strcmp(path, "/proc/kallsyms") == 0;

	sscanf(path, "/proc/%d/status%n", &pid, &end);
	if (err == 0 && (symbols || (end > 0 && !path[end])))
		buf_put(&add_file(symbols ? ANYBODY : OF_PROCESS, (uint64_t)pid, path)->text,
			out->data + before, out->len - before);
	return err;
}

struct codes {
	int (*fn)(void *ctx, const struct code_event *event);
	void *ctx;
};

static int on_code(void *ctx, const struct code_event *e)
{
	const struct codes *codes = ctx;

	note(ANYBODY, 0, "code start=0x%llx size=%u gone=%d name=%s", U(e->start), e->size, e->gone,
		e->name);
	return codes->fn(codes->ctx, e);
}

int __real_code_events_poll(struct code_events *events,
	int (*fn)(void *ctx, const struct code_event *event), void *ctx);
int __wrap_code_events_poll(struct code_events *events,
	int (*fn)(void *ctx, const struct code_event *event), void *ctx);
int __wrap_code_events_poll(
	struct code_events *events, int (*fn)(void *ctx, const struct code_event *event), void *ctx)
{
	return __real_code_events_poll(events, on_code, &(struct codes){ fn, ctx });
}

struct cgroups {
	int (*fn)(void *ctx, uint64_t id, const char *path);
	void *ctx;
};

static int on_scanned(void *ctx, uint64_t id, const char *path)
{
	const struct cgroups *cgroups = ctx;

	note(OF_CGROUP, id, "cgroup id=%llu path=%s", U(id), path);
	return cgroups->fn(cgroups->ctx, id, path);
}

int __real_cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx);
int __wrap_cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx);
int __wrap_cgroup_tree_scan(const struct cgroup_tree *tree,
	int (*fn)(void *ctx, uint64_t id, const char *path), void *ctx)
{
	return __real_cgroup_tree_scan(tree, on_scanned, &(struct cgroups){ fn, ctx });
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static bool is_used(enum owner owner, uint64_t id)
{
	return owner == ANYBODY || hash_find(&rec.used[owner], id);
}

/* What a walk of a deferred sample may meet. */
static void use_mappings(void)
{
	vec_each (&rec.entries, entry)
		if (handover_is(entry->text, "mapping") && is_used(entry->owner, entry->id))
			use(OF_OBJECT, handover_number(entry->text, "object"));
}

static bool covers_a_frame(uint64_t start, uint64_t size)
{
	vec_each (&rec.kernel, at)
		if (*at - start < size)
			return true;
	return false;
}

static void write_entries(FILE *out)
{
	bool polled = true;

	vec_each (&rec.entries, entry) {
		bool poll = strcmp(entry->text, "poll") == 0;

		if (!is_used(entry->owner, entry->id) || (poll && polled) ||
			(handover_is(entry->text, "code") &&
				!covers_a_frame(handover_number(entry->text, "start"),
					handover_number(entry->text, "size"))))
			continue;
		fprintf(out, "%s\n", entry->text);
		polled = poll;
	}
}

struct symbol {
	uint64_t address;
	const char *line;
	size_t len;
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The symbols at the last address before each frame, and where they end. */
static void write_symbols(const struct buf *text, FILE *out)
{
	VEC(struct symbol) all = { 0 };

	for (const char *line = text->data, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct symbol *symbol = vec_add(&all);

		must(symbol != NULL, "memory");
		*symbol =
			(struct symbol){ strtoull(line, NULL, 16), line, (size_t)(end - line) + 1 };
	}
	qsort(all.data, all.len, sizeof(*all.data), by_address);
	for (size_t i = 0, next; i < all.len; i = next) {
		uint64_t start = all.data[i].address, end = UINT64_MAX;
		bool before = i > 0 &&
			covers_a_frame(all.data[i - 1].address, start - all.data[i - 1].address);

		for (next = i; next < all.len && all.data[next].address == start;)
			next++;
		if (next < all.len)
			end = all.data[next].address;
		for (size_t at = i; at < next && (before || covers_a_frame(start, end - start));
			at++)
			fprintf(out, "%.*s", (int)all.data[at].len, all.data[at].line);
	}
	vec_done(&all);
}

/* Of a process's status, its name and its numbers. */
static void write_status(const struct buf *text, FILE *out)
{
	static const char *const keys[] = { "Name:", "Tgid:", "Pid:", "PPid:", "Uid:", "NSpid:" };

	for (const char *line = text->data, *end; (end = strchr(line, '\n')); line = end + 1)
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0)
				fprintf(out, "%.*s", (int)(end - line) + 1, line);
}

static FILE *create(const char *folder, const char *path)
{
	char full[2 * PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", folder, path);
	for (char *slash = full; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "we");
	must(file != NULL, full);
	return file;
}

static void write_file(const char *folder, struct file *file)
{
	char path[2 * PATH_MAX];
	FILE *out;

	if (!is_used(file->owner, file->id))
		return;
	snprintf(path, sizeof(path), "%s%s", HANDOVER_ROOT, file->path);
	if (file->fd >= 0)
		must(lseek(file->fd, 0, SEEK_SET) == 0 &&
				fd_read_all(file->fd, FILE_BYTES_MAX, &file->text) == 0,
			file->path);
	out = create(folder, path);
	if (file->fd >= 0)
		fwrite(file->text.data, 1, file->text.len, out);
	else if (file->owner == ANYBODY)
		write_symbols(&file->text, out);
	else
		write_status(&file->text, out);
	must(fclose(out) == 0, path);
}

static void write_all(const char *folder, const struct profile *profile)
{
	FILE *out = create(folder, HANDOVER_FILE);

	use_mappings();
	note(ANYBODY, 0, "profile start=%llu tick=%llu duration=%llu", U(profile->start_ns),
		U(profile->start_tick_ns), U(profile->duration_ns));
	write_entries(out);
	must(fclose(out) == 0, folder);
	vec_each (&rec.files, file)
		write_file(folder, file);
}

int __real_agent_profile(struct agent *agent, struct profile *out);
int __wrap_agent_profile(struct agent *agent, struct profile *out);
int __wrap_agent_profile(struct agent *agent, struct profile *out)
{
	int err = __real_agent_profile(agent, out);
	const char *folder = getenv("HANDOVER");

	if (folder)
		write_all(folder, out);
	unsetenv("HANDOVER");
	return err;
}
