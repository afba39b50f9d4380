/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/step.c - runs a program one instruction at a time and walks its stack at each, with
 * the kernel side's own code, and holds what comes out against the calls that were seen to happen.
 *     step [--from FUNCTION] [--exceptions FILE] [--max N] [--name NAME] [--signal N] [--slot N]
 *         [--go] [--record FILE --in FUNCTION [--skip N]] -- PROGRAM [ARGUMENT...]
 * Steps from the first instruction of the dynamic linker on, or from FUNCTION; threads and children
 * too; --signal sends a SIGALRM every N instructions; --go steps the first thread only, on the
 * stacks of its goroutine and its own. Each walk must end at the root and be the true chain; or the
 * chain after a jump (longjmp, exceptions, contexts) that is made within IN_FLIGHT_STEPS. --record
 * writes one walk as a fixture (record.h). Exit 1: some were neither, and in no function that is
 * excepted; 2: could not be run; 3: the program failed. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "base/own.h"
#include "bpf/reasons.h"
#include "goroutine.h"
#include "insn.h"
#include "shadow.h"
#include "space.h"
#include "tally.h"
#include "walk.h"

#define IN_FLIGHT_STEPS 40
#define SIGFRAME_GREGS 48 /* from the handler's sp: the return address, then as arch_x86.h says */
#define BREAKPOINT 0xcc

/* A walk that was not the true chain, and may yet turn out to be that of a jump under way. */
struct flying {
	struct chain seen, want;
	uint64_t step;
};

struct task {
	pid_t pid;
	struct space space;
	struct shadow shadow;
	struct user_regs_struct regs;
	enum insn_class class;
	uint64_t steps, jumps;
	int signal;   /* to be delivered with the next step */
	bool known;   /* its parent's event came */
	bool stopped; /* its first stop came */
	bool started;
	VEC(struct flying) flying;
};

struct stepper {
	VEC(struct task *) tasks;
	struct objects objects;
	struct tally tally;
	struct hash classes; /* address → enum insn_class */
	uint64_t generation; /* of mappings */
	uint64_t steps_max, signal_every;
	const char *from, *name;
	bool go;
	struct record record;
	uint64_t breakpoint;
	uint8_t under_breakpoint;
	pid_t main;
	int status;
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

static struct task *task_find(struct stepper *s, pid_t pid)
{
	vec_each (&s->tasks, task) {
		if ((*task)->pid == pid)
			return *task;
	}
	return NULL;
}

static struct task *task_add(struct stepper *s, pid_t pid)
{
	struct task **slot = vec_add(&s->tasks);

