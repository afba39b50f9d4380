/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor.c - reports what this kernel, these privileges and a process allow, with a remedy for
 * each limit. Each check is a function that prints one line: ok, less, or no. Only "no", which
 * makes sampling impossible, sets exit status 1. No check depends on the kernel's version. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "cgroup/tree.h"
#include "cmd/cmd.h"
#include "cmd/doctor_process.h"
#include "cmd/doctor_tables.h"
#include "cmd/options.h"
#include "daemon/config.h"
#include "guard/guard.h"
#include "guard/kill_switch.h"
#include "containers/cgroup_view.h"
#include "agent/privileges.h"
#include "sampler/kernel_faults.h"
#include "sampler/kernel_features.h"
#include "waiting/visitor.h"
#include "worker/sandbox.h"
#include "worker/trial.h"
#include "worker/users.h"

#define LOCKED_MIB_MIN 48 /* --memory's default, and what else counts as locked */

struct doctor {
	bool has_types;
	struct kernel_features kernel; /* if it has */
	const char *config_path;       /* NULL: the default, if it is there */
	struct config config;          /* all 0 if it cannot be read */
	struct guard_mark mark;        /* all 0 without one */
	struct why unread;             /* why it is unknown; "": it is known */
	const char *tables_path;       /* NULL: as configured */
	bool impossible;
	bool help;
};

static void print_check(struct doctor *d, const char *verdict, const char *thing, const char *text)
{
	d->impossible |= strcmp(verdict, "no") == 0;
	printf("%-5s %-22s %s\n", verdict, thing, text);
}

static void check_btf(struct doctor *d)
{
	struct why why;

	d->has_types = kernel_features_load(&d->kernel, NULL, &why) == 0;
	print_check(d, d->has_types ? "ok" : "no", "BTF",
		d->has_types ? KERNEL_FEATURES_BTF : why.text);
}

/* Why nothing can be sampled with this kernel; NULL: it can. */
static const char *kernel_lacks(const struct doctor *d, char *text, size_t size)
{
	if (!d->has_types)
		return "its features are unknown without BTF";
	if (!d->kernel.ring_buffer)
		return "it has no BPF ring buffer";
	if (!kernel_features_can_scan(&d->kernel))
		return "it has no BPF iterator for a process's mappings";
	if (d->kernel.tree == KERNEL_TREE_UNKNOWN)
		return "its mappings are neither in a maple tree nor in a red-black tree";
	if (d->kernel.missing) {
		snprintf(
			text, size, "it has no %s, which the BPF program needs", d->kernel.missing);
		return text;
	}
	if (kernel_features_probe() == KERNEL_PROBE_REFUSED)
		return kernel_features_refused();
	return NULL;
}

static void check_kernel(struct doctor *d)
{
	char text[512], lacks[128];
	const char *fault = kernel_faults_here();
	const char *why = fault ? fault : kernel_lacks(d, lacks, sizeof(lacks));
	struct utsname name;

	uname(&name);
	snprintf(text, sizeof(text), "%.64s%s%s", name.release, why ? ": " : "", why ? why : "");
	print_check(d, why ? "no" : "ok", "kernel", text);
}

static void check_mappings(struct doctor *d)
{
	bool remembered = d->kernel.lock_seq != KERNEL_LOCK_SEQ_NONE;

	if (!d->has_types)
		return;
	if (d->kernel.iterates_mappings && remembered)
		print_check(d, "ok", "mappings", "scanned by process, and cached between samples");
	else if (d->kernel.iterates_mappings)
		print_check(d, "less", "mappings",
			"cannot be cached between samples: each sample costs more");
	else if (remembered)
		print_check(d, "less", "mappings",
			"cannot be scanned by process: the start costs more");
	else
		print_check(d, "less", "mappings",
			"cannot be scanned by process and cannot be cached between samples: start "
			"and samples cost more");
}

/* Threads that wait are counted in any case. */
static void check_visits(struct doctor *d)
{
	struct why lacks;
	char text[sizeof(lacks.text) + 128];
	int err;

	if (!d->has_types || d->impossible || !(caps_permitted() & CAPS_BIT(CAP_BPF)))
		return;
	err = visitor_try(&lacks);
	if (err == 0)
		snprintf(text, sizeof(text), "their stacks are walked, without a page fault");
	else if (err > 0)
		snprintf(text, sizeof(text), "kernel halves of their stacks only: %s", lacks.text);
	else
		snprintf(text, sizeof(text), "times only, and no stacks: %s", lacks.text);
	print_check(d, err == 0 ? "ok" : "less", "threads that wait", text);
}

