/* SPDX-License-Identifier: Apache-2.0 */
/* traps/meter.c - one table lists the file of each metric, best first. The kernel regenerates such
 * a file when it is read from its beginning, so each is opened once. After its cgroup was removed,
 * reading an open file fails too. */
#include "traps/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cgroup/mounts.h"
#include "containers/cgroup_view.h"
#include "proc/load.h"

#define TEXT_MAX 65536 /* of which the kernel's files of a large host are less */
#define PATH_BYTES 4608

enum form { KEY, NUMBER, PRESSURE, BUSY, WAITED, THREADS };

struct meter_source {
	enum rule_metric metric;
	size_t mount; /* in struct meter_mounts; HOST: the file is a whole path */
	const char *file;
	enum form form;
	const char *key;
	uint64_t unit_ns; /* 0: clock ticks */
};

#define HOST SIZE_MAX
#define V2 offsetof(struct meter_mounts, v2)
#define CPU offsetof(struct meter_mounts, cpu)
#define CPUACCT offsetof(struct meter_mounts, cpuacct)

/* Where a container is in both, its v1 cgroup is the one that its runtime made for CPUs. */
static const struct meter_source sources[] = {
	{ RULE_CPU, HOST, "/proc/stat", BUSY, NULL, 0 },
	{ RULE_CPU, CPUACCT, "/cpuacct.usage", NUMBER, NULL, 1 },
	{ RULE_CPU, V2, "/cpu.stat", KEY, "usage_usec", 1000 },
	{ RULE_PRESSURE, HOST, "/proc/pressure/cpu", PRESSURE, NULL, 1000 },
	{ RULE_PRESSURE, V2, "/cpu.pressure", PRESSURE, NULL, 1000 },
	{ RULE_THROTTLED, CPU, "/cpu.stat", KEY, "throttled_time", 1 },
	{ RULE_THROTTLED, V2, "/cpu.stat", KEY, "throttled_usec", 1000 },
	{ RULE_WAIT, HOST, "/proc/schedstat", WAITED, NULL, 1 },
	{ RULE_WAIT, CPU, "/tasks", THREADS, NULL, 1 },
	{ RULE_WAIT, V2, "/cgroup.threads", THREADS, NULL, 1 },
};

int meter_mounts_find(struct meter_mounts *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int err;

	*out = (struct meter_mounts){ .viewer = cgroup_view() };
	snprintf(path, sizeof(path), "%s/mountinfo", out->viewer);
	err = fd_read_path(path, MOUNTS_BYTES_MAX, &text);
	if (err == 0)
		err = buf_putc(&text, '\0');
	if (err < 0)
		return err;
	mounts_find(text.data, NULL, out->v2, sizeof(out->v2));
	mounts_find(text.data, "cpu", out->cpu, sizeof(out->cpu));
	mounts_find(text.data, "cpuacct", out->cpuacct, sizeof(out->cpuacct));
	return 0;
}

/* ---- threads -------------------------------------------------------------------------------- */

static int read_delay(uint64_t tid, uint64_t *ns)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%llu/schedstat", (unsigned long long)tid);
	err = fd_read_path(path, 256, &text);
	return err < 0 ? err : load_parse_number(text.data, text.len, 1, ns);
}

/* Adds what each thread has waited since the last pass. The time of a thread that ended in between
 * is lost with it. */
static int add_threads(struct meter *meter, const struct buf *list, uint64_t *sum_ns)
{
	struct hash delays = HASH_INIT;
	const char *at = list->data, *end = list->data + list->len;
	int err = 0;

	for (int i = 0; i < METER_THREADS_MAX && at < end && err == 0; i++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t len = line ? (size_t)(line - at) : (size_t)(end - at);
		uint64_t tid, ns, *before;

		err = load_parse_number(at, len, 0, &tid);
		at += len + (line != NULL);
		if (err < 0 || read_delay(tid, &ns) < 0)
			continue;
		before = hash_find(&meter->delays, tid);
		if (before && ns > *before)
			*sum_ns += ns - *before;
		err = hash_put(&delays, tid, ns);
	}
	hash_done(&meter->delays);
	meter->delays = delays;
	return err;
}

/* ---- readings ------------------------------------------------------------------------------- */

static int read_text(int fd, struct buf *out)
{
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_read_all(fd, TEXT_MAX, out);
}

/* The first line is all that is wanted of a file that may be long. */
static bool is_enough(enum form form, int err)
{
	return err == 0 || (err == -EFBIG && (form == BUSY || form == THREADS));
}