	*slot = calloc(1, sizeof(**slot));
	(*slot)->pid = pid;
	if (space_open(&(*slot)->space, pid) < 0)
		die("/proc/PID/mem");
	return *slot;
}

static void fail_flying(struct stepper *s, struct task *t, size_t keep_from)
{
	for (size_t i = 0; i < keep_from; i++)
		tally_fail(&s->tally, &t->space, &t->flying.data[i].seen, &t->flying.data[i].want);
	memmove(t->flying.data, t->flying.data + keep_from,
		(t->flying.len - keep_from) * sizeof(*t->flying.data));
	t->flying.len -= keep_from;
}

static void task_remove(struct stepper *s, struct task *t)
{
	if (t->flying.len > 0)
		fail_flying(s, t, t->flying.len);
	vec_each (&s->tasks, slot) {
		if (*slot == t) {
			*slot = s->tasks.data[--s->tasks.len];
			break;
		}
	}
	space_close(&t->space);
	shadow_done(&t->shadow);
	vec_done(&t->flying);
	free(t);
}

static void load_mappings(struct stepper *s, struct task *t)
{
	space_load(&t->space, &s->objects);
	t->space.generation = s->generation;
}

/* ---- one instruction --------------------------------------------------------------------------
 */

static bool is_true(const struct chain *seen, const struct chain *want)
{
	return seen->end == END_ROOT && seen->len == want->len &&
		memcmp(seen->at, want->at, seen->len * sizeof(*seen->at)) == 0;
}

/* A goroutine that is given up where its stack was to grow: nothing is above for its thread. */
static bool is_left(struct task *t, const struct chain *seen, const struct chain *want)
{
	return seen->end == END_ROOT && seen->len < want->len &&
		memcmp(seen->at, want->at, seen->len * sizeof(*seen->at)) == 0 &&
		goroutine_is_left(&t->space, seen->at, seen->len);
}

/* Did the walk from before the jump already see where it led? */
static bool foresaw(const struct flying *f, const struct chain *now)
{
	const uint64_t *callers = f->seen.at + 1;

	/* The place that is jumped to was a return address then. */
	return f->seen.end == END_ROOT && f->seen.len - 1 == now->len &&
		callers[0] + 1 == now->at[0] &&
		memcmp(callers + 1, now->at + 1, (now->len - 1) * sizeof(*callers)) == 0;
}

static void settle_flying(struct stepper *s, struct task *t, const struct chain *now)
{
	bool jumped = t->shadow.jumps != t->jumps;
	size_t kept = 0, late = 0;

	for (size_t i = 0; i < t->flying.len; i++) {
		struct flying *f = &t->flying.data[i];

		if (jumped && foresaw(f, now))
			s->tally.in_flight++;
		else if (kept++ != i)
			t->flying.data[kept - 1] = *f;
	}
	t->flying.len = kept;
	while (late < kept && t->steps - t->flying.data[late].step > IN_FLIGHT_STEPS)
		late++;
	if (late > 0)
		fail_flying(s, t, late);
}

static void check(struct stepper *s, struct task *t)
{
	static struct chain seen, want;
	struct flying *f;

	t->steps++;
	s->tally.instructions++;
	shadow_chain(&t->shadow, t->regs.rip, &want);
	if (s->record.path && record_begin(&s->record, &t->space, t->regs.rip)) {
		walk_now(&t->space, &t->regs, &seen, &s->record);
		if (!is_true(&seen, &want))
			fprintf(stderr, "step: what is recorded is not true\n");
	}
	walk_now(&t->space, &t->regs, &seen, NULL);
	if (t->flying.len > 0)
		settle_flying(s, t, &want);
	t->jumps = t->shadow.jumps;
	s->tally.root += seen.end == END_ROOT;
	if (is_true(&seen, &want) || (s->go && is_left(t, &seen, &want))) {
		s->tally.equal++;
		return;
	}
	f = vec_add(&t->flying);
	*f = (struct flying){ .step = t->steps };
	f->seen = seen;
	f->want = want;
}

static enum insn_class class_at(struct stepper *s, struct task *t)
{
	uint64_t *known = hash_find(&s->classes, t->regs.rip);
	uint8_t code[INSN_BYTES_MAX] = { 0 };
	enum insn_class class;
	uint32_t len = sizeof(code);

	if (known)
		return (enum insn_class) * known;
	while (len > 0 && space_read(&t->space, t->regs.rip, code, len) < 0)
		len--;
	class = insn_classify(code, sizeof(code));
	hash_put(&s->classes, t->regs.rip, class);
	return class;
}

static bool changes_mappings(uint64_t syscall)
{
	return syscall == SYS_mmap || syscall == SYS_munmap || syscall == SYS_mprotect ||
		syscall == SYS_brk || syscall == SYS_mremap;
}

/* Mappings that changed by a call of this task, of another one, or by growth of the stack. */
static void update_space(struct stepper *s, struct task *t, const struct user_regs_struct *before)
{
	if (t->class == INSN_SYSCALL && changes_mappings(before->rax)) {
		s->generation++;
		hash_clear(&s->classes);
	}
	if (t->space.generation != s->generation || !space_find(&t->space, t->regs.rsp))
		load_mappings(s, t);
	space_refresh(&t->space, t->regs.rsp);
}

/* The pc that a handler interrupted, by the frame that the kernel built for it; 0: none was. */
static uint64_t interrupted_pc(const struct task *t, const struct user_regs_struct *before)
{
	uint64_t gregs[17] = { 0 }; /* r8 to r15, rdi rsi rbp rbx rdx rax rcx rsp rip */

	if (space_read(&t->space, t->regs.rsp + SIGFRAME_GREGS, gregs, sizeof(gregs)) < 0)
		return 0;
	if (t->regs.rip == before->rip || gregs[15] != before->rsp)
		return 0;
	/* A system call that is to be done again begins 2 bytes before. */
	return gregs[16] == before->rip || gregs[16] == before->rip - 2 ? gregs[16] : 0;
}

static void resume(const struct task *t)
{
	if (ptrace(PTRACE_SINGLESTEP, t->pid, 0, (long)t->signal) < 0 && errno != ESRCH)
		die("PTRACE_SINGLESTEP");
}

static void check_and_resume(struct stepper *s, struct task *t)
{
	check(s, t);
	t->class = class_at(s, t);
	if (s->signal_every && t->steps % s->signal_every == 0)
		t->signal = SIGALRM;
	if (s->steps_max && s->tally.instructions >= s->steps_max) {
		kill(t->pid, SIGKILL);
		s->status = 0;
	}
	resume(t);
}

/* The task ran one instruction, or entered a handler. */
static void stepped(struct stepper *s, struct task *t)
{
	struct user_regs_struct before = t->regs;
	uint64_t pc = 0;
	struct shadow_step step;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs) < 0)
		return;
	update_space(s, t, &before);
	if (t->signal)
		pc = interrupted_pc(t, &before);
	t->signal = 0;
	if (pc) {
		shadow_signal(&t->shadow, &t->space, pc, t->regs.rsp);
	} else {
		step = (struct shadow_step){ t->class, before.rax, before.rip, before.rsp,
			t->regs.rip, t->regs.rsp };
		shadow_step(&t->shadow, &t->space, &step);
	}
	check_and_resume(s, t);
}

