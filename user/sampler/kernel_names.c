/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_names.c - the kernel is asked at the end of an interval, so code that came and
 * went since would have no name or another's: BPF programs are known by their events.
 * Where kallsyms is read: it has no sizes, so code that was loaded after it was read must not be
 * looked up in it, and after a change of modules it is read again. A module that was unloaded
 * meanwhile is named from the old table: of two matches the one with the nearer start is right,
 * because the other table lacks its place. */
#include "sampler/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "bpf/abi.h"
#include "sample.skel.h"
#include "sampler/code_events.h"
#include "sampler/sampler.h"
#include "sym/kernel_code.h"
#include "sym/kernel_text.h"

#define KALLSYMS "/proc/kallsyms"
#define KALLSYMS_BYTES_MAX (64UL << 20)
#define LINES_BYTES 4096
#define MODULES_BYTES_MAX (1UL << 20)

struct kernel_names {
	const struct sampler *sampler;
	bool asks; /* the kernel names its code, and does not hide where it is */
	char text[KERNEL_NAME_BYTES];
	bool read;                 /* kallsyms, or that failed */
	struct kernel_sym *sym;    /* NULL: hidden, or not needed yet */
	struct kernel_sym *before; /* of this interval's beginning, where modules are others now */
	struct kernel_code code;
	struct code_events events;
	uint64_t modules;           /* a hash of which they are and where */
	bool lost;                  /* events were: only kallsyms knows */
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC: the interval whose names are asked for */
};

int kernel_names_new(const struct sampler *sampler, struct kernel_names **out)
{
	struct kernel_names *names = calloc(1, sizeof(*names));

	if (!names || code_events_open(&names->events, sampler_clocks(sampler)) < 0) {
		free(names);
		return -ENOMEM;
	}
	names->sampler = sampler;
	*out = names;
	return 0;
}

void kernel_names_free(struct kernel_names *names)
{
	if (!names)
		return;
	kernel_sym_free(names->sym);
	kernel_sym_free(names->before);
	kernel_code_done(&names->code);
	code_events_close(&names->events);
	free(names);
}

/* Hashes the first word and the last ones of each line; the number of uses between them changes all
 * the time (proc(5): name, size, uses, by whom, state, address). */
static uint64_t hash_modules(char *text)
{
	uint64_t hash = 0;
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		const char *address = strrchr(line, ' ');

		hash = hash_mix(hash ^ hash_bytes(line, strcspn(line, " ")));
		if (address)
			hash = hash_mix(hash ^ hash_bytes(address, strlen(address)));
	}
	return hash;
}

/* 0: unknown. */
static uint64_t modules_now(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	if (fd_read_path("/proc/modules", MODULES_BYTES_MAX, &text) < 0 || text.len == 0)
		return 0;
	return hash_modules(text.data);
}

/* An enum kernel_sym_result, or -errno. */
static int load(struct kernel_names *names)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct kernel_sym *sym;
	int err;

	names->read = true;
	names->modules = modules_now();
	err = fd_read_path(KALLSYMS, KALLSYMS_BYTES_MAX, &text);
	if (err == 0)
		err = kernel_sym_parse(text.data, text.len, &sym);
	if (err != KERNEL_SYM_OK)
		return err;
	kernel_sym_free(names->before);
	names->before = names->sym;
	names->sym = sym;
	return 0;
}

/* As load(), but only as far as the first function: symbols that are no code may come before. */
static int look(void)
{
	_cleanup_fd_ int fd = open(KALLSYMS, O_RDONLY | O_CLOEXEC);
	char lines[LINES_BYTES]; /* the kernel gives whole ones */
	struct kernel_sym *sym;
	int result = KERNEL_SYM_EMPTY;
	ssize_t len = 0;

	if (fd < 0)
		return -errno;
	while (result == KERNEL_SYM_EMPTY && (len = read(fd, lines, sizeof(lines))) > 0)
		result = kernel_sym_parse(lines, (size_t)len, &sym);
	if (len < 0)
		return -errno;
	if (result == KERNEL_SYM_OK)
		kernel_sym_free(sym);
	return result;
}

