/* SPDX-License-Identifier: Apache-2.0 */
/* made.c - `made STACKS SECONDS FROM UNTIL DIR`: a profile that is made up, always the same, with
 * that many different stacks and the times of their ticks, as DIR/page.html, .svg and .folded, and
 * DIR/range.folded, which has the ticks from FROM to before UNTIL (seconds) alone. With names that
 * try to break out of what they are written to. And as DIR/diff.html and diff.folded beside a
 * profile in which every third stack has three times the samples and every tenth has none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "profile/profile.h"
#include "sink/html.h"
#include "sink/sink.h"

#define FUNCTIONS 6000
#define DEPTH_MAX 64
#define SECOND 1000000000ULL
#define START 777000000000ULL

struct made {
	struct profile profile;
	uint32_t frames[FUNCTIONS];
	uint32_t labels[24];
	uint64_t seed;
};

static const char *const hostile[] = {
	"</script><script>document.title='broken'</script>",
	"<img src=x onerror=\"document.title='broken'\">",
	"a\"b'c&d;e",
	"\x01\x1b[31mred\x7f",
	"\xff\xfe not UTF-8 \xc3",
	"\xe2\x80\xaeturned around\xe2\x80\xac",
	"]]>--><!--",
	"${document.title='broken'}\\u003c",
};

static uint32_t chance(struct made *m, uint32_t below)
{
	m->seed = m->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(m->seed >> 33) % below;
}

static void must(int err)
{
	if (err < 0) {
		fprintf(stderr, "made: %s\n", strerror(-err));
		exit(1);
	}
}

static void make_frames(struct made *m)
{
	static const char *const verbs[] = { "parse", "read", "write", "sort", "hash", "emit" };
	char name[96];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_frame frame = { .class = i % 29 == 0 ? PROFILE_KERNEL
				: i % 5 == 0                        ? PROFILE_JIT
				: i % 17 == 0                       ? PROFILE_INLINED
								    : PROFILE_NATIVE };

		snprintf(name, sizeof(name), "%s_%04u::run<T%u>()", verbs[i % ARRAY_SIZE(verbs)], i,
			i % 7);
		must(profile_string(
			&m->profile, i < ARRAY_SIZE(hostile) ? hostile[i] : name, &frame.name));
		must(profile_string(&m->profile, i % 3 ? "libwork.so.1" : "server", &frame.module));
		must(profile_frame(&m->profile, &frame, &m->frames[i]));
	}
}

static void make_labels(struct made *m)
{
	static const char *const comms[] = { "redis-server", "java", "node", hostile[0] };
	static const char *const containers[] = { "web", "cache", "host" };

	for (uint32_t i = 0; i < ARRAY_SIZE(m->labels); i++) {
		struct profile_labels labels = { 0 };

		must(profile_labels_text(&m->profile, &labels, PROFILE_KEY_COMM, comms[i % 4]));
		must(profile_labels_text(
			&m->profile, &labels, PROFILE_KEY_CONTAINER, containers[i % 3]));
		profile_labels_set_number(&labels, PROFILE_KEY_PID, (int)(100 + i / 2));
		profile_labels_set_number(&labels, PROFILE_KEY_TID, (int)(100 + i));
		must(profile_labels(&m->profile, &labels, &m->labels[i]));
	}
}

/* Calls go to one of a few callees, so that stacks share what they begin with. */
static uint32_t make_stack(struct made *m)
{
	uint32_t path[DEPTH_MAX], leaf_first[DEPTH_MAX], len = 24 + chance(m, DEPTH_MAX - 24), id;

	path[0] = chance(m, 12);
	for (uint32_t i = 1; i < len; i++)
		path[i] = (path[i - 1] * 31 + chance(m, i < 12 ? 2 : 5) * 7 + i) % FUNCTIONS;
	for (uint32_t i = 0; i < len; i++)
		leaf_first[i] = m->frames[path[len - 1 - i]];
	must(profile_stack(&m->profile, leaf_first, len, &id));
	return id;
}

