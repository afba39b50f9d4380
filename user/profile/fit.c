/* SPDX-License-Identifier: Apache-2.0 */
/* profile/fit.c - an account pays for a line of text once, however many stacks of other addresses
 * read the same. In packed text it pays for a name once, and for each frame that no other
 * sample of it has below the same callers: that is what a compressor has to keep. How far its names
 * can be packed is tried with some of them, if all names in full are too much: names of programs
 * become a third, random ones do not. Samples are taken in the order of accounts, the largest
 * values first, so what is left out are the rare stacks. Names up to 96 bytes are never cut: real
 * programs have many. Labels count, too: who is in a container makes as many cgroups as he likes,
 * and each has a group of the store's segments. */
#include "profile/fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/own.h"
#include "base/share.h"

#define LINE_BYTES 6 /* of a sample, and of a frame that is named already, when they are packed */
#define FRAME_BYTES 2
#define GROUP_BYTES 256 /* of a container, beside its name, in a segment's head and the index */
#define TRIED_BYTES 32768 /* of an account's names */
#define TRIED_LEVEL 3

static const uint32_t limits_of_names[] = { 1024, 256, 96 };

struct turn {
	uint64_t account;
	uint64_t value; /* CPU samples; 1 for a stack of another kind */
	double part;    /* of all values of its kind */
	uint32_t sample;
	bool cpu; /* a CPU sample: those lose their stacks last, whatever else there is */
};

struct fit {
	struct profile *p;
	const struct fit_accounts *accounts;
	struct fit_result *result;
	bool packed;         /* what is measured: the packed size, or the text */
	uint64_t max;        /* limit of the text */
	struct turn *turns;  /* one for each sample, by account */
	uint32_t *lens;      /* of strings */
	bool *own;           /* names that only accounts above their share have */
	struct share share;  /* what each account holds */
	struct hash callers; /* of the current account: frames from the root on, or lines */
	struct hash names;   /* the strings */
	char *tried;         /* names that are packed to see what that gains; NULL: in full */
	char *packed_names;
	uint32_t permille; /* of a name's length that the current account's take */
	uint64_t *lines;   /* of the text: each sample's hash; two that read the same have one */
};

static void fit_done(struct fit *f)
{
	free(f->turns);
	free(f->lines);
	free(f->lens);
	free(f->own);
	free(f->tried);
	free(f->packed_names);
	share_done(&f->share);
	hash_done(&f->callers);
	hash_done(&f->names);
}

static uint64_t account_of(const struct fit *f, uint32_t labels)
{
	return labels < f->accounts->len ? f->accounts->by_labels[labels] : 0;
}

static int by_account(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->account != y->account)
		return x->account < y->account ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu ? -1 : 1;
	if (x->part != y->part)
		return x->part > y->part ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Leaving out adds strings. */
static int measure_strings(struct fit *f)
{
	size_t len = f->p->strings.len + 1;
	uint32_t *lens = realloc(f->lens, len * sizeof(*lens));
	bool *own = lens ? realloc(f->own, len * sizeof(*own)) : NULL;

	f->lens = lens ? lens : f->lens;
	f->own = own ? own : f->own;
	if (!own)
		return -ENOMEM;
	for (uint32_t id = 0; id < f->p->strings.len; id++)
		f->lens[id] = (uint32_t)strlen(profile_text(f->p, id));
	return 0;
}

/* Kinds have units of their own: their samples are compared by what part of its kind each is. */
static int fit_init(struct fit *f)
{
	const struct profile *p = f->p;
	double totals[PROFILE_KINDS_MAX];

	for (uint32_t kind = 0; kind < p->kinds_len; kind++)
		totals[kind] = (double)profile_kind_total(p, kind);
	f->turns = calloc(p->samples.len + 1, sizeof(*f->turns));
	if (!f->turns)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->samples.len; i++) {
		const struct profile_sample *sample = &p->samples.data[i];

		f->turns[i] = (struct turn){ .account = account_of(f, sample->labels),
			.value = sample->kind == 0 ? sample->value : 1,
			.part = (double)sample->value / (totals[sample->kind] + 1),
			.sample = i,
			.cpu = sample->kind == 0 };
	}
	qsort(f->turns, p->samples.len, sizeof(*f->turns), by_account);
	return 0;
}

/* ---- what a sample takes ----------------------------------------------------------------------
 */

static const struct profile_sample *sample_of(const struct fit *f, const struct turn *turn)
{
	return &f->p->samples.data[turn->sample];
}

#define WELL_KNOWN PROFILE_KEY_PID      /* number of the well-known labels that are texts */
#define LABELS_MAX (WELL_KNOWN + 2 * PROFILE_FREE_MAX)

