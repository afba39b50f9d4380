/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - one recording through agent, workers and sinks, without BPF, root or live processes:
 * `replay RECORDING OUT` writes the profile in each format below, and what the account says of its
 * stacks and frames, to the folder OUT; of further intervals to OUT/2, OUT/3, ... The same
 * recording gives the same bytes for ever, or until somebody changes them on purpose. The workers
 * are this program itself. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/fd.h"
#include "handover.h"
#include "replay_world.h"
#include "sink/sink.h"
#include "worker/worker.h"

#define WAIT_NS (60 * NSEC_PER_SEC)
#define POLL_MS 1
#define BY "container,pod,namespace,image,unit,comm,pid,tid,cpu"

struct replay_world replay_world;

static void must(int err, const char *what, const struct why *why)
{
	if (err >= 0)
		return;
	fprintf(stderr, "replay: %s: %s\n", what, why && why->text[0] ? why->text : err_text(err));
	exit(1);
}

/* The second line has them. */
static uint64_t option(const char *key)
{
	return handover_number(replay_world.handover.lines.data[1], key);
}

static void write_file(int folder, const char *name, const struct buf *bytes)
{
	_cleanup_fd_ int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd < 0 ? -errno : fd_write_all(fd, bytes->data, bytes->len), name, NULL);
}

static void write_profile(const struct profile *profile, int folder)
{
	static const char *const formats[] = { "folded", "perf", "pprof", "speedscope", "firefox",
		"html" };
	struct sink_options options = { 0 };
	struct why why = { "" };

	must(sink_parse_by(BY, &options, &why), BY, &why);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct sink *sink = sink_find(formats[i]);
		struct sink_file file;

		/* It writes ticks, and nothing without them. */
		if (sink->stream && profile->ticks.len == 0)
			continue;
		must(sink_file_open(&file, sink, &options), formats[i], NULL);
		must(sink_file_put(&file, profile), formats[i], NULL);
		must(sink_file_end(&file), formats[i], NULL);
		write_file(folder, formats[i], &file.out.buf);
		sink_file_done(&file);
	}
}

#define NAME_OF(id, name, text) [id] = (name),
#define U(n) ((unsigned long long)(n))

/* Of the account what does not depend on time or machine. */
static void write_account(struct agent *agent, int folder)
{
	static const char *const ends[] = { STACK_ENDS(NAME_OF) };
	static const char *const unnamed[] = { UNNAMED_REASONS(NAME_OF) };
	static const char *const objects[] = { OBJECT_REASONS(NAME_OF) };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct account a;

	agent_account(agent, &a);
	buf_printf(&out, "stacks %llu complete %llu\n", U(a.stacks_total), U(a.stacks_complete));
	for (int i = 0; i < STACK_ENDS_LEN; i++)
		if (a.stacks_truncated[i])
			buf_printf(
				&out, "  truncated %s %llu\n", ends[i], U(a.stacks_truncated[i]));
	buf_printf(&out, "deferred %llu finished %llu\n", U(a.deferred.deferred),
		U(a.deferred.finished));
	buf_printf(&out, "frames %llu named %llu inlined %llu\n", U(a.frames_total),
		U(a.frames_named), U(a.frames_inlined));
	for (size_t i = 0; i < ARRAY_SIZE(a.frames_by_source); i++)
		if (a.frames_by_source[i])
			buf_printf(&out, "  by source %zu %llu\n", i, U(a.frames_by_source[i]));
	for (int i = 0; i < UNNAMED_REASONS_LEN; i++)
		if (a.frames_unnamed[i])
			buf_printf(&out, "  unnamed %s %llu\n", unnamed[i], U(a.frames_unnamed[i]));
	buf_printf(&out, "files %llu\n", U(a.objects.met));
	for (int i = 0; i < OBJECT_REASONS_LEN; i++)
		if (a.objects.failed[i])
			buf_printf(&out, "  failed %s %llu\n", objects[i], U(a.objects.failed[i]));
	must(buf_printf(&out, "containers %llu named %llu\n", U(a.containers.containers),
		     U(a.containers.named)),
		"account", NULL);
	write_file(folder, "account", &out);
}

static void wait_for_agent(struct agent *agent)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;

	while (!replay_is_over()) {
		struct pollfd ready = { agent_fd(agent), POLLIN, 0 };

		must(agent_poll(agent), "agent", NULL);
		must(clock_ns(CLOCK_MONOTONIC) < end ? 0 : -ETIMEDOUT, "tables", NULL);
		poll(&ready, 1, POLL_MS);
	}
	/* What waited for the last table is finished. */
	must(agent_poll(agent), "agent", NULL);
}

/* Its first interval's outputs go to the folder itself, the next ones' to folders in it: 2, ... */
static int open_interval(int folder, int i)
{
	char name[16] = ".";
	int fd;

	if (i > 1)
		snprintf(name, sizeof(name), "%d", i);
	if (i > 1 && mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
		must(-errno, name, NULL);
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd < 0 ? -errno : 0, name, NULL);
	return fd;
}

static void replay_interval_to(struct agent *agent, const char *line, int folder)
{
	_cleanup_(profile_done) struct profile profile;

	must(profile_init(&profile), "profile", NULL);
	must(agent_profile(agent, &profile), "profile", NULL);
	profile.start_ns = handover_number(line, "start");
	profile.start_tick_ns = handover_number(line, "tick");
	profile.duration_ns = handover_number(line, "duration");
	write_profile(&profile, folder);
	write_account(agent, folder);
}

static void replay(int folder)
{
	const struct agent_options options = {
		.sampler = { .hz = (uint32_t)option("hz"),
			.times = option("times") != 0,
			.by_tid = option("tids") != 0,
			.by_cpu = option("cpus") != 0,
			.user = true,
			.kernel = true },
		.demangle = true,
		.lines = option("lines") != 0,
	};
	int intervals = 0;
	struct agent *agent;
	struct why why = { "" };
	const char *line;

	vec_each (&replay_world.handover.lines, each)
		intervals += handover_is(*each, "profile");
	must(agent_open(&options, &agent, &why), "agent", &why);
	must(agent_start(agent, &why), "agent", &why);
	for (int i = 1; (line = replay_interval()); i++) {
		_cleanup_fd_ int to = open_interval(folder, i);

		wait_for_agent(agent);
		if (i == intervals)
			agent_stop(agent);
		replay_interval_to(agent, line, to);
		replay_next();
	}
	for (size_t i = 0; agent_warning(agent, i); i++)
		fprintf(stderr, "replay: %s\n", agent_warning(agent, i));
	agent_free(agent);
}

static int open_folder(const char *path, const char *below)
{
	char full[4096];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", path, below);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd < 0 ? -errno : 0, full, NULL);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0)
		return worker_main(WORKER_FD);
	if (argc != 3) {
		fprintf(stderr, "usage: replay RECORDING OUT\n");
		return 2;
	}
	handover_load(&replay_world.handover, argv[1]);
	replay_world.pid = getpid();
	replay_world.root = open_folder(argv[1], HANDOVER_ROOT);
	replay(open_folder(argv[2], "."));
	handover_done(&replay_world.handover);
	return 0;
}