static int parse(const struct meter_source *s, const struct buf *text, uint64_t *n)
{
	switch (s->form) {
	case KEY:
		return load_parse_key(text->data, text->len, s->key, n);
	case NUMBER:
		return load_parse_number(text->data, text->len, 0, n);
	case PRESSURE:
		return load_parse_pressure(text->data, text->len, n);
	case BUSY:
		return load_parse_busy(text->data, text->len, n);
	default:
		return load_parse_waited(text->data, text->len, n);
	}
}

/* Nanoseconds so far. */
static int read_sum(struct meter *meter, uint64_t *sum_ns)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const struct meter_source *s = meter->source;
	uint64_t unit_ns = s->unit_ns ? s->unit_ns : NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t n;
	int err = read_text(meter->fd, &text);

	if (!is_enough(s->form, err))
		return err;
	if (s->form == THREADS) {
		*sum_ns = meter->sum_ns;
		return add_threads(meter, &text, sum_ns);
	}
	err = parse(s, &text, &n);
	if (err == 0 && __builtin_mul_overflow(n, unit_ns, sum_ns))
		err = -EBADMSG;
	return err;
}

static int open_source(struct meter *meter, const struct meter_mounts *mounts,
	const struct meter_source *source, const char *path)
{
	const char *mount = source->mount == HOST ? NULL : (const char *)mounts + source->mount;
	char file[PATH_BYTES];
	int len;

	if (source->mount == HOST)
		len = snprintf(file, sizeof(file), "%s", source->file);
	else if (mount[0] == '\0')
		return -ENOENT;
	else
		len = snprintf(file, sizeof(file), "%s/root%s%s%s", mounts->viewer, mount, path,
			source->file);
	if (len >= (int)sizeof(file))
		return -ENAMETOOLONG;
	*meter = (struct meter){ .source = source, .delays = HASH_INIT };
	meter->fd = open(file, O_RDONLY | O_CLOEXEC);
	return meter->fd < 0 ? -errno : read_sum(meter, &meter->sum_ns);
}

int meter_open(struct meter *meter, const struct meter_mounts *mounts, enum rule_metric metric,
	const char *path, uint64_t now_ns, struct why *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct meter m = METER_INIT;

		if (sources[i].metric != metric || (sources[i].mount == HOST) != !path)
			continue;
		if (open_source(&m, mounts, &sources[i], path) == 0) {
			*meter = m;
			meter->at_ns = now_ns;
			return 0;
		}
		meter_close(&m);
	}
	return why_set(why, -ENOENT, "this kernel does not provide %s of %s",
		rule_metric_name(metric), path ? path : "the host");
}

int meter_read(struct meter *meter, uint64_t now_ns, uint64_t *permille)
{
	uint64_t sum_ns = 0, past_ns = now_ns - meter->at_ns;
	int err = read_sum(meter, &sum_ns);

	if (err < 0)
		return err;
	/* A counter may go back by a little, as CPUs are added up one after the other. */
	*permille = sum_ns > meter->sum_ns && past_ns > 0
		? (uint64_t)((double)(sum_ns - meter->sum_ns) * 1000.0 / (double)past_ns)
		: 0;
	meter->sum_ns = sum_ns;
	meter->at_ns = now_ns;
	return 0;
}

static int read_of(const struct meter_mounts *mounts, const char *mount, const char *path,
	const char *file, struct buf *out)
{
	char whole[PATH_BYTES];

	if (mount[0] == '\0' ||
		snprintf(whole, sizeof(whole), "%s/root%s%s%s", mounts->viewer, mount, path,
			file) >= (int)sizeof(whole))
		return -ENOENT;
	return fd_read_path(whole, TEXT_MAX, out);
}

bool meter_has_tasks(const struct meter_mounts *mounts, const char *path)
{
	_cleanup_(buf_done) struct buf events = BUF_INIT, tasks = BUF_INIT;
	bool known = read_of(mounts, mounts->v2, path, "/cgroup.events", &events) == 0;
	uint64_t populated = 0;
	int err;

	if (known && load_parse_key(events.data, events.len, "populated", &populated) == 0 &&
		populated)
		return true;
	/* v1 has no such sum: processes of a cgroup below are found by the visits to threads. */
	err = read_of(mounts, mounts->cpuacct, path, "/tasks", &tasks);
	return err == -EFBIG || (err == 0 ? tasks.len > 0 : !known);
}

void meter_close(struct meter *meter)
{
	fd_close(&meter->fd);
	hash_done(&meter->delays);
}