/* Strings of the labels: the well-known ones, known or not; then keys and values of free ones.
 * Returns their number. */
static uint32_t labels_of(
	const struct fit *f, const struct profile_sample *sample, uint32_t out[LABELS_MAX])
{
	struct profile_labels labels;
	uint32_t len = WELL_KNOWN;

	memset(out, 0, WELL_KNOWN * sizeof(*out));
	profile_labels_get(f->p, sample->labels, &labels);
	for (uint32_t i = 0; i < labels.len; i++) {
		const struct profile_label *label = &labels.list[i];

		if (label->key < WELL_KNOWN)
			out[label->key] = label->value;
		if (label->key < PROFILE_KEYS)
			continue;
		out[len++] = f->p->free_keys.data[label->key - PROFILE_KEYS];
		out[len++] = label->value;
	}
	return len;
}

static uint64_t line_hash(const struct profile *p, const struct profile_sample *sample)
{
	uint32_t len = p->stacks.data[sample->stack].len;
	uint64_t hash = hash_mix(sample->labels + 1);

	for (uint32_t i = 0; i < len; i++) {
		const struct profile_frame *frame = profile_stack_frame(p, sample->stack, i);

		hash = hash_mix(hash + ((uint64_t)frame->class << 32 | frame->name) + 1);
	}
	return hash;
}

/* Cutting a name leaves its id as it is, so one pass is enough for all limits of names. */
static int hash_lines(struct fit *f)
{
	f->lines = calloc(f->p->samples.len + 1, sizeof(*f->lines));
	if (!f->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->p->samples.len; i++)
		f->lines[i] = line_hash(f->p, &f->p->samples.data[i]);
	return 0;
}

static uint64_t line_of(const struct fit *f, const struct profile_sample *sample)
{
	return f->lines[sample - f->p->samples.data];
}

/* A line that the account has takes no more. */
static uint64_t text_bytes(const struct fit *f, const struct profile_sample *sample)
{
	uint32_t len = f->p->stacks.data[sample->stack].len, labels[LABELS_MAX], labels_len;
	uint64_t sum = 0;

	if (hash_find(&f->callers, line_of(f, sample)))
		return 0;
	labels_len = labels_of(f, sample, labels);
	for (uint32_t i = 0; i < labels_len; i++)
		sum += f->lens[labels[i]] + 1;
	for (uint32_t i = 0; i < len; i++)
		sum += f->lens[profile_stack_frame(f->p, sample->stack, i)->name] + 1;
	return sum;
}

/* A name that the account does not have yet. */
static uint64_t name_bytes(const struct fit *f, uint32_t name)
{
	if (hash_find(&f->names, name))
		return 0;
	return f->tried ? (uint64_t)f->lens[name] * f->permille / 1000 + 1 : f->lens[name];
}

/* Beyond what the account has. A name that is twice in the stack counts twice. */
static uint64_t packed_bytes(const struct fit *f, const struct profile_sample *sample)
{
	const struct profile_stack *stack = &f->p->stacks.data[sample->stack];
	uint64_t sum = LINE_BYTES, callers = 0;
	uint32_t labels[LABELS_MAX], labels_len = labels_of(f, sample, labels);

	for (uint32_t i = 0; i < labels_len; i++)
		sum += name_bytes(f, labels[i]);
	if (!hash_find(&f->names, labels[0]))
		sum += GROUP_BYTES + 2ULL * f->lens[labels[0]];

	for (uint32_t i = stack->len; i-- > 0;) {
		uint32_t name = profile_stack_frame(f->p, sample->stack, i)->name;

		callers = hash_mix(callers + f->p->frame_ids.data[stack->first + i] + 1);
		if (hash_find(&f->callers, callers))
			continue;
		sum += FRAME_BYTES + name_bytes(f, name);
	}
	return sum;
}

/* The account has it from now on. */
static int have(struct fit *f, const struct profile_sample *sample)
{
	const struct profile_stack *stack = &f->p->stacks.data[sample->stack];
	uint32_t labels[LABELS_MAX], labels_len;
	uint64_t callers = 0;
	int err = 0;

	if (!f->packed)
		return hash_put(&f->callers, line_of(f, sample), 0);
	labels_len = labels_of(f, sample, labels);
	for (uint32_t i = 0; i < labels_len && err == 0; i++)
		err = hash_put(&f->names, labels[i], 0);
	for (uint32_t i = stack->len; i-- > 0 && err == 0;) {
		callers = hash_mix(callers + f->p->frame_ids.data[stack->first + i] + 1);
		err = hash_put(&f->callers, callers, 0);
		if (err == 0)
			err = hash_put(
				&f->names, profile_stack_frame(f->p, sample->stack, i)->name, 0);
	}
	return err;
}