/* ---- beginnings -------------------------------------------------------------------------------
 */

static void start_task(struct stepper *s, struct task *t, bool callers)
{
	static struct chain chain;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs) < 0)
		die("PTRACE_GETREGS");
	load_mappings(s, t);
	space_refresh(&t->space, t->regs.rsp);
	t->started = true;
	t->shadow.thread_base = s->go ? t->regs.fs_base : 0;
	if (callers)
		walk_now(&t->space, &t->regs, &chain, NULL);
	shadow_start(&t->shadow, &t->space, t->regs.rsp, callers ? &chain : NULL);
	check_and_resume(s, t);
}

static void plant_breakpoint(struct stepper *s, struct task *t)
{
	uint64_t vaddr, offset;

	load_mappings(s, t);
	vec_each (&t->space.mappings, m) {
		if (!m->object || !object_find(m->object, s->from, &vaddr) ||
			!image_vaddr_to_offset(&m->object->image, vaddr, &offset))
			continue;
		s->breakpoint = m->start + offset - m->file_offset;
		if (space_read(&t->space, s->breakpoint, &s->under_breakpoint, 1) < 0 ||
			space_write_byte(&t->space, s->breakpoint, BREAKPOINT) < 0)
			die("breakpoint");
		if (ptrace(PTRACE_CONT, t->pid, 0, 0) < 0)
			die("PTRACE_CONT");
		return;
	}
	fprintf(stderr, "step: no function %s\n", s->from);
	exit(2);
}

static void take_breakpoint(struct stepper *s, struct task *t)
{
	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs) < 0)
		die("PTRACE_GETREGS");
	if (t->regs.rip != s->breakpoint + 1) {
		fprintf(stderr, "step: unexpected trap at %#llx\n", t->regs.rip);
		exit(2);
	}
	t->regs.rip--;
	space_write_byte(&t->space, s->breakpoint, s->under_breakpoint);
	if (ptrace(PTRACE_SETREGS, t->pid, 0, &t->regs) < 0)
		die("PTRACE_SETREGS");
	s->breakpoint = 0;
	start_task(s, t, true);
}

/* A new program image. */
static void start_image(struct stepper *s, struct task *t)
{
	if (t->flying.len > 0)
		fail_flying(s, t, t->flying.len);
	space_close(&t->space);
	t->space = (struct space){ 0 };
	if (space_open(&t->space, t->pid) < 0)
		die("/proc/PID/mem");
	hash_clear(&s->classes);
	s->generation++;
	if (s->from && t->pid == s->main && !t->started)
		plant_breakpoint(s, t);
	else
		start_task(s, t, false);
}

static void start_child(struct stepper *s, struct task *t)
{
	if (!t->known || !t->stopped)
		return;
	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs) < 0)
		return;
	load_mappings(s, t);
	space_refresh(&t->space, t->regs.rsp);
	t->started = true;
	/* A thread begins on a stack of its own. */
	if (t->regs.rsp < t->shadow.low || t->regs.rsp >= t->shadow.high)
		shadow_start(&t->shadow, &t->space, t->regs.rsp, NULL);
	check_and_resume(s, t);
}

static void forked(struct stepper *s, struct task *t)
{
	unsigned long pid = 0;
	struct task *child;

	if (ptrace(PTRACE_GETEVENTMSG, t->pid, 0, &pid) < 0)
		die("PTRACE_GETEVENTMSG");
	child = task_find(s, (pid_t)pid);
	if (!child)
		child = task_add(s, (pid_t)pid);
	child->known = true;
	shadow_copy(&child->shadow, &t->shadow);
	start_child(s, child);
	resume(t);
}

/* ---- stops ------------------------------------------------------------------------------------
 */

