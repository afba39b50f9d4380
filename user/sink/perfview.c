/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perfview.c - the archive that perfcollect makes and PerfView opens: the perf text and perf
 * maps. The text has the names of all frames. The maps list the sampled JIT code of each process,
 * for tools that look further, in plain hex, because PerfView refuses 0x. */
#include "sink/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "sink/zip.h"

#define FOLDER "stoker.trace/"
#define METHODS_MAX 1000000 /* of all processes; others are in the text alone */

struct method {
	int32_t pid;
	uint32_t name;
	uint64_t address;
};

struct perfview {
	struct zip zip;
	struct sink_out text;        /* the perf text on its way into the archive */
	struct sink_options options; /* of that text */
	void *perf;
	struct sink_out *out; /* of the call */
	bool begun;
	struct strtab names;
	struct hash known;
	VEC(struct method) methods;
};

static void view_free(void *state)
{
	struct perfview *w = state;

	if (!w)
		return;
	zip_done(&w->zip);
	perf_text_stream.free(w->perf);
	buf_done(&w->text.buf);
	strtab_done(&w->names);
	hash_done(&w->known);
	vec_done(&w->methods);
	free(w);
}

static int take_text(void *ctx, const struct buf *bytes)
{
	struct perfview *w = ctx;

	zip_put(&w->zip, bytes->data, bytes->len, &w->out->buf);
	return sink_out_more(w->out);
}

static int view_open(const struct sink_options *options, void **state)
{
	struct perfview *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->options = *options;
	w->options.perfview = true;
	if (strtab_init(&w->names) < 0 || perf_text_stream.open(&w->options, &w->perf) < 0) {
		view_free(w);
		return -ENOMEM;
	}
	w->text.take = take_text;
	w->text.ctx = w;
	*state = w;
	return 0;
}

static int note_method(struct perfview *w, int32_t pid, uint64_t address, const char *name)
{
	uint64_t key = hash_mix(address) ^ (uint32_t)pid;
	struct method *slot;

	if (hash_find(&w->known, key) || w->methods.len >= METHODS_MAX)
		return 0;
	slot = vec_add(&w->methods);
	if (!slot || hash_put(&w->known, key, 1) < 0)
		return -ENOMEM;
	slot->pid = pid;
	slot->address = address;
	return strtab_puts(&w->names, name, &slot->name);
}

static int note_methods(struct perfview *w, const struct profile *p)
{
	vec_each (&p->samples, sample) {
		const struct profile_stack *stack = &p->stacks.data[sample->stack];
		int32_t pid = profile_label_number(p, sample->labels, PROFILE_KEY_PID);

		for (uint32_t i = 0; i < stack->len && sample->kind == 0; i++) {
			const struct profile_frame *f = profile_stack_frame(p, sample->stack, i);

			if (f->class == PROFILE_JIT &&
				note_method(w, pid, f->address, profile_text(p, f->name)) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Passes the rest of the text on, or the error of the call that made it. */
static int pass_text(struct perfview *w, int err)
{
	buf_fail(&w->out->buf, err);
	take_text(w, &w->text.buf);
	buf_clear(&w->text.buf);
	return buf_err(&w->out->buf);
}

static int view_put(void *state, const struct profile *p, struct sink_out *out)
{
	struct perfview *w = state;

	w->out = out;
	buf_fail(&out->buf, note_methods(w, p));
	if (!w->begun)
		zip_begin(&w->zip, FOLDER "perf.data.txt", &out->buf);
	w->begun = true;
	return pass_text(w, perf_text_stream.put(w->perf, p, &w->text));
}

static int by_process(const void *a, const void *b)
{
	const struct method *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void put_map(struct perfview *w, size_t from, size_t to, struct sink_out *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char name[64];

	snprintf(name, sizeof(name), FOLDER "perf-%d.map", w->methods.data[from].pid);
	zip_begin(&w->zip, name, &out->buf);
	for (size_t i = from; i < to; i++) {
		const struct method *m = &w->methods.data[i];

		buf_printf(&text, "%llx 1 ", (unsigned long long)m->address);
		utf8_put_clean(&text, strtab_get(&w->names, m->name));
		buf_putc(&text, '\n');
	}
	buf_fail(&out->buf, buf_err(&text));
	zip_put(&w->zip, text.data, text.len, &out->buf);
	zip_end(&w->zip, &out->buf);
	sink_out_more(out);
}

static void put_maps(struct perfview *w, struct sink_out *out)
{
	size_t len = w->methods.len;

	if (len > 0)
		qsort(w->methods.data, len, sizeof(*w->methods.data), by_process);
	for (size_t at = 0; at < len;) {
		size_t from = at;

		while (at < len && w->methods.data[at].pid == w->methods.data[from].pid)
			at++;
		put_map(w, from, at, out);
	}
}

static int view_end(void *state, struct sink_out *out)
{
	struct perfview *w = state;

	w->out = out;
	if (w->begun) {
		pass_text(w, perf_text_stream.end(w->perf, &w->text));
		zip_end(&w->zip, &out->buf);
	}
	put_maps(w, out);
	return zip_finish(&w->zip, &out->buf);
}

const struct sink_stream perfview_stream = {
	.open = view_open,
	.put = view_put,
	.end = view_end,
	.free = view_free,
};
