/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_idle.c - a sample waits until the next one of its CPU came, or two periods have passed.
 * Then the gap after it is known. A gap of less than half a period is the jitter of a clock: it has
 * no line, and the next gap makes good for it. Other readers of perf text leave these lines out,
 * because their event is not that of the samples; FlameScope knows them by their frame.
 * In a gap the CPU was idle, or ran programs that are not recorded: ticks do not show which. */
#include "sink/perf_idle.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define LINE                                       \
	"swapper 0/0 [%03u] %llu.%09llu: idle: \n" \
	"\t0 cpu_idle_or_not_recorded ([idle])\n\n"
#define COMPACT_TICKS 1024
#define NO_CPU UINT32_MAX

void perf_idle_done(struct perf_idle *idle)
{
	vec_done(&idle->cpus);
	hash_done(&idle->by_number);
	vec_done(&idle->ticks);
	buf_done(&idle->text);
	vec_done(&idle->ends);
}

/* Index of the CPU; NO_CPU: there are too many. */
static int find_cpu(struct perf_idle *idle, uint32_t number, uint32_t *index)
{
	const uint64_t *known = hash_find(&idle->by_number, number);
	struct perf_idle_cpu *cpu;

	*index = known ? (uint32_t)*known : NO_CPU;
	if (known || idle->cpus.len >= PERF_IDLE_CPUS_MAX)
		return 0;
	*index = (uint32_t)idle->cpus.len;
	cpu = vec_add(&idle->cpus);
	if (!cpu || hash_put(&idle->by_number, number, *index) < 0)
		return -ENOMEM;
	cpu->number = number;
	cpu->last = UINT64_MAX;
	return 0;
}

/* ---- written ----------------------------------------------------------------------------------
 */

static void write_ends(struct perf_idle *idle, uint64_t before_ns, struct buf *out)
{
	size_t n = 0;

	for (; n < idle->ends.len && idle->ends.data[n].time_ns < before_ns; n++) {
		const struct perf_idle_end *end = &idle->ends.data[n];

		buf_printf(out, LINE, end->cpu, (unsigned long long)(end->time_ns / NSEC_PER_SEC),
			(unsigned long long)(end->time_ns % NSEC_PER_SEC));
	}
	idle->ends.len -= n;
	if (n > 0)
		memmove(idle->ends.data, idle->ends.data + n,
			idle->ends.len * sizeof(*idle->ends.data));
}

static int add_end(struct perf_idle *idle, uint64_t time_ns, uint32_t cpu)
{
	size_t i = idle->ends.len;

	if (!vec_add(&idle->ends))
		return -ENOMEM;
	for (; i > 0 && idle->ends.data[i - 1].time_ns > time_ns; i--)
		idle->ends.data[i] = idle->ends.data[i - 1];
	idle->ends.data[i] = (struct perf_idle_end){ .time_ns = time_ns, .cpu = cpu };
	return 0;
}

/* Finds the time of the line for the gap after the tick: at the tick or later. False: there is no
 * gap. last: no tick follows. */
static bool find_end(const struct perf_idle_cpu *cpu, const struct perf_idle_tick *tick, bool last,
	uint64_t *end_ns)
{
	uint64_t latest_ns = tick->time_ns + 2 * tick->period_ns - 1;

	*end_ns = cpu->due_ns > tick->time_ns ? cpu->due_ns : tick->time_ns;
	if (tick->next_ns > 0)
		return *end_ns + tick->period_ns / 2 <= tick->next_ns;
	if (!last && *end_ns > latest_ns)
		*end_ns = latest_ns;
	return true;
}

static int note_written(struct perf_idle *idle, const struct perf_idle_tick *tick, bool last)
{
	struct perf_idle_cpu *cpu;
	uint64_t end_ns;

	if (tick->cpu == NO_CPU || tick->period_ns == 0)
		return 0;
	cpu = &idle->cpus.data[tick->cpu];
	if (!cpu->open)
		cpu->due_ns = tick->time_ns + (uint64_t)cpu->owed_ns;
	cpu->due_ns += tick->period_ns;
	cpu->open = !find_end(cpu, tick, last, &end_ns);
	if (cpu->open)
		return 0;
	cpu->owed_ns = (int64_t)(cpu->due_ns - end_ns);
	return add_end(idle, end_ns, cpu->number);
}

/* The first tick that waits, and the lines before it. */
static void write_tick(struct perf_idle *idle, bool last, struct buf *out)
{
	const struct perf_idle_tick *tick = &idle->ticks.data[idle->first];

	write_ends(idle, tick->time_ns, out);
	buf_put(out, idle->text.data + idle->text_at, tick->len);
	buf_fail(out, note_written(idle, tick, last));
	idle->text_at += tick->len;
	idle->first++;
}

static void compact(struct perf_idle *idle)
{
	if (idle->first < COMPACT_TICKS && idle->first < idle->ticks.len)
		return;
	idle->ticks.len -= idle->first;
	idle->text.len -= idle->text_at;
	idle->text_known -= idle->text_at;
	if (idle->ticks.len > 0)
		memmove(idle->ticks.data, idle->ticks.data + idle->first,
			idle->ticks.len * sizeof(*idle->ticks.data));
	if (idle->text.len > 0)
		memmove(idle->text.data, idle->text.data + idle->text_at, idle->text.len);
	idle->first = idle->text_at = 0;
}

/* ---- taken ------------------------------------------------------------------------------------
 */

static int take(struct perf_idle *idle, const struct perf_idle_tick *new)
{
	uint64_t first = idle->taken - (idle->ticks.len - idle->first);
	struct perf_idle_tick *tick;
	struct perf_idle_cpu *cpu;

	tick = vec_add(&idle->ticks);
	if (!tick)
		return -ENOMEM;
	*tick = *new;
	if (new->cpu != NO_CPU) {
		cpu = &idle->cpus.data[new->cpu];
		if (cpu->last != UINT64_MAX && cpu->last >= first)
			idle->ticks.data[idle->first + cpu->last - first].next_ns = new->time_ns;
		cpu->last = idle->taken;
	}
	idle->taken++;
	return 0;
}

static bool waits(const struct perf_idle *idle, uint64_t now_ns)
{
	const struct perf_idle_tick *tick = &idle->ticks.data[idle->first];

	return idle->ticks.len - idle->first <= PERF_IDLE_TICKS_MAX && tick->next_ns == 0 &&
		now_ns - tick->time_ns < 2 * tick->period_ns;
}

void perf_idle_put(
	struct perf_idle *idle, uint64_t time_ns, uint64_t period_ns, uint32_t cpu, struct buf *out)
{
	struct perf_idle_tick tick = { .time_ns = time_ns, .period_ns = period_ns };

	tick.len = idle->text.len - idle->text_known;
	idle->text_known = idle->text.len;
	if (buf_fail(out, buf_err(&idle->text)) < 0 ||
		buf_fail(out, find_cpu(idle, cpu, &tick.cpu)) < 0 ||
		buf_fail(out, take(idle, &tick)) < 0)
		return;
	while (idle->first < idle->ticks.len && !waits(idle, time_ns))
		write_tick(idle, false, out);
	compact(idle);
}

void perf_idle_end(struct perf_idle *idle, struct buf *out)
{
	while (idle->first < idle->ticks.len)
		write_tick(idle, true, out);
	write_ends(idle, UINT64_MAX, out);
	compact(idle);
}
