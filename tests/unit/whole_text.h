/* SPDX-License-Identifier: Apache-2.0 */
/* whole_text.h - all of a profile as text, in which ids have become what they stand for. */
#pragma once

#include <inttypes.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "unit.h"

static inline void put_whole_frame(
	const struct profile *p, const struct profile_frame *f, struct buf *out)
{
	buf_printf(out, " [%s %#" PRIx64 " %s %s:%u %u", profile_text(p, f->name), f->address,
		profile_text(p, f->module), profile_text(p, f->file), f->line, f->class);
	if (f->object > 0)
		buf_printf(out, " %s %s",
			profile_text(p, p->objects.data[f->object - 1].path),
			profile_text(p, p->objects.data[f->object - 1].build_id));
	buf_puts(out, "]");
}

static inline void put_whole_stack(const struct profile *p, uint32_t stack, struct buf *out)
{
	for (uint32_t i = 0; i < p->stacks.data[stack].len; i++)
		put_whole_frame(p, profile_stack_frame(p, stack, i), out);
}

static inline void put_whole_labels(const struct profile *p, uint32_t id, struct buf *out)
{
	struct profile_labels set;

	profile_labels_get(p, id, &set);
	for (uint32_t i = 0; i < set.len; i++)
		if (profile_key_is_number(set.list[i].key))
			buf_printf(out, " %s=%u", profile_key_name(p, set.list[i].key),
				set.list[i].value);
		else
			buf_printf(out, " %s=%s", profile_key_name(p, set.list[i].key),
				profile_text(p, set.list[i].value));
}

static inline void put_whole_sample(
	const struct profile *p, const struct profile_sample *sample, struct buf *out)
{
	buf_printf(out, "%s %" PRIu64, profile_kind_name(p, sample->kind), sample->value);
	put_whole_labels(p, sample->labels, out);
	put_whole_stack(p, sample->stack, out);
	buf_putc(out, '\n');
}

static inline void put_whole(const struct profile *p, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", p->start_ns, p->start_tick_ns,
		p->duration_ns, profile_text(p, p->account));
	for (uint32_t i = 0; i < p->kinds_len; i++)
		buf_printf(out, "kind %s %s %u %" PRIu64 "\n", profile_kind_name(p, i),
			profile_kind_unit(p, i), p->kinds[i].scale, p->kinds[i].period_ns);
	vec_each (&p->samples, sample)
		put_whole_sample(p, sample, out);
	vec_each (&p->ticks, tick)
		buf_printf(out, "tick %" PRIu64 " %u %u\n", tick->time_ns, tick->sample,
			tick->cpu);
	vec_each (&p->events, event) {
		buf_printf(out, "event %" PRIu64 " %" PRIu64 " %s", event->time_ns,
			event->duration_ns, profile_text(p, event->text));
		put_whole_labels(p, event->labels, out);
		if (event->stack != PROFILE_NO_STACK)
			put_whole_stack(p, event->stack, out);
		buf_putc(out, '\n');
	}
	assert_int_equal(buf_err(out), 0);
}