static void ended(struct stepper *s, struct task *t, int status)
{
	if (t->pid == s->main && s->status < 0)
		s->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	task_remove(s, t);
}

/* A thread that is not stepped, or the first one on its way to the breakpoint. */
static void let_run(const struct task *t, int signal)
{
	if (ptrace(PTRACE_CONT, t->pid, 0, (long)signal) < 0 && errno != ESRCH)
		die("PTRACE_CONT");
}

static void stopped(struct stepper *s, struct task *t, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (s->go && t->pid != s->main) {
		let_run(t, event || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
	} else if (s->go && event == PTRACE_EVENT_CLONE) {
		if (s->breakpoint)
			let_run(t, 0);
		else
			resume(t);
	} else if (!t->started && t->pid != s->main) {
		t->stopped = true;
		start_child(s, t);
	} else if (event == PTRACE_EVENT_EXEC) {
		start_image(s, t);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		event == PTRACE_EVENT_CLONE) {
		forked(s, t);
	} else if (event != 0) {
		resume(t);
	} else if (signal == SIGTRAP && s->breakpoint) {
		take_breakpoint(s, t);
	} else if (signal == SIGTRAP) {
		stepped(s, t);
	} else {
		t->signal = signal;
		if (s->breakpoint)
			let_run(t, signal);
		else
			resume(t);
	}
}

static void run(struct stepper *s)
{
	while (s->tasks.len > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);
		struct task *t;

		if (pid < 0)
			break;
		t = task_find(s, pid);
		if (!t)
			t = task_add(s, pid);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			ended(s, t, status);
		else if (WIFSTOPPED(status))
			stopped(s, t, status);
	}
}

static pid_t launch(char **argv)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
		ptrace(PTRACE_SETOPTIONS, pid, 0, options) < 0 ||
		ptrace(PTRACE_CONT, pid, 0, 0) < 0)
		die("ptrace");
	return pid;
}

/* Stepper and stepped take turns: on one CPU that costs a third less. */
static void stay_on(unsigned long slot)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	slot %= (unsigned long)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || slot-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void usage(void)
{
	fprintf(stderr,
		"step [--from FUNCTION] [--exceptions FILE] [--max N] [--name NAME] "
		"[--signal N] [--slot N] [--go] [--record FILE --in FUNCTION [--skip N]] -- "
		"PROGRAM [ARGUMENT...]\n");
	exit(2);
}

static void parse_options(struct stepper *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "from", required_argument, NULL, 'f' },
		{ "exceptions", required_argument, NULL, 'e' },
		{ "max", required_argument, NULL, 'm' },
		{ "name", required_argument, NULL, 'n' },
		{ "signal", required_argument, NULL, 's' },
		{ "slot", required_argument, NULL, 'c' },
		{ "go", no_argument, NULL, 'g' },
		{ "record", required_argument, NULL, 'r' },
		{ "in", required_argument, NULL, 'i' },
		{ "skip", required_argument, NULL, 'k' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (c == 'f')
			s->from = optarg;
		else if (c == 'e')
			tally_load(&s->tally, optarg);
		else if (c == 'm')
			s->steps_max = strtoull(optarg, NULL, 10);
		else if (c == 's')
			s->signal_every = strtoull(optarg, NULL, 10);
		else if (c == 'c')
			stay_on(strtoul(optarg, NULL, 10));
		else if (c == 'n')
			s->name = optarg;
		else if (c == 'g')
			s->go = true;
		else if (c == 'r')
			s->record.path = optarg;
		else if (c == 'i')
			s->record.function = optarg;
		else if (c == 'k')
			s->record.skip = strtoul(optarg, NULL, 10);
		else
			usage();
	}
	if (optind == argc)
		usage();
	if (!s->name)
		s->name = argv[optind];
	s->record.title = s->name;
	if (!s->record.path != !s->record.function)
		usage();
}

int main(int argc, char **argv)
{
	struct stepper s = { .status = -1 };
	bool right;

	parse_options(&s, argc, argv);
	s.main = launch(argv + optind);
	task_add(&s, s.main);
	run(&s);
	right = tally_print(&s.tally, s.name);
	tally_done(&s.tally);
	objects_done(&s.objects);
	hash_done(&s.classes);
	vec_done(&s.tasks);
	if (s.status != 0) {
		fprintf(stderr, "step: %s ended with %d\n", s.name, s.status);
		return 3;
	}
	if (s.record.path && !s.record.done) {
		fprintf(stderr, "step: %s was not met: nothing is recorded\n", s.record.function);
		return 3;
	}
	return right && s.tally.instructions > 0 ? 0 : 1;
}