static uint64_t bytes_of(const struct fit *f, const struct turn *turn)
{
	return f->packed ? packed_bytes(f, sample_of(f, turn)) : text_bytes(f, sample_of(f, turn));
}

/* Appends the names of a sample that are not tried yet to those that are. */
static size_t put_tried(struct fit *f, const struct profile_sample *sample, size_t at)
{
	uint32_t len = f->p->stacks.data[sample->stack].len;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t name = profile_stack_frame(f->p, sample->stack, i)->name;

		if (hash_find(&f->names, name) || f->lens[name] > TRIED_BYTES - at)
			continue;
		memcpy(f->tried + at, profile_text(f->p, name), f->lens[name]);
		at += f->lens[name];
		(void)hash_put(&f->names, name, 0);
	}
	return at;
}

/* The first of an account's turns comes. */
static void begin_account(struct fit *f, size_t first)
{
	size_t len = 0, packed;

	hash_clear(&f->callers);
	hash_clear(&f->names);
	if (!f->tried)
		return;
	for (size_t i = first; i < f->p->samples.len && len < TRIED_BYTES / 2 &&
		f->turns[i].account == f->turns[first].account;
		i++)
		len = put_tried(f, sample_of(f, &f->turns[i]), len);
	packed = ZSTD_compress(
		f->packed_names, ZSTD_COMPRESSBOUND(TRIED_BYTES), f->tried, len, TRIED_LEVEL);
	f->permille =
		ZSTD_isError(packed) || packed > len ? 1000 : (uint32_t)(packed * 1000 / (len + 1));
	hash_clear(&f->names);
}

static int begin_trying(struct fit *f)
{
	f->tried = malloc(TRIED_BYTES);
	f->packed_names = malloc(ZSTD_COMPRESSBOUND(TRIED_BYTES));
	return f->tried && f->packed_names ? 0 : -ENOMEM;
}

/* Measures the text of each account. No account's share is above the limit, so beyond it one is not
 * measured further: this bounds the memory, too. */
static int measure(struct fit *f)
{
	int err = 0;

	share_clear(&f->share);
	for (size_t i = 0; i < f->p->samples.len && err == 0; i++) {
		const struct turn *turn = &f->turns[i];

		if (i == 0 || turn->account != turn[-1].account)
			begin_account(f, i);
		if (share_held(&f->share, turn->account) > f->max)
			continue;
		err = share_charge(&f->share, turn->account, bytes_of(f, turn));
		if (err == 0)
			err = have(f, sample_of(f, turn));
	}
	return err;
}

/* ---- names that are cut ------------------------------------------------------------------------
 */

static bool is_over(const struct fit *f, const struct turn *turn, uint64_t level)
{
	return share_held(&f->share, turn->account) > level;
}

static void mark_names(struct fit *f, const struct turn *turn, bool own)
{
	const struct profile_sample *sample = sample_of(f, turn);
	uint32_t len = f->p->stacks.data[sample->stack].len;

	for (uint32_t i = 0; i < len; i++)
		f->own[profile_stack_frame(f->p, sample->stack, i)->name] = own;
}

/* Marks all names of accounts above their share, then unmarks those that other accounts have. */
static void find_own_names(struct fit *f, uint64_t level)
{
	memset(f->own, 0, f->p->strings.len * sizeof(*f->own));
	for (int others = 0; others <= 1; others++)
		for (size_t i = 0; i < f->p->samples.len; i++)
			if (is_over(f, &f->turns[i], level) == !others)
				mark_names(f, &f->turns[i], !others);
	vec_each (&f->p->label_list, label)
		if (!profile_key_is_number(label->key))
			f->own[label->value] = false;
	vec_each (&f->p->free_keys, name)
		f->own[*name] = false;
}

/* ---- stacks that are left out ------------------------------------------------------------------
 */

/* `OUTER/INNER`, and `/FIRST/..` of a cgroup without another name: the part that no container and
 * no user chose. */
static size_t outer_len(const char *label)
{
	size_t len = label[0] == '/';

	return len + strcspn(label + len, "/");
}

/* A container that is named already in what is kept of the account has its labels; others below the
 * same one have none of their own. */
static int set_container(struct fit *f, struct profile_labels *labels, uint32_t container)
{
	const char *label = profile_text(f->p, container);
	size_t len = outer_len(label);
	char text[256];

	if (hash_find(&f->names, container) || label[len] == '\0')
		return 0;
	for (uint32_t key = PROFILE_KEY_POD; key <= PROFILE_KEY_UNIT; key++)
		profile_labels_set(labels, key, 0);
	snprintf(text, sizeof(text), "%.*s/%s", (int)(len < 200 ? len : 200), label,
		PROFILE_NAMES_LEFT_OUT);
	return profile_labels_text(f->p, labels, PROFILE_KEY_CONTAINER, text);
}

