/* SPDX-License-Identifier: Apache-2.0 */
/* agent/jit_advice.c - places are sorted by their owner, so those of a process follow each other.
 * The name of a process is its own choice, and is printed without its odd bytes. */
#include "agent/jit_advice.h"

#include <string.h>

#include "agent/naming_places.h"
#include "base/utf8.h"
#include "jit/jit_control.h"

#define JIT_ADVICE_PART 50 /* one frame in so many is worth a word */
#define OPTION "start it with " /* how a hint begins that names one */

void jit_advice_count(const struct naming *n, struct account_jit *most)
{
	uint64_t frames = 0, best_frames = 0, best = 0;
	struct processes_name process = { 0 };
	const uint64_t *all;

	for (size_t i = 0; i < n->places.len; i++) {
		const struct naming_place *place = &n->places.data[i];

		if (i == 0 || place->owner != place[-1].owner)
			frames = 0;
		if (place->source == UNNAMED(UNNAMED_NO_MAP))
			frames += place->samples;
		if (frames > best_frames) {
			best_frames = frames;
			best = place->owner & OWNER_ID_MASK;
		}
	}
	if (best_frames > 0)
		process = processes_name(n->processes, best);
	if (process.tgid == 0)
		return;
	all = hash_find(&n->frames_of, process.tgid);
	if (process.tgid == most->process.tgid) {
		most->frames += best_frames;
		most->all += all ? *all : best_frames;
		most->process = process; /* a JVM may be described by now */
	} else if (best_frames > most->frames) {
		*most = (struct account_jit){ best_frames, all ? *all : best_frames, process };
	}
}

/* Of .NET a program may have any name. */
static void put_remedy(const struct account_jit *jit, struct buf *out)
{
	const char *name = jit->process.name, *hint = jit_control_hint(name);
	unsigned int pid = jit->process.tgid;

	if (jit->process.is_described)
		buf_puts(out,
			"HotSpot needs no map;\n         they are mostly from before stoker had "
			"read where its code is");
	else if (hint && strncmp(hint, OPTION, strlen(OPTION)) == 0)
		buf_puts(out, hint);
	else if (strcmp(name, "dotnet") == 0)
		buf_printf(out,
			OPTION "DOTNET_PerfMapEnabled=3,\n         or without a restart, "
			       ".NET 8 and later: `stoker record -p %u --jit`",
			pid);
	else if (strcmp(name, "java") == 0)
		buf_printf(out,
			"HotSpot 17 and later\n         writes a map for `stoker record -p %u "
			"--jit`",
			pid);
	else
		buf_printf(out,
			"`stoker doctor %u` says how its runtime\n         writes a perf map; for "
			".NET and JVMs `stoker record -p %u --jit` has it written",
			pid, pid);
}

void jit_advice_put(const struct account *a, struct buf *out)
{
	uint64_t frames = a->frames_unnamed[UNNAMED_NO_MAP];
	const struct account_jit *jit = &a->unnamed_jit;

	if (frames == 0 || frames < a->frames_total / JIT_ADVICE_PART)
		return;
	buf_printf(out,
		"jit      %llu frames are code compiled at run time, without a perf map\n",
		(unsigned long long)frames);
	if (jit->process.tgid == 0)
		return;
	buf_puts(out, "         ");
	utf8_put_clean(out, jit->process.name);
	buf_printf(out, " %u: ", jit->process.tgid);
	buf_put_percent(out, jit->frames, jit->all);
	buf_puts(out, " % of its frames have no name: ");
	put_remedy(jit, out);
	buf_putc(out, '\n');
}
