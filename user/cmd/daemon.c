/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/daemon.c - options of `stoker daemon`; the daemon itself is daemon/daemon.c. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/target_options.h"
#include "daemon/config.h"
#include "guard/guard.h"
#include "daemon/supervisor.h"

struct request {
	struct supervisor_options options;
	bool stopped, check, help;
};

enum { OPT_AFTER_CRASH = OPT_OF_COMMAND, OPT_STOPPED, OPT_CHECK_CONFIG };

static const struct option_row rows[] = {
	{ 'c', "config", "FILE", "default " CONFIG_PATH ", if it exists" },
	{ OPT_AFTER_CRASH, "after-crash", NULL,
		"sample although this host went down twice while the daemon did" },
	{ OPT_STOPPED, "stopped", NULL,
		"only note that no daemon runs: for ExecStopPost= of the unit" },
	{ OPT_CHECK_CONFIG, "check-config", NULL,
		"only read the configuration, and say what is wrong in it" },
	{ 'q', "quiet", NULL, "errors and warnings only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker daemon [--config FILE] [--after-crash | --stopped | --check-config] [-q]",
	.text = "Samples without end and writes a profile each interval into a store, for\n`stoker "
		"report`. SIGHUP reloads the configuration, except for keys that need a\nrestart; "
		"SIGTERM writes the open interval and exits.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct request *r = ctx;

	(void)why;
	if (id == 'c')
		r->options.config_path = arg;
	r->options.after_crash |= id == OPT_AFTER_CRASH;
	r->stopped |= id == OPT_STOPPED;
	r->check |= id == OPT_CHECK_CONFIG;
	r->options.log->quiet |= id == 'q';
	r->help |= id == 'h';
	return 0;
}

static void print_help(void)
{
	options_print_help(&table, stdout);
	fputs("\nThe configuration with its defaults:\n\n", stdout);
	config_print(stdout);
}

/* No daemon is no mistake here: the unit may have failed before there was one. */
static int note_stop(const struct supervisor_options *o)
{
	struct config config;
	struct why why;
	int err = config_load(o->config_path, &config, &why);

	if (err == 0)
		err = guard_stopped_outside(config.store, &why);
	if (err < 0 && err != -ENOENT)
		log_error(o->log, "%s", why.text);
	return err == 0 || err == -ENOENT ? EXIT_OK : EXIT_FAILED;
}

static int check_config(const struct supervisor_options *o)
{
	const char *path = o->config_path ? o->config_path : CONFIG_PATH;
	struct config config;
	struct why why;

	if (config_load(o->config_path, &config, &why) < 0) {
		log_error(o->log, "%s", why.text);
		return EXIT_USAGE;
	}
	if (o->config_path || access(path, F_OK) == 0)
		printf("%s: nothing is wrong\n", path);
	else
		printf("%s: not there; the defaults hold\n", path);
	return EXIT_OK;
}

int cmd_daemon(int argc, char **argv, struct log *log)
{
	struct request request = { .options.log = log };
	struct why why;
	int rest, err = options_parse(&table, argc, argv, take_option, &request, &rest, &why);

	if (err == 0 && request.help) {
		print_help();
		return EXIT_OK;
	}
	if (err == 0 && request.stopped + request.options.after_crash + request.check > 1)
		err = why_set(&why, -EINVAL,
			"--after-crash, --stopped and --check-config exclude each other");
	if (err == 0 && rest < argc)
		err = why_set(&why, -EINVAL, "unexpected argument: %s; see `stoker daemon --help`",
			argv[rest]);
	if (err < 0) {
		log_error(log, "%s", why.text);
		return EXIT_USAGE;
	}
	if (request.check)
		return check_config(&request.options);
	return request.stopped ? note_stop(&request.options) : supervisor_run(&request.options);
}
