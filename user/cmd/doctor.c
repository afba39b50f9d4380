/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/doctor.c - what this kernel, these privileges and a process allow, and what to do about what
 * they do not. Each check is a function that prints one line: ok, less, or no. Only "no", without
 * which nothing can be sampled, makes the exit status 1. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "cgroup/tree.h"
#include "cmd/cmd.h"
#include "cmd/doctor_process.h"
#include "cmd/options.h"
#include "daemon/cgroup_view.h"
#include "daemon/privileges.h"

struct doctor {
	bool impossible;
	bool help;
};

static void say(struct doctor *d, const char *verdict, const char *thing, const char *text)
{
	d->impossible |= strcmp(verdict, "no") == 0;
	printf("%-5s %-22s %s\n", verdict, thing, text);
}

/* major.minor as one number that can be compared. */
#define KERNEL(major, minor) ((major)*1000 + (minor))

static const struct {
	int below;
	const char *verdict;
	const char *text;
} kernels[] = {
	{ KERNEL(5, 8), "no", "it has no BPF ring buffer; 5.10 is the oldest that is tested" },
	{ KERNEL(5, 10), "less", "5.10 is the oldest that is tested" },
	{ KERNEL(5, 12), "less",
		"mappings cannot be scanned by process nor be remembered from sample to sample: "
		"starting and sampling cost more" },
	{ KERNEL(6, 4), "less",
		"mappings cannot be remembered from sample to sample: a sample costs more" },
};

static void check_kernel(struct doctor *d)
{
	struct utsname name;
	char text[512];
	char *rest;
	long major, minor;

	uname(&name);
	major = strtol(name.release, &rest, 10);
	minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		if (KERNEL(major, minor) >= kernels[i].below)
			continue;
		snprintf(text, sizeof(text), "%.64s: %s", name.release, kernels[i].text);
		say(d, kernels[i].verdict, "kernel", text);
		return;
	}
	say(d, "ok", "kernel", name.release);
}

static void check_btf(struct doctor *d)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		say(d, "ok", "BTF", "/sys/kernel/btf/vmlinux");
	else
		say(d, "no", "BTF",
			access("/sys/kernel", F_OK) == 0
				? "/sys/kernel/btf/vmlinux is not there: the kernel needs "
				  "CONFIG_DEBUG_INFO_BTF=y"
				: "/sys/kernel is not there: mount sysfs at /sys");
}

static void check_capabilities(struct doctor *d)
{
	for (size_t i = 0; i < PRIVILEGES_LEN; i++) {
		const struct privilege *p = &privileges[i];
		char text[256];

		if (privileges_has(p)) {
			snprintf(text, sizeof(text), "to %s", p->use);
			say(d, "ok", p->name, text);
			continue;
		}
		snprintf(text, sizeof(text), "missing: %s; run as root or give it with setcap(8)",
			p->without);
		say(d, p->needed ? "no" : "less", p->name, text);
	}
}

/* The number in a file of /proc/sys, -1 when it cannot be read. */
static long read_number(const char *path)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	return fd_read_path(path, 64, &text) < 0 || !text.data ? -1 : strtol(text.data, NULL, 10);
}

/* Above 2 is Debian's and Ubuntu's own: a clock takes CAP_SYS_ADMIN to be opened, which the starter
 * of the workers keeps. */
static bool may_open_clocks(long paranoid)
{
	return paranoid <= 2 || caps_effective() & CAPS_BIT(CAP_SYS_ADMIN);
}

static void check_settings(struct doctor *d)
{
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
	long rate = read_number("/proc/sys/kernel/perf_event_max_sample_rate");
	long kptr = read_number("/proc/sys/kernel/kptr_restrict");
	char text[256];

	snprintf(text, sizeof(text), "%ld%s", paranoid,
		may_open_clocks(paranoid)
			? ""
			: ": the CPU clocks take CAP_SYS_ADMIN; set it to 2, or run as root");
	say(d, may_open_clocks(paranoid) ? "ok" : "no", "perf_event_paranoid", text);
	snprintf(text, sizeof(text), "%ld Hz at most", rate);
	say(d, "ok", "sample rate", text);
	snprintf(text, sizeof(text), "kptr_restrict is %ld%s", kptr,
		kptr >= 2 ? ": kernel frames will have no names; set it to 1" : "");
	say(d, kptr >= 2 ? "less" : "ok", "kernel symbols", text);
}

static void check_cgroups(struct doctor *d)
{
	bool partial = cgroup_view_is_partial();
	struct cgroup_tree *tree = NULL;
	char text[WHY_MAX + 160];
	const char *mount;
	struct why why;

	if (cgroup_tree_open(cgroup_view(), &tree, &why) < 0) {
		say(d, "less", "cgroups", why.text);
		return;
	}
	mount = cgroup_tree_mount(tree);
	snprintf(text, sizeof(text), "%s%s%s%s", *mount ? "cgroup2 at " : "v1 only", mount,
		!*mount || strcmp(mount, "/sys/fs/cgroup") == 0 ? "" : " (hybrid)",
		partial ? "; only a part of them is mounted here: containers outside it have an "
			  "id for a name, or none"
			: "");
	say(d, partial ? "less" : "ok", "cgroups", text);
	cgroup_tree_free(tree);
}

static const struct option_row rows[] = {
	{ 'h', "help", NULL, "this text" },
};

static const struct options table = {
	.usage = "stoker doctor [PID]",
	.text = "Says what this kernel and these privileges allow, and for a process how its "
		"stacks\n"
		"will be walked and named.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take(void *ctx, int id, const char *arg, struct why *why)
{
	struct doctor *d = ctx;

	(void)arg;
	(void)why;
	d->help |= id == 'h';
	return 0;
}

static int parse(struct doctor *d, int argc, char **argv, uint64_t *pid, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take, d, &rest, why);

	if (err == 0 && rest < argc)
		err = options_number("PID", argv[rest], 1, INT32_MAX, pid, why);
	if (err == 0 && rest + 1 < argc)
		err = why_set(why, -EINVAL, "one PID only");
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
	check_kernel(&d);
	check_btf(&d);
	check_capabilities(&d);
	check_settings(&d);
	check_cgroups(&d);
	if (pid > 0 && doctor_process((pid_t)pid, &why) < 0) {
		log_error(log, "%s", why.text);
		return EXIT_FAILED;
	}
	return d.impossible ? EXIT_FAILED : EXIT_OK;
}
