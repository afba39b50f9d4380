/* SPDX-License-Identifier: Apache-2.0 */
/* agent/upkeep.c - asks each part; it keeps no times but that of the tables of files, whose turn
 * comes once a second at most. An idle host has nothing due. */
#include "agent/upkeep.h"

#include <errno.h>
#include <poll.h>

#include "agent/deferred.h"
#include "base/clock.h"
#include "files/objects.h"
#include "agent/privileges.h"
#include "agent/waits.h"
#include "files/fetch.h"
#include "files/java_codes.h"
#include "files/languages.h"
#include "files/processes.h"
#include "sampler/warnings.h"
#include "client/client.h"
#include "client/stats.h"
#include "containers/containers.h"
#include "containers/payers.h"
#include "sampler/sampler.h"
#include "sampler/tally.h"
#include "unwind/publish.h"
#include "waiting/waiting.h"
#include "worker/users.h"

#define DEV_MINOR_BITS 20 /* of a device's number in the kernel */

/* Files that are met now have this second. */
static void tend_tables(struct upkeep *u, uint64_t now_ns)
{
	uint32_t second = sampler_second(u->sampler);

	if (now_ns - u->tables_ns < NSEC_PER_SEC)
		return;
	u->tables_ns = now_ns;
	if (objects_lack_descriptors(u->objects))
		privileges_warn_files(u->warnings);
	u->tables_due = objects_trim(u->objects, second);
	u->tables_due |= publish_settle(sampler_publish(u->sampler));
}

int upkeep_object(struct upkeep *u, const struct event_object *event)
{
	int err = objects_add(u->objects, event, containers_account(u->containers, event->cgroup));
	const struct object *object = objects_find(u->objects, event->id);

	u->tables_due = true;
	if (object && object_lacks_time(object))
		payers_warn(u->containers, event->cgroup,
			"its files took more CPU time than their share: for a while new ones have "
			"no table and no names (objects.failed.time)",
			u->warnings);
	return err;
}

/* A CPU whose clock may not be opened leaves the others. */
static int follow_cpus(struct upkeep *u)
{
	int err = sampler_follow_cpus(u->sampler);

	if (err != -EACCES && err != -EPERM)
		return err;
	warnings_add(u->warnings,
		"a CPU came online and is not sampled: its clock could not be opened; see `stoker "
		"doctor`");
	return 0;
}

int upkeep_run(struct upkeep *u)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (languages_run(u->languages, u->objects, now_ns))
		u->tables_due |= publish_settle(sampler_publish(u->sampler));
	tend_tables(u, now_ns);
	processes_retry(u->processes, now_ns);
	java_codes_run(u->java, now_ns);
	fetch_poll(u->fetch);
	/* No reason to wake: on an idle host threads are visited when an interval ends. A pass that
	 * fails is tried again when the next one is due. */
	if (now_ns >= waiting_due_ns(u->waiting))
		(void)waiting_visit(u->waiting, u->containers);
	return follow_cpus(u);
}

/* Such a worker was taken over, or one of us has a bug. */
static void warn_of_bad_reply(const struct upkeep *u)
{
	const char *fault = worker_client_fault(u->worker);
	struct why text;

	if (!fault)
		return;
	why_set(&text, 0,
		"a worker process was replaced because it sent %s: its file has no unwind table or "
		"no names for a while",
		fault);
	warnings_add(u->warnings, text.text);
}

/* Of one at a time: `stoker doctor` lists all. */
static void warn_of_tables(const struct upkeep *u)
{
	const struct language_files *files = languages_files(u->languages);
	struct why text;

	warnings_add(u->warnings, files->fault.text);
	if (files->refused == 0)
		return;
	why_set(&text, 0,
		"%zu files in %.200s are not used as tables of language runtimes; `stoker doctor` "
		"says why",
		files->refused, files->path);
	warnings_add(u->warnings, text.text);
}

