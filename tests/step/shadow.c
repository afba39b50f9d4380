/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/shadow.c - follows control by what it did, not by what any table says.
 * A call is an instruction that is one and left the address behind it on the stack; its entry lives
 * until the return that takes it, or until the stack pointer has passed it. Whatever leaves entries
 * behind in another way than by return (longjmp, exceptions, contexts, signals), or goes where a
 * register says, is counted as a jump, so that the caller can tell when control was in flight. A
 * stack is known by its mapping: targets keep theirs apart by guard pages. Goroutines are known by
 * Go's records. */
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "goroutine.h"

static struct shadow_stack *stack_of(const struct shadow *s)
{
	return &s->stacks.data[s->now];
}

static struct shadow_entry *top_of(const struct shadow *s)
{
	struct shadow_stack *stack = stack_of(s);

	return stack->entries.len > 0 ? &stack->entries.data[stack->entries.len - 1] : NULL;
}

static void push(struct shadow *s, uint64_t slot, uint64_t pc, bool exact)
{
	struct shadow_entry *entry = vec_add(&stack_of(s)->entries);

	if (!entry)
		abort();
	*entry = (struct shadow_entry){ slot, pc, exact };
}

static void pop(struct shadow *s)
{
	stack_of(s)->entries.len--;
	s->in_register = false;
}

static bool here(const struct shadow *s, uint64_t addr)
{
	return addr >= s->low && addr < s->high;
}

/* Entries that the stack pointer has passed. A signal's lives until its frame is gone, which begins
 * behind the address of what the handler returns to. */
static void drop_passed(struct shadow *s, uint64_t sp)
{
	struct shadow_entry *top;

	while ((top = top_of(s)) && here(s, top->slot) && top->slot + (top->exact ? 8 : 0) < sp) {
		pop(s);
		s->jumps++;
	}
}

/* The key of the list of what runs there. */
static uint64_t find_region(struct shadow *s, struct space *space, uint64_t sp)
{
	const struct mapping *m = space_find(space, sp);
	struct goroutine goroutine;

	if (s->thread_base && goroutine_find(space, s->thread_base, sp, &goroutine)) {
		s->low = goroutine.low;
		s->high = goroutine.high;
		return goroutine.g;
	}
	if (!m) {
		fprintf(stderr, "step: the stack pointer %#lx is in no mapping\n", (long)sp);
		exit(2);
	}
	s->low = m->start;
	s->high = m->end;
	return m->end;
}

static void add_stack(struct shadow *s, uint64_t home)
{
	struct shadow_stack *stack = vec_add(&s->stacks);

	if (!stack)
		abort();
	stack->home = home;
	stack->low = s->low;
	stack->high = s->high;
	s->now = s->stacks.len - 1;
}

static void go_to_list(struct shadow *s, uint64_t home)
{
	for (s->now = 0; s->now < s->stacks.len; s->now++) {
		if (stack_of(s)->home == home)
			return;
	}
	add_stack(s, home);
}

static bool reaches_here(const struct shadow *s)
{
	if (stack_of(s)->home == s->high)
		return true;
	vec_each (&stack_of(s)->entries, entry) {
		if (here(s, entry->slot))
			return true;
	}
	return false;
}

/* sp is in another mapping: back on a stack that this list began on, or on another list's. */
static void change_stack(struct shadow *s, struct space *space, uint64_t sp)
{
	uint64_t was = s->high;
	struct shadow_entry *top;

	find_region(s, space, sp);
	if (s->high == was)
		return;
	s->jumps++;
	s->in_register = false;
	if (reaches_here(s)) {
		while ((top = top_of(s)) && !here(s, top->slot))
			pop(s);
		return;
	}
	go_to_list(s, s->high);
}

/* The same in a Go thread. A goroutine that is resumed may have been moved meanwhile. */
static void change_goroutine(struct shadow *s, struct space *space, const struct shadow_step *step)
{
	uint64_t home = find_region(s, space, step->next_sp);
	struct shadow_stack *stack;
	struct shadow_entry *top;

	s->jumps++;
	s->in_register = false;
	switch (goroutine_change_at(space, step->pc)) {
	case GOROUTINE_NESTS:
		return;
	case GOROUTINE_LEAVES:
		go_to_list(s, home);
		stack_of(s)->entries.len = 0;
		return;
	case GOROUTINE_RESUMES:
		go_to_list(s, home);
	}
	stack = stack_of(s);
	vec_each (&stack->entries, entry) {
		if (entry->slot >= stack->low && entry->slot < stack->high)
			entry->slot += s->high - stack->high;
	}
	stack->low = s->low;
	stack->high = s->high;
	while ((top = top_of(s)) && !here(s, top->slot))
		pop(s);
}

