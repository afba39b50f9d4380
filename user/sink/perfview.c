/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perfview.c - the archive that perfcollect makes and PerfView opens: the perf text, and
 * beside it the perf maps. Frames have their names in the text; the maps are what was sampled of
 * each process's JIT code, for whoever looks further, in plain hex, as PerfView refuses 0x. */
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
	struct sink_out text; /* the perf text on its way into the archive */
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
	int err = zip_put(&w->zip, bytes->data, bytes->len, &w->out->buf);

	return err < 0 ? err : sink_out_more(w->out);
}

static int view_open(const struct sink_options *options, void **state)
{
	struct perfview *w = calloc(1, sizeof(*w));
	int err = w ? strtab_init(&w->names) : -ENOMEM;

	if (err == 0)
		err = perf_text_stream.open(options, &w->perf);
	if (err < 0) {
		view_free(w);
		return err;
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
	int err;

	if (hash_find(&w->known, key) || w->methods.len >= METHODS_MAX)
		return 0;
	slot = vec_add(&w->methods);
	err = slot ? hash_put(&w->known, key, 1) : -ENOMEM;
	if (err == 0) {
		slot->pid = pid;
		slot->address = address;
		err = strtab_puts(&w->names, name, &slot->name);
	}
	return err;
}

static int note_methods(struct perfview *w, const struct profile *p)
{
	int err = 0;

	vec_each (&p->samples, sample) {
		const struct profile_stack *stack = &p->stacks.data[sample->stack];
		int32_t pid = p->labels.data[sample->labels].pid;

		for (uint32_t i = 0; i < stack->len && err == 0; i++) {
			const struct profile_frame *f = profile_stack_frame(p, sample->stack, i);

			if (f->class == PROFILE_JIT)
				err = note_method(w, pid, f->address, profile_text(p, f->name));
		}
	}
	return err;
}

static int view_put(void *state, const struct profile *p, struct sink_out *out)
{
	struct perfview *w = state;
	int err = note_methods(w, p);

	w->out = out;
	if (err == 0 && !w->begun)
		err = zip_begin(&w->zip, FOLDER "perf.data.txt", &out->buf);
	w->begun = true;
	if (err == 0)
		err = perf_text_stream.put(w->perf, p, &w->text);
	if (err == 0)
		err = take_text(w, &w->text.buf);
	buf_clear(&w->text.buf);
	return err;
}

static int by_process(const void *a, const void *b)
{
	const struct method *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int put_map(struct perfview *w, size_t from, size_t to, struct sink_out *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char name[64];
	int err;

	snprintf(name, sizeof(name), FOLDER "perf-%d.map", w->methods.data[from].pid);
	err = zip_begin(&w->zip, name, &out->buf);
	for (size_t i = from; i < to && err == 0; i++) {
		const struct method *m = &w->methods.data[i];

		err = buf_printf(&text, "%llx 1 ", (unsigned long long)m->address);
		if (err == 0)
			err = utf8_put_clean(&text, strtab_get(&w->names, m->name));
		if (err == 0)
			err = buf_putc(&text, '\n');
	}
	if (err == 0)
		err = zip_put(&w->zip, text.data, text.len, &out->buf);
	if (err == 0)
		err = zip_end(&w->zip, &out->buf);
	return err < 0 ? err : sink_out_more(out);
}

static int put_maps(struct perfview *w, struct sink_out *out)
{
	size_t len = w->methods.len;
	int err = 0;

	if (len > 0)
		qsort(w->methods.data, len, sizeof(*w->methods.data), by_process);
	for (size_t at = 0; at < len && err == 0;) {
		size_t from = at;

		while (at < len && w->methods.data[at].pid == w->methods.data[from].pid)
			at++;
		err = put_map(w, from, at, out);
	}
	return err;
}

static int view_end(void *state, struct sink_out *out)
{
	struct perfview *w = state;
	int err = w->begun ? zip_end(&w->zip, &out->buf) : 0;

	if (err == 0)
		err = put_maps(w, out);
	return err < 0 ? err : zip_finish(&w->zip, &out->buf);
}

const struct sink_stream perfview_stream = {
	.open = view_open,
	.put = view_put,
	.end = view_end,
	.free = view_free,
};
