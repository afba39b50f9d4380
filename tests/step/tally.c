/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/tally.c - blames the function whose frame was stepped wrongly: the last one that both
 * chains agree on. */
#include "tally.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/reasons.h"

#define SHOWN_FRAMES 12
#define SHOWN_MAX 3

static const char *const ends[] = {
#define X(id, name, text) [id] = name,
	STACK_ENDS(X)
#undef X
};

void tally_load(struct tally *tally, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];
	unsigned int number = 0;

	if (!file) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), file)) {
		struct exception e = { .line = ++number };
		struct exception *slot;

		if (line[0] == '#' ||
			sscanf(line, "%ms %ms %ms %m[^\n]", &e.object, &e.function, &e.outcome,
				&e.reason) != 4) {
			free(e.object), free(e.function), free(e.outcome);
			continue;
		}
		slot = vec_add(&tally->exceptions);
		*slot = e;
	}
	fclose(file);
}

static const struct exception *find_exception(
	const struct tally *t, const char *object, const char *function, const char *outcome)
{
	vec_each (&t->exceptions, e) {
		if (fnmatch(e->object, object, 0) == 0 && fnmatch(e->function, function, 0) == 0 &&
			fnmatch(e->outcome, outcome, 0) == 0)
			return e;
	}
	return NULL;
}

struct name {
	const char *object, *function;
	uint64_t offset;
};

static struct name name_of(struct space *space, uint64_t pc)
{
	const struct mapping *m = space_find(space, pc);
	struct name name = { "?", "?", pc };

	if (m && m->object) {
		name.object = m->object->name;
		name.function =
			object_symbol(m->object, pc - m->start + m->file_offset, &name.offset);
	}
	return name;
}

static void show_chain(
	struct space *space, const char *title, const struct chain *chain, uint32_t from)
{
	uint32_t first = from > 2 ? from - 2 : 0;

	fprintf(stderr, "  %s: %u frames\n", title, chain->len);
	for (uint32_t i = first; i < chain->len && i < first + SHOWN_FRAMES; i++) {
		struct name name = name_of(space, chain->at[i]);

		fprintf(stderr, "    #%u %#" PRIx64 " %s+%#" PRIx64 " (%s)\n", i, chain->at[i],
			name.function, name.offset, name.object);
	}
}

/* The first frame that is not as it must be; seen->len where the walk only stopped too soon. */
static uint32_t first_difference(const struct chain *seen, const struct chain *want)
{
	uint32_t i = 1;

	while (i < seen->len && i < want->len && seen->at[i] == want->at[i])
		i++;
	return i;
}

static struct failure *failure_of(struct tally *t, const struct name *name, const char *outcome)
{
	struct failure *added;

	vec_each (&t->failures, f) {
		if (f->object == name->object && f->function == name->function &&
			f->outcome == outcome)
			return f;
	}
	added = vec_add(&t->failures);
	*added = (struct failure){ .object = name->object,
		.function = name->function,
		.outcome = outcome,
		.exception = find_exception(t, name->object, name->function, outcome) };
	return added;
}

void tally_fail(
	struct tally *t, struct space *space, const struct chain *seen, const struct chain *want)
{
	uint32_t at = first_difference(seen, want);
	bool stopped = at == seen->len && seen->end != END_ROOT;
	const char *outcome = stopped ? ends[seen->end] : "chain";
	struct name name = name_of(space, seen->at[at - 1]);
	struct failure *f = failure_of(t, &name, outcome);

	f->count++;
	if (f->exception || f->count > SHOWN_MAX)
		return;
	fprintf(stderr, "step: %s at %s+%#" PRIx64 " (%s), walk ended by %s\n", outcome,
		name.function, name.offset, name.object, ends[seen->end]);
	show_chain(space, "walked", seen, at);
	show_chain(space, "true", want, at);
}

bool tally_print(const struct tally *t, const char *name)
{
	uint64_t excepted = 0, wrong = 0;

	vec_each (&t->failures, f)
		*(f->exception ? &excepted : &wrong) += f->count;
	printf("%s: %" PRIu64 " instructions, %" PRIu64 " root, %" PRIu64 " equal, %" PRIu64
	       " in flight, %" PRIu64 " excepted, %" PRIu64 " wrong\n",
		name, t->instructions, t->root, t->equal, t->in_flight, excepted, wrong);
	vec_each (&t->failures, f)
		printf("  %s %s %s %s %" PRIu64 " line %u\n", f->exception ? "excepted" : "WRONG",
			f->object, f->function, f->outcome, f->count,
			f->exception ? f->exception->line : 0);
	return wrong == 0;
}

void tally_done(struct tally *t)
{
	vec_each (&t->exceptions, e) {
		free(e->object);
		free(e->function);
		free(e->outcome);
		free(e->reason);
	}
	vec_done(&t->exceptions);
	vec_done(&t->failures);
}