/* A process may raise its limit if it has CAP_SYS_RESOURCE, and the agent does. */
static void check_locked_memory(struct doctor *d)
{
	struct rlimit limit;
	char text[256];

	if (!d->has_types || !d->kernel.locks_maps || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return;
	if (limit.rlim_max == RLIM_INFINITY || caps_permitted() & CAPS_BIT(CAP_SYS_RESOURCE)) {
		print_check(
			d, "ok", "locked memory", "unlimited, or can be raised (CAP_SYS_RESOURCE)");
		return;
	}
	snprintf(text, sizeof(text),
		"%llu KiB, which BPF maps share: the default --memory needs %d MiB; raise it with "
		"`ulimit -l unlimited` as root, or systemd's LimitMEMLOCK=infinity",
		(unsigned long long)limit.rlim_max / 1024, LOCKED_MIB_MIN);
	print_check(d, limit.rlim_max < (rlim_t)LOCKED_MIB_MIN << 20 ? "no" : "ok", "locked memory",
		text);
}

static void check_capabilities(struct doctor *d)
{
	for (size_t i = 0; i < PRIVILEGES_LEN; i++) {
		const struct privilege *p = &privileges[i];
		char text[256];

		if (privileges_has(p)) {
			snprintf(text, sizeof(text), "to %s", p->use);
			print_check(d, "ok", p->name, text);
			continue;
		}
		snprintf(text, sizeof(text),
			"missing: %s; run as root or grant them with setcap(8)", p->without);
		print_check(d, p->needed ? "no" : "less", p->name, text);
	}
}

/* The number in a file of /proc/sys/kernel. False: it cannot be read, which is printed. */
static bool print_number(struct doctor *d, const char *name, const char *file, long *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[128], said[256];
	int err;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", file);
	err = fd_read_path(path, 64, &text);
	if (err == 0 && text.data) {
		*out = strtol(text.data, NULL, 10);
		return true;
	}
	snprintf(said, sizeof(said), "unknown: cannot read %s: %s; mount proc at /proc", path,
		err_text(err < 0 ? err : -EIO));
	print_check(d, "less", name, said);
	return false;
}

/* Above 2 is Debian's and Ubuntu's own: a clock takes CAP_SYS_ADMIN to be opened, which the starter
 * of the workers keeps. */
static bool may_open_clocks(long paranoid)
{
	return paranoid <= 2 || caps_permitted() & CAPS_BIT(CAP_SYS_ADMIN);
}

static void check_settings(struct doctor *d)
{
	long paranoid, rate, kptr;
	char text[256];

	if (print_number(d, "perf_event_paranoid", "perf_event_paranoid", &paranoid)) {
		snprintf(text, sizeof(text), "%ld%s", paranoid,
			may_open_clocks(paranoid)
				? ""
				: ": the CPU clocks need CAP_SYS_ADMIN; set it to 2, or run as "
				  "root");
		print_check(
			d, may_open_clocks(paranoid) ? "ok" : "no", "perf_event_paranoid", text);
	}
	if (print_number(d, "sample rate", "perf_event_max_sample_rate", &rate)) {
		snprintf(text, sizeof(text), "at most %ld Hz", rate);
		print_check(d, "ok", "sample rate", text);
	}
	if (print_number(d, "kernel symbols", "kptr_restrict", &kptr)) {
		snprintf(text, sizeof(text), "kptr_restrict is %ld%s", kptr,
			kptr >= 2 ? ": kernel frames have no names; set it to 1" : "");
		print_check(d, kptr >= 2 ? "less" : "ok", "kernel symbols", text);
	}
}

static void check_workers(struct doctor *d, uint32_t got)
{
	bool apart = got & (SANDBOX_NAMESPACES | SANDBOX_CHROOT | SANDBOX_LANDLOCK);
	char text[512];

	snprintf(text, sizeof(text), "%s, no capability, few system calls, %s%s%s",
		got & SANDBOX_USER ? "users of their own" : "this user",
		got & SANDBOX_USER_NS ? "an empty root and no network by a user namespace"
			: got & SANDBOX_NAMESPACES ? "an empty root and no network by namespaces"
			: got & SANDBOX_CHROOT     ? "an empty root by chroot"
						   : "the root of this process",
		got & SANDBOX_LANDLOCK ? ", no file by Landlock" : "",
		apart ? "" : "; for more, give CAP_SYS_ADMIN, or let users have namespaces");
	print_check(d, apart ? "ok" : "less", "workers", text);
}

static void check_openers(struct doctor *d, uint32_t got)
{
	bool apart = got & SANDBOX_USER && got & SANDBOX_PROC;
	char text[512];

	snprintf(text, sizeof(text), "%s, few system calls, %s%s",
		got & SANDBOX_USER ? "users of their own" : "this user",
		got & SANDBOX_PROC ? "/proc alone, read-only" : "the mounts of this process",
		apart ? "" : "; for more, run as root with CAP_SYS_ADMIN");
	print_check(d, apart ? "ok" : "less", "openers", text);
}

static void check_captures(struct doctor *d)
{
	_cleanup_fd_ int program = -1;
	const char *refused;
	char text[256];
	uid_t user = users_of_program(&program, &refused);

	snprintf(text, sizeof(text), "%s%s",
		user > 0          ? "users of their own"
			: refused ? "this user: "
				  : "this user: own ones take CAP_SETUID, CAP_SETGID and CAP_KILL",
		refused ? refused : "");
	print_check(d, refused ? "less" : "ok", "captures", text);
}

/* Who our processes would be, started as this one was. */
static void check_isolation(struct doctor *d)
{
	uint32_t worker = trial_worker(), opener = trial_opener();
	char text[256];

	if (worker >= TRIAL_NONE || opener >= TRIAL_NONE) {
		snprintf(text, sizeof(text), "cannot enter their sandbox: %s",
			sandbox_failure(false));
		print_check(d, "no", "workers", text);
		return;
	}
	check_workers(d, worker);
	check_openers(d, opener);
	check_captures(d);
	print_check(d, "ok", "other processes",
		worker & SANDBOX_USER
			? "HTTP and an idle daemon have users of their own; what samples and "
			  "writes, this one"
			: "all have this user: own ones take CAP_SETUID, CAP_SETGID and CAP_KILL");
}

/* The policy, and the rights that a daemon lacks which has ours. */
static void check_maps(struct doctor *d)
{
	static const struct {
		unsigned int cap;
		const char *name;
	} caps[] = { { CAP_SYS_PTRACE, "CAP_SYS_PTRACE" }, { CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
		{ CAP_FOWNER, "CAP_FOWNER" }, { CAP_SETUID, "CAP_SETUID" },
		{ CAP_SETGID, "CAP_SETGID" } };
	char text[256];
	size_t len;

	if (!d->config.jit[0])
		return;
	len = (size_t)snprintf(text, sizeof(text), "[jit] enable = %s", d->config.jit);
	if (config_jit(&d->config) == CONFIG_JIT_NEVER) {
		print_check(d, "ok", "perf maps", text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		if (!(caps_permitted() & CAPS_BIT(caps[i].cap)))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %s",
				strchr(text, ':') ? "" : "; runtimes of other users need:",
				caps[i].name);
	print_check(d, strchr(text, ':') ? "less" : "ok", "perf maps", text);
}

/* A store that no daemon has made yet has none. */
static void load_mark(struct doctor *d)
{
	int err = config_load(d->config_path, &d->config, &d->unread);

	if (err < 0)
		return;
	err = guard_load(d->config.store, &d->mark, &d->unread);
	if (err == 0 || err == -ENOENT)
		d->unread.text[0] = '\0';
}

/* Prints the kill switch and the mark, which keep a daemon of this host idle. */
static void check_orders(struct doctor *d)
{
	struct guard_mark next;
	struct guard_facts now;
	struct why why;
	char text[256];
	int err = kill_switch_check(&why);

	print_check(d, err < 0 ? "no" : why.text[0] ? "less" : "ok", "kill switch",
		why.text[0] ? why.text : "off (" KILL_SWITCH_HOST ", " KILL_SWITCH_BOOT ")");
	if (d->unread.text[0])
		print_check(d, "less", "host", d->unread.text);
	guard_facts_now(&now);
	if (guard_decide(&d->mark, &now, &next) == GUARD_GO && next.deaths == 0)
		return;
	snprintf(text, sizeof(text),
		"it went down %u time(s) while the daemon sampled on this kernel%s", next.deaths,
		next.running ? ""
			     : ": the daemon stays idle until another kernel or version, or "
			       "`stoker daemon --after-crash`");
	print_check(d, "less", "host", text);
}

static void check_cgroups(struct doctor *d)
{
	bool partial = cgroup_view_is_partial();
	struct cgroup_tree *tree = NULL;
	char text[WHY_MAX + 160];
	const char *mount;
	struct why why;

	if (cgroup_tree_open(cgroup_view(), &tree, &why) < 0) {
		print_check(d, "less", "cgroups", why.text);
		return;
	}
	mount = cgroup_tree_mount(tree);
	snprintf(text, sizeof(text), "%s%s%s%s", *mount ? "cgroup2 at " : "v1 only", mount,
		!*mount || strcmp(mount, "/sys/fs/cgroup") == 0 ? "" : " (hybrid)",
		partial ? "; only a part is mounted here: containers outside it have an id as "
			  "name, or none"
			: "");
	print_check(d, partial ? "less" : "ok", "cgroups", text);
	cgroup_tree_free(tree);
}

enum { OPT_TABLES = 256 };

static const struct option_row rows[] = {
	{ 'c', "config", "FILE", "of the daemon; default " CONFIG_PATH ", if it exists" },
	{ OPT_TABLES, "tables", "DIR",
		"tables of language runtimes, stoker-tables(5); default [sample]\ntables of the "
		"configuration, " LANGUAGE_FILES_PATH },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker doctor [--config FILE] [--tables DIR] [PID]",
	.text = "Prints what this kernel and these privileges allow, and for a process how its "
		"stacks\nwill be walked and named.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct doctor *d = ctx;

	(void)why;
	if (id == 'c')
		d->config_path = arg;
	if (id == OPT_TABLES)
		d->tables_path = arg;
	d->help |= id == 'h';
	return 0;
}

static int parse(struct doctor *d, int argc, char **argv, uint64_t *pid, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take_option, d, &rest, why);

	if (err == 0 && rest < argc)
		err = options_number("PID", argv[rest], 1, INT32_MAX, pid, why);
	if (err == 0 && rest + 1 < argc)
		err = why_set(why, -EINVAL, "expected one PID");
	return err;
}

static void on_table(void *ctx, const char *verdict, const char *thing, const char *text)
{
	print_check(ctx, verdict, thing, text);
}

/* The tables, and how the process will be seen with them. pid 0: none is asked for. */
static int check_tables(struct doctor *d, pid_t pid, struct why *why)
{
	const char *path = d->tables_path    ? d->tables_path
		: d->config.tables[0] ? d->config.tables
				      : NULL;
	struct doctor_tables tables;
	int err = doctor_tables_load(&tables, path, pid > 0, why);

	if (err == 0)
		doctor_tables_report(&tables, on_table, d);
	if (err == 0 && pid > 0)
		err = doctor_process(pid, &tables, why);
	doctor_tables_done(&tables);
	return err;
}

int cmd_doctor(int argc, char **argv, struct log *log)
{
	struct doctor d = { 0 };
	struct why why;
	uint64_t pid = 0;
	int err = parse(&d, argc, argv, &pid, &why);

	if (err < 0) {
		log_error(log, "%s; see `stoker doctor --help`", why.text);
		return EXIT_USAGE;
	}
	if (d.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	load_mark(&d);
	/* The caller named no file that is read from here on. */
	(void)caps_raise();
	check_btf(&d);
	check_kernel(&d);
	check_mappings(&d);
	check_locked_memory(&d);
	check_visits(&d);
	check_capabilities(&d);
	check_settings(&d);
	check_isolation(&d);
	check_maps(&d);
	check_cgroups(&d);
	check_orders(&d);
	if (check_tables(&d, (pid_t)pid, &why) < 0) {
		log_error(log, "%s", why.text);
		return EXIT_FAILED;
	}
	return d.impossible ? EXIT_FAILED : EXIT_OK;
}