static uint64_t word_at(const struct space *space, uint64_t addr)
{
	uint64_t word = 0;

	space_read(space, addr, &word, sizeof(word));
	return word;
}

static void step_return(struct shadow *s, struct space *space, const struct shadow_step *step)
{
	struct shadow_entry *top = top_of(s);
	const struct mapping *m;
	uint64_t word;

	if (top && top->slot == step->sp && !top->exact) {
		s->jumps += top->pc != step->next_pc;
		pop(s);
		return;
	}
	s->jumps++;
	drop_passed(s, step->next_sp);
	if (top_of(s))
		return;
	/* A context's first function: what it returns to was written, not called. */
	word = word_at(space, step->next_sp);
	m = space_find(space, word);
	if (m && m->executable)
		push(s, step->next_sp, word, false);
}

/* Between a pop of the return address into a register, and its use. */
static void step_in_register(struct shadow *s, struct space *space, const struct shadow_step *step)
{
	struct shadow_entry *top = top_of(s);

	if (step->next_pc == top->pc)
		pop(s);
	else if (step->next_sp <= top->slot && word_at(space, top->slot) == top->pc)
		s->in_register = false;
	else if (step->next_sp <= top->slot)
		pop(s);
}

static void step_signal_return(struct shadow *s, struct space *space, uint64_t sp)
{
	struct shadow_entry *top;

	find_region(s, space, sp);
	s->jumps++;
	while ((top = top_of(s)) && !top->exact)
		pop(s);
	if (top)
		pop(s);
}

void shadow_step(struct shadow *s, struct space *space, const struct shadow_step *step)
{
	struct shadow_entry *top = top_of(s);

	if (step->class == INSN_SYSCALL && step->syscall == SYS_rt_sigreturn) {
		step_signal_return(s, space, step->next_sp);
		return;
	}
	s->jumps += step->class == INSN_JUMP;
	if (!here(s, step->next_sp) && s->thread_base)
		change_goroutine(s, space, step);
	else if (!here(s, step->next_sp))
		change_stack(s, space, step->next_sp);
	if (step->class == INSN_RET) {
		step_return(s, space, step);
	} else if (step->class == INSN_CALL && step->next_sp == step->sp - 8) {
		if (s->in_register)
			pop(s);
		push(s, step->next_sp, word_at(space, step->next_sp), false);
	} else if (s->in_register) {
		step_in_register(s, space, step);
	} else if (top && top == top_of(s) && top->slot == step->sp && !top->exact &&
		step->next_sp == step->sp + 8) {
		s->in_register = word_at(space, top->slot) == top->pc;
	}
	drop_passed(s, step->next_sp - (s->in_register ? 8 : 0));
}

void shadow_signal(struct shadow *s, struct space *space, uint64_t pc, uint64_t sp)
{
	push(s, sp, pc, true);
	push(s, sp, word_at(space, sp), false);
	find_region(s, space, sp);
}

void shadow_chain(const struct shadow *s, uint64_t pc, struct chain *out)
{
	struct shadow_stack *stack = stack_of(s);

	out->at[0] = pc;
	out->len = 1;
	for (size_t i = stack->entries.len; i > 0 && out->len < STACK_USER_FRAMES_MAX; i--) {
		struct shadow_entry *entry = &stack->entries.data[i - 1];

		out->at[out->len++] = entry->pc - !entry->exact;
	}
}

void shadow_start(struct shadow *s, struct space *space, uint64_t sp, const struct chain *as)
{
	uint64_t slots[STACK_USER_FRAMES_MAX], thread_base = s->thread_base;

	shadow_done(s);
	s->thread_base = thread_base;
	add_stack(s, find_region(s, space, sp));
	for (size_t i = 1; as && i < as->len; i++, sp += 8) {
		while (here(s, sp) && word_at(space, sp) != as->at[i] + 1)
			sp += 8;
		slots[i] = sp;
	}
	for (size_t i = as ? as->len - 1 : 0; i > 0; i--)
		push(s, slots[i], as->at[i] + 1, false);
}

void shadow_copy(struct shadow *to, const struct shadow *from)
{
	shadow_done(to);
	*to = *from;
	to->stacks.data = NULL;
	to->stacks.len = to->stacks.cap = 0;
	vec_each (&from->stacks, stack) {
		struct shadow_stack *copy = vec_add(&to->stacks);

		if (!copy)
			abort();
		copy->home = stack->home;
		vec_each (&stack->entries, entry) {
			struct shadow_entry *added = vec_add(&copy->entries);

			if (!added)
				abort();
			*added = *entry;
		}
	}
}

void shadow_done(struct shadow *s)
{
	vec_each (&s->stacks, stack)
		vec_done(&stack->entries);
	vec_done(&s->stacks);
	*s = (struct shadow){ 0 };
}