static void save(const char *dir, const char *name, const struct buf *out)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fwrite(out->data, 1, out->len, file) != out->len || fclose(file) != 0)
		must(-errno);
}

static const struct sink_options options = {
	.by = { PROFILE_KEY_CONTAINER, PROFILE_KEY_COMM }, .by_len = 2
};

static void write_one(
	const struct profile *p, const char *format, const char *dir, const char *name)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	must(sink_find(format)->write(p, &options, &out));
	save(dir, name, &out);
}

/* The same profile with samples of its own, and no times. */
static struct profile copy(const struct made *m)
{
	struct profile part = m->profile;

	part.samples.data = calloc(m->profile.samples.len, sizeof(*part.samples.data));
	if (!part.samples.data)
		must(-ENOMEM);
	memcpy(part.samples.data, m->profile.samples.data,
		m->profile.samples.len * sizeof(*part.samples.data));
	part.ticks.len = 0;
	return part;
}

static void write_diff(const struct made *m, const char *dir)
{
	const char *const names[] = { "before", hostile[1] };
	struct profile after = copy(m);
	const struct profile *const both[] = { &m->profile, &after };
	_cleanup_(buf_done) struct buf page = BUF_INIT;
	_cleanup_(buf_done) struct buf folded = BUF_INIT;

	for (size_t i = 0; i < after.samples.len; i++)
		after.samples.data[i].value *= i % 10 == 9 ? 0 : i % 3 == 0 ? 3 : 1;
	must(html_write_diff(both, names, &options, DIFF_NONE, &page));
	must(diff_write_folded(&m->profile, &after, &options, DIFF_NONE, &folded));
	save(dir, "diff.html", &page);
	save(dir, "diff.folded", &folded);
	free(after.samples.data);
}

/* The ticks of a run of time, counted by hand. */
static void write_range(const struct made *m, double from, double until, const char *dir)
{
	struct profile part = copy(m);

	vec_each (&part.samples, sample)
		sample->value = 0;
	vec_each (&m->profile.ticks, tick) {
		double at = (double)(tick->time_ns - m->profile.ticks.data[0].time_ns) / SECOND;

		if (at >= from && at < until)
			part.samples.data[tick->sample].value++;
	}
	write_one(&part, "folded", dir, "range.folded");
	free(part.samples.data);
}

int main(int argc, char **argv)
{
	static struct made m = { .seed = 42 };
	uint32_t stacks, seconds;

	if (argc != 6) {
		fprintf(stderr, "usage: made STACKS SECONDS FROM UNTIL DIR\n");
		return 2;
	}
	stacks = (uint32_t)atoi(argv[1]);
	seconds = (uint32_t)atoi(argv[2]);
	must(profile_init(&m.profile));
	m.profile.kinds[0].period_ns = SECOND / 999;
	m.profile.start_ns = 1790000000 * SECOND;
	m.profile.start_tick_ns = START;
	m.profile.duration_ns = seconds * SECOND;
	make_frames(&m);
	make_labels(&m);
	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t stack = make_stack(&m), label = m.labels[chance(&m, ARRAY_SIZE(m.labels))];
		uint64_t at = START + (uint64_t)i * seconds * SECOND / stacks;

		/* busier in the middle of each second */
		for (uint32_t n = i % 7 == 0 ? 5 : 1; n > 0; n--)
			must(profile_tick(&m.profile, stack, label, n % 2,
				at / SECOND * SECOND +
					(at % SECOND + chance(&m, 1 + at % SECOND)) / 2));
	}
	profile_sort(&m.profile);
	write_one(&m.profile, "html", argv[5], "page.html");
	write_one(&m.profile, "folded", argv[5], "page.folded");
	write_one(&m.profile, "svg", argv[5], "page.svg");
	write_range(&m, atof(argv[3]), atof(argv[4]), argv[5]);
	write_diff(&m, argv[5]);
	profile_done(&m.profile);
	return 0;
}
