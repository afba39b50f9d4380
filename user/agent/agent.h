/* SPDX-License-Identifier: Apache-2.0 */
/* agent/agent.h - one capture: sampler → tally → names → profile.
 * The caller has the loop: it waits until agent_fd is readable or agent_due_ns has come, calls
 * agent_poll, and requests a profile at each interval's end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "agent/account.h"
#include "profile/profile.h"
#include "sampler/sampler.h"
#include "waiting/walls.h"

struct evidence;
struct tick_limits;
struct waiting;
struct walls;
struct worker_client;

struct agent_options {
	struct sampler_options sampler;
	bool demangle;
	bool keep_tiers;               /* of JIT names */
	bool keep_native;              /* frames of interpreters in stacks of their code */
	bool spare;                    /* save memory rather than time: a capture without end */
	bool lines;                    /* inlined frames, source files and lines */
	const char *const *debug_dirs; /* additional folders with debug files */
	size_t debug_dirs_len;
	const char *tables; /* folder of tables of language runtimes; NULL: the default */
	const char *debuginfod;       /* URLs of servers, separated by blanks; NULL: none */
	const char *runtime_socket;   /* of a container runtime's API; NULL: none */
	struct evidence *evidence;    /* the caller's, gets each process; NULL: none is kept */
	bool waiting, waiting_processes; /* split threads' time (waiting/waiting.h); by process */
	struct walls_options walls;   /* visits to threads that wait; hz 0: none */
	struct worker_client *worker; /* of agent_open_workers; consumed, also by a failure */
};

struct agent;

/* Starts the workers, before there is anything in this process that they should not have. Who looks
 * for a target first uses them for it. clocks_fd, fetches: as in client/client.h. Capabilities are
 * effective from here on: what the caller names is opened before, or with caps_pause. */
int agent_open_workers(int clocks_fd, bool fetches, struct worker_client **out, struct why *why);
/* options->worker NULL: agent_open starts them. */
int agent_open(const struct agent_options *options, struct agent **out, struct why *why);
void agent_free(struct agent *agent);
int agent_start(struct agent *agent, struct why *why);
void agent_stop(struct agent *agent);

int agent_fd(const struct agent *agent);
int agent_poll(struct agent *agent);
/* Files that need another worker will be refused. */
bool agent_starter_lost(struct agent *agent);
/* CLOCK_MONOTONIC; CLOCK_NEVER_NS: nothing is due. */
uint64_t agent_due_ns(const struct agent *agent);

/* All samples since the last call, with names; each sample is in exactly one profile. *out must be
 * fresh from profile_init and is filled even after an error, as far as possible. */
int agent_profile(struct agent *agent, struct profile *out);
/* Sets the rate, at most sampler.hz_max, from the next agent_profile on: each profile has one
 * rate. */
void agent_set_hz(struct agent *agent, uint32_t hz);
/* Limits the CPU time for files to parts of this budget, from now on (files/file_time.h). */
void agent_set_cpu(struct agent *agent, uint64_t permille);
/* Limits the packed size of a profile's text, which accounts share (base/share.h); 0: no limit. */
void agent_set_stored_max(struct agent *agent, uint64_t bytes);
/* Number of ticks for the next profile, if times are kept. */
size_t agent_ticks(const struct agent *agent);

/* Parts of the agent, for its owner to look at; borrowed. */
struct agent_parts {
	struct containers *containers;
	struct tick_limits *tick_limits; /* with sampler.share_ticks: judged after agent_profile */
	const struct processes *processes; /* with code that was compiled at run time */
	struct waiting *waiting; /* NULL: not wanted, or it cannot be read */
	const struct walls *walls; /* NULL: the same */
};

struct agent_parts agent_parts(struct agent *agent);
/* The account of the whole capture so far. */
void agent_account(struct agent *agent, struct account *out);
/* The i-th warning about limits of this capture (kernel symbols hidden, no cgroup2, ...), or NULL.
 * A profile may add some. */
const char *agent_warning(const struct agent *agent, size_t i);