static void warn_of_flood(const struct upkeep *u)
{
	if (worker_client_unsent(u->worker) > 0)
		privileges_warn_inflight(u->warnings);
}

/* The device is the third field of /proc/PID/mountinfo. */
static void warn_of_hung(const struct upkeep *u)
{
	const struct object *hung = objects_hung(u->objects);
	struct why text;

	if (!hung)
		return;
	why_set(&text, 0,
		"the file system of device %u:%u did not answer when %s was opened (find it in "
		"/proc/PID/mountinfo): its files have no tables and no names, and its container's "
		"new ones are not opened for half a minute at a time",
		hung->key.dev >> DEV_MINOR_BITS, hung->key.dev & ((1U << DEV_MINOR_BITS) - 1),
		hung->name);
	warnings_add(u->warnings, text.text);
}

static void warn_of_stops(const struct upkeep *u)
{
	struct why text;

	if (worker_client_stopped(u->worker) == 0)
		return;
	why_set(&text, 0,
		"one of stoker's processes was stopped by a signal, and continued: a process of "
		"its user (%u to %u), perhaps in a container that sees the host's processes, sends "
		"SIGSTOP; end it, or tables and names come late",
		USERS_WORKER, USERS_OPENER + USERS_CHOICES - 1);
	warnings_add(u->warnings, text.text);
}

/* payers_charge reads counts and containers_next tasks of the tally, tally_next drops counts that
 * are in the profile, objects_bury frees objects that their frames refer to: so this order. */
void upkeep_next(struct upkeep *u, struct tally *tally)
{
	payers_charge(u->containers, tally, sampler_publish(u->sampler), u->ticks);
	containers_next(u->containers, tally);
	if (tally_next(tally))
		sampler_forget(u->sampler);
	java_codes_next(u->java);
	processes_next(u->processes);
	objects_bury(u->objects);
	warn_of_bad_reply(u);
	warn_of_flood(u);
	warn_of_stops(u);
	warn_of_hung(u);
	warn_of_tables(u);
	warnings_next(u->warnings);
}

int upkeep_wait(struct upkeep *u)
{
	struct pollfd fd = { .fd = worker_client_fd(u->worker), .events = POLLIN };

	poll(&fd, 1, TABLES_POLL_MS);
	return worker_client_poll(u->worker);
}

int upkeep_wait_for_tables(struct upkeep *u)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + TABLES_WAIT_NS;
	int err = 0;

	while (err == 0 && worker_client_pending(u->worker) > 0 &&
		clock_ns(CLOCK_MONOTONIC) < until_ns)
		err = upkeep_wait(u);
	publish_unmap(sampler_publish(u->sampler));
	return err;
}

uint64_t upkeep_due_ns(const struct upkeep *u)
{
	uint64_t due_ns = sampler_due_ns(u->sampler);

	due_ns = clock_sooner(due_ns, worker_client_due_ns(u->worker));
	due_ns = clock_sooner(due_ns, containers_due_ns(u->containers));
	due_ns = clock_sooner(due_ns, processes_due_ns(u->processes));
	due_ns = clock_sooner(due_ns, java_codes_due_ns(u->java));
	due_ns = clock_sooner(due_ns, fetch_due_ns(u->fetch));
	due_ns = clock_sooner(due_ns, languages_due_ns(u->languages));
	return u->tables_due ? clock_sooner(due_ns, u->tables_ns + NSEC_PER_SEC) : due_ns;
}

int upkeep_deferred(struct upkeep *u, struct deferred *deferred, uint64_t until_ns)
{
	int err = 0;

	deferred_finish(deferred);
	while (err == 0 && deferred_waiting(deferred) > 0 && worker_client_pending(u->worker) > 0 &&
		clock_ns(CLOCK_MONOTONIC) < until_ns) {
		err = upkeep_wait(u);
		if (err == 0)
			err = sampler_poll(u->sampler);
		deferred_finish(deferred);
	}
	deferred_flush(deferred);
	return err;
}
