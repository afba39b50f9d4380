/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_options.h - parses the argv of `stoker record`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "cmd/sources.h"
#include "containers/target.h"
#include "sampler/sampler.h"
#include "sink/sink.h"
#include "traps/rule.h"

#define CHECK_ENDING ".check"

struct record_options {
	enum sampler_target target;
	bool target_given;
	VEC(uint32_t) ids; /* pids or tids */
	enum target_kind cgroup_kind;
	const char *cgroup; /* the user's name for it; NULL: none */
	char **argv;        /* the COMMAND; [0] is NULL if there is none */
	struct sources sources; /* of -e */
	uint32_t hz;
	uint64_t duration_ns; /* 0: no limit */
	uint64_t interval_ns; /* 0: one profile */
	const char *output;
	const char *bundle; /* a folder instead of output; NULL: none */
	const char *when;   /* the condition of a bundle in that folder; NULL: none */
	struct rule rule;   /* made of it and of the target, which it replaces */
	const struct sink *sink_format;
	struct sink_options sink;
	const char *stats_path; /* NULL: none */
	char *check_path;       /* output and CHECK_ENDING; NULL: nothing is kept for tools/truth */
	uint64_t memory_bytes;  /* for BPF maps */
	uint64_t tick_limit_ns; /* 0: the default */
	bool user, kernel;
	bool no_demangle, keep_tiers, keep_native;
	VEC(const char *) debug_dirs;
	const char *tables; /* NULL: the default */
	const char *debuginfod;     /* URLs; NULL: none */
	bool debuginfod_given;      /* by the option; else from the environment */
	const char *runtime_socket; /* NULL: none */
	bool lines;                 /* with inlined frames */
	bool check;
	bool jit; /* make the targets' runtimes write perf maps */
	bool by_given, rule_given; /* rule_given: an option of --when */
	bool quiet, help;
};

/* -EINVAL with why: a usage error. Call record_options_done in any case. */
int record_options_parse(struct record_options *options, int argc, char **argv, struct why *why);
/* A static build asks no server. The environment's are for other programs too: so that is logged,
 * and the record goes on without them. -EOPNOTSUPP with why: the option is given. */
int record_options_servers(struct record_options *options, struct log *log, struct why *why);
/* Does this kernel allow the frequency, and are the targets there? */
int record_options_check(const struct record_options *options, struct why *why);
/* Whether one of the processes or threads that are to be sampled is still there. */
bool record_options_alive(const struct record_options *o);
void record_options_done(struct record_options *options);
void record_options_help(FILE *out);