/* A program chooses its command's name, how many processes it has, and free labels. */
static int set_labels(struct fit *f, struct profile_sample *sample)
{
	struct profile_labels labels;
	uint32_t container = profile_label(f->p, sample->labels, PROFILE_KEY_CONTAINER);
	uint32_t comm = profile_label(f->p, sample->labels, PROFILE_KEY_COMM);
	int err;

	profile_labels_get(f->p, sample->labels, &labels);
	while (labels.len > 0 && labels.list[labels.len - 1].key >= PROFILE_KEYS)
		labels.len--;
	err = set_container(f, &labels, container);
	if (!hash_find(&f->names, comm))
		profile_labels_set(&labels, PROFILE_KEY_COMM, 0);
	profile_labels_set_number(&labels, PROFILE_KEY_PID, -1);
	profile_labels_set_number(&labels, PROFILE_KEY_TID, -1);
	return err < 0 ? err : profile_labels(f->p, &labels, &sample->labels);
}

static int leave_out(struct fit *f, const struct turn *turn)
{
	struct profile_sample *sample = &f->p->samples.data[turn->sample];
	struct profile_frame mark = { .class = PROFILE_MARK };
	uint32_t frame;
	int err = profile_string(f->p, PROFILE_NAMES_LEFT_OUT, &mark.name);

	if (err == 0)
		err = profile_frame(f->p, &mark, &frame);
	if (err == 0)
		err = profile_stack(f->p, &frame, 1, &sample->stack);
	return err < 0 ? err : set_labels(f, sample);
}

/* Each account above the level keeps what fits, the largest samples first. */
static int leave_out_above(struct fit *f, uint64_t level)
{
	uint64_t kept = 0, lost = 0, most = 0;
	int err = 0;

	for (size_t i = 0; i < f->p->samples.len && err == 0; i++) {
		const struct turn *turn = &f->turns[i];
		uint32_t labels = sample_of(f, turn)->labels;
		uint64_t bytes;

		if (i == 0 || turn->account != turn[-1].account) {
			begin_account(f, i);
			kept = lost = 0;
		}
		if (!is_over(f, turn, level))
			continue;
		bytes = bytes_of(f, turn);
		if (kept + bytes <= level) {
			kept += bytes;
			err = have(f, sample_of(f, turn));
			continue;
		}
		lost += turn->value;
		f->result->samples_left_out += turn->value;
		if (lost > most) {
			most = lost;
			f->result->largest = labels;
		}
		err = leave_out(f, turn);
	}
	return err;
}

/* ---- both limits --------------------------------------------------------------------------------
 */

/* Cuts names to the next limit that cuts any. False: none does. */
static bool cut_names(struct fit *f, uint64_t level, size_t *limit)
{
	uint64_t cut = 0;

	find_own_names(f, level);
	while (cut == 0 && *limit < ARRAY_SIZE(limits_of_names))
		cut = strtab_cut(&f->p->strings, limits_of_names[(*limit)++], f->own);
	f->result->names_cut += cut;
	return cut > 0;
}

static int fit_to(struct fit *f, bool packed, uint64_t max)
{
	uint64_t level = 0;
	int err = packed ? 0 : hash_lines(f);

	f->packed = packed;
	f->max = max;
	for (size_t limit = 0;;) {
		if (err == 0)
			err = measure_strings(f);
		if (err == 0)
			err = measure(f);
		if (err == 0)
			err = share_level(&f->share, max, &level);
		if (err == 0 && level != SHARE_UNBOUND && packed && !f->tried) {
			err = begin_trying(f);
			if (err == 0)
				continue;
		}
		if (err < 0 || level == SHARE_UNBOUND)
			return err;
		if (!cut_names(f, level, &limit))
			return leave_out_above(f, level);
	}
}

int profile_fit(struct profile *profile, const struct fit_accounts *accounts,
	const struct fit_limits *limits, struct fit_result *out)
{
	_cleanup_(fit_done) struct fit f = { .p = profile, .accounts = accounts, .result = out };
	int err = fit_init(&f);

	*out = (struct fit_result){ .largest = UINT32_MAX };
	if (err == 0)
		err = fit_to(&f, false, limits->text_max);
	if (err == 0 && limits->stored_max > 0)
		err = fit_to(&f, true, limits->stored_max);
	return err;
}
