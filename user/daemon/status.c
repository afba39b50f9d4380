/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/status.c - numbers of the daemon's own processes and of its store. What of it becomes a
 * metric, and under which name, is said in http_metrics.c. */
#include "daemon/status.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/own.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* By the wall's clock, which may be set back. */
static double age(uint64_t then_ns)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	return then_ns > 0 && now > then_ns ? seconds(now - then_ns) : 0;
}

static json_t *store_json(const struct status_facts *f)
{
	const struct keeper_status *s = f->store;

	return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:s}", "segments",
		(json_int_t)s->segments, "bytes", (json_int_t)s->bytes, "bytes_max",
		(json_int_t)f->config->bytes_max, "oldest_age_s", age(s->oldest_ns), "newest_age_s",
		age(s->newest_ns), "written", (json_int_t)s->written, "failed",
		(json_int_t)s->failed, "expired", (json_int_t)s->expired, "compacted",
		(json_int_t)s->compacted, "damaged", (json_int_t)s->damaged, "error",
		s->err < 0 ? s->why.text : "");
}

static json_t *captures_json(const struct capture_stats *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "running", (json_int_t)c->running, "started",
		(json_int_t)c->started, "done", (json_int_t)c->done, "failed",
		(json_int_t)c->failed, "refused", (json_int_t)c->refused);
}

static json_t *cpu_json(const struct status_facts *f)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "agent", f->account->agent_cpu_s, "worker",
		f->account->worker.cpu_s, "keeper", seconds(clock_process_ns(f->keeper->pid)),
		"http", seconds(f->http->cpu_ns), "capture", seconds(f->http->captures.cpu_ns));
}

static json_t *daemon_json(const struct status_facts *f)
{
	json_t *rss = json_pack("{s:I, s:I, s:I}", "agent", (json_int_t)memory_resident(getpid()),
		"keeper", (json_int_t)memory_resident(f->keeper->pid), "http",
		(json_int_t)f->http->rss_bytes);
	json_t *rss_max =
		json_pack("{s:I, s:I}", "agent", (json_int_t)f->account->agent_rss_max_kb * 1024,
			"worker", (json_int_t)f->account->worker.rss_max_kb * 1024);

	return json_pack("{s:I, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I}}",
		"memory_bytes", (json_int_t)f->config->memory_bytes, "cpu_budget",
		(double)f->config->cpu_permille / 1000, "interval_s",
		seconds(f->config->interval_ns), "written_age_s", seconds(f->written_age_ns),
		"cpu_s", cpu_json(f), "rss_bytes", rss, "rss_max_bytes", rss_max, "store",
		store_json(f), "captures", captures_json(&f->http->captures), "http", "restarts",
		(json_int_t)f->http->restarts, "refused", (json_int_t)f->http->refused);
}

int status_write(const struct status_facts *facts, struct buf *out)
{
	json_t *daemon = daemon_json(facts);
	_cleanup_(freep) char *text =
		daemon ? json_dumps(daemon, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	int err = text ? buf_puts(out, "{\"account\": ") : -ENOMEM;

	if (err == 0)
		err = account_write_json(facts->account, out);
	if (err == 0)
		err = buf_printf(out, ", \"daemon\": %s}\n", text);
	json_decref(daemon);
	return err;
}