/* Is the program there, that prints a name? A recorded sampler has none. */
static bool can_ask(const struct kernel_names *names)
{
	const struct sample_bpf *skel = sampler_skeleton(names->sampler);

	return skel && bpf_program__fd(skel->progs.name_ask) >= 0;
}

int kernel_names_begin(struct kernel_names *names, struct warnings *warnings)
{
	bool asks = can_ask(names);
	int result = asks ? look() : load(names);
	struct why text;

	names->asks = asks && result == KERNEL_SYM_OK;
	names->from_ns = clock_ns(CLOCK_MONOTONIC);
	if (result == -ENOMEM)
		return result;
	if (result == KERNEL_SYM_HIDDEN && caps_permitted() & CAPS_BIT(CAP_SYSLOG))
		warnings_add(warnings,
			"kernel frames have no names: /proc/kallsyms hides its addresses; set "
			"kernel.kptr_restrict to 0 or 1");
	if (result == KERNEL_SYM_EMPTY)
		warnings_add(warnings,
			"kernel frames have no names: /proc/kallsyms has no function; another file "
			"is mounted over it, or this kernel has none (CONFIG_KALLSYMS)");
	if (result < 0) {
		why_set(&text, result,
			"kernel frames have no names: cannot read /proc/kallsyms: %s",
			err_text(result));
		warnings_add(warnings, text.text);
	}
	return 0;
}

static int on_code(void *ctx, const struct code_event *event)
{
	struct kernel_names *names = ctx;

	return (event->gone ? kernel_code_remove : kernel_code_add)(
		&names->code, event->start, event->size, event->name, event->at_ns);
}

int kernel_names_watch(struct kernel_names *names, int epoll_fd)
{
	return code_events_watch(&names->events, epoll_fd);
}

int kernel_names_poll(struct kernel_names *names)
{
	int lost = code_events_poll(&names->events, on_code, names);

	names->lost = names->lost || lost == 1;
	return lost < 0 ? lost : 0;
}

int kernel_names_refresh(struct kernel_names *names)
{
	int err = kernel_names_poll(names);

	names->until_ns = clock_ns(CLOCK_MONOTONIC);
	if (err < 0 || !names->sym || (!names->lost && modules_now() == names->modules))
		return err;
	names->lost = false;
	err = load(names);
	return err == -ENOMEM ? err : 0;
}

void kernel_names_next(struct kernel_names *names)
{
	kernel_code_next(&names->code);
	names->from_ns = names->until_ns;
	kernel_sym_free(names->before);
	names->before = NULL;
}

/* The kernel's answer for one address; false: it knows no code there. */
static bool ask(struct kernel_names *names, uint64_t addr, struct kernel_name *out)
{
	const struct sample_bpf *skel = sampler_skeleton(names->sampler);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &addr, .ctx_size_in = sizeof(addr));

	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.name_ask), &opts) < 0)
		return false;
	memcpy(names->text, skel->bss->kernel_name_text, sizeof(names->text) - 1);
	return kernel_text_parse(names->text, addr, out);
}

/* In the text of kallsyms, and in that of the interval's beginning. */
static bool find_in_text(const struct kernel_names *names, uint64_t addr, struct kernel_name *out)
{
	struct kernel_name now, before;
	bool is_now = names->sym && kernel_sym_find(names->sym, addr, &now);
	bool was_before = names->before && kernel_sym_find(names->before, addr, &before);

	if (was_before && (!is_now || before.start > now.start))
		*out = before;
	else if (is_now)
		*out = now;
	return is_now || was_before;
}

bool kernel_names_find(struct kernel_names *names, uint64_t addr, struct kernel_name *out)
{
	const char *code;
	uint64_t start;

	/* kptr_restrict hides all other addresses, so this one stays hidden, too. */
	if (!names->asks && !names->sym)
		return false;
	code = kernel_code_find(&names->code, addr, names->from_ns, names->until_ns, &start);
	if (code) {
		*out = (struct kernel_name){ .name = code, .module = "bpf", .start = start };
		return true;
	}
	if (names->asks && ask(names, addr, out))
		return true;
	/* kallsyms also has what the kernel prints as a number: trampolines of ftrace. */
	if (!names->read)
		load(names);
	return find_in_text(names, addr, out);
}
