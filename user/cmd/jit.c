/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/jit.c - perf maps of a running .NET or JVM, without a restart. Prints its actions, the paths
 * of the files, and options of the runtime that complete stacks need. jit/jit_control does all work
 * on the process. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cmd/print.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "jit/jit_control.h"

struct jit {
	const char *verb;
	uint64_t pid;
	bool with_jitdump;
	bool help;
};

static const struct option_row rows[] = {
	{ 'J', "jitdump", NULL,
		"a jitdump beside the perf map (.NET): it also has\nprecompiled methods and "
		"times" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker jit enable|disable|status [options] PID",
	.text = "Makes a running .NET (8 or later) or HotSpot JVM (17 or later) write a perf map, "
		"which\ngives profiles the names of its methods. A JVM writes the methods compiled "
		"so far,\nonce; .NET goes on writing. `disable` stops it and removes the files.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct jit *jit = ctx;

	(void)arg;
	(void)why;
	jit->help |= id == 'h';
	jit->with_jitdump |= id == 'J';
	return 0;
}

/* Options may come before and after the verb. */
static int parse(struct jit *jit, int argc, char **argv, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take_option, jit, &rest, why);

	if (err < 0 || jit->help)
		return err;
	if (rest >= argc)
		return why_set(why, -EINVAL, "expected enable, disable or status");
	argc -= rest;
	argv += rest;
	jit->verb = argv[0];
	err = options_parse(&table, argc, argv, take_option, jit, &rest, why);
	if (err < 0 || jit->help)
		return err;
	if (rest + 1 != argc)
		return why_set(why, -EINVAL, "expected one PID");
	return options_number("PID", argv[rest], 1, INT32_MAX, &jit->pid, why);
}

static void print_runtime(const struct jit_control *c)
{
	printf("%s", c->runtime == JIT_CONTROL_DOTNET ? ".NET" : "JVM");
	if (c->version[0]) {
		printf(" ");
		print_clean(c->version, 0);
	}
	printf(", process %d", c->target.pid);
	if (c->target.ns_pid != c->target.pid)
		printf(" (%d in its container)", c->target.ns_pid);
	printf("\n");
}

static bool print_files(const struct jit_control *c)
{
	bool has_names = false;

	for (enum jit_control_file file = 0; file < JIT_CONTROL_FILES; file++) {
		struct jit_control_state state;
		char name[64];

		if (jit_control_file(c, file, name, sizeof(name), &state) < 0)
			continue;
		print_clean(c->dir, 0);
		printf("/%s: %llu kB, written %llu s ago%s\n", name,
			(unsigned long long)((state.size_bytes + 1023) / 1024),
			(unsigned long long)state.age_s,
			state.is_stale ? ", by an older process: not used" : "");
		has_names |= file != JIT_CONTROL_PERF_INFO && !state.is_stale;
	}
	return has_names;
}

static void print_note(const struct jit_control *c)
{
	if (c->note[0])
		printf("note: %s\n", c->note);
}

static int enable(const struct jit *jit, struct jit_control *c, struct why *why)
{
	int err;

	jit_control_prepare(c);
	err = jit_control_enable(
		c, jit->with_jitdump ? DOTNET_IPC_ALL : DOTNET_IPC_PERF_MAP, why);
	if (err < 0)
		return err;
	print_runtime(c);
	if (c->was_on)
		printf("its perf map was already on, by DOTNET_PerfMapEnabled\n");
	print_files(c);
	if (c->runtime == JIT_CONTROL_JVM)
		printf("the map has the methods compiled so far: run `stoker jit enable %d` again "
		       "for later ones\n",
			c->target.pid);
	print_note(c);
	return 0;
}

static int disable(const struct jit *jit, struct jit_control *c, struct why *why)
{
	unsigned int removed;
	int err = jit_control_disable(c, &removed, why);

	(void)jit;
	if (err < 0)
		return err;
	print_runtime(c);
	if (c->was_on)
		printf("it was started with DOTNET_PerfMapEnabled: left on\n");
	else
		printf("off; %u file%s removed\n", removed, removed == 1 ? "" : "s");
	return 0;
}

static int status(const struct jit *jit, struct jit_control *c, struct why *why)
{
	(void)jit;
	(void)why;
	jit_control_look(c);
	print_runtime(c);
	if (c->was_on)
		printf("started with DOTNET_PerfMapEnabled\n");
	if (!print_files(c))
		printf("no perf map: `stoker jit enable %d` makes one\n", c->target.pid);
	print_note(c);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct jit *jit, struct jit_control *control, struct why *why);
} verbs[] = {
	{ "enable", enable },
	{ "disable", disable },
	{ "status", status },
};

int cmd_jit(int argc, char **argv, struct log *log)
{
	struct jit_control control;
	struct jit jit = { 0 };
	struct why why;
	size_t verb = 0;
	int err = parse(&jit, argc, argv, &why);

	if (err == 0 && jit.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	while (err == 0 && verb < ARRAY_SIZE(verbs) && strcmp(verbs[verb].name, jit.verb) != 0)
		verb++;
	if (err == 0 && verb == ARRAY_SIZE(verbs))
		err = why_set(&why, -EINVAL, "unknown command `jit %s`", jit.verb);
	if (err < 0) {
		log_error(log, "%s; see `stoker jit --help`", why.text);
		return EXIT_USAGE;
	}
	err = jit_control_open((pid_t)jit.pid, &control, &why);
	if (err == 0) {
		err = verbs[verb].run(&jit, &control, &why);
		jit_control_close(&control);
	}
	if (err < 0)
		log_error(log, "%s", why.text);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
