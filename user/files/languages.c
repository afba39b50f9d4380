/* SPDX-License-Identifier: Apache-2.0 */
/* files/languages.c - a worker says of a file numbers that BPF adds to addresses of the process
 * alone: false ones spoil the names of the processes that map the file. So a trial of one process
 * decides for all that map the file; a process that lies about itself can only delay the trial of
 * others: those are sought for ever, more and more seldom. */
#include "files/languages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "client/opener_call.h"
#include "client/worker_rows.h"
#include "files/file_time.h"
#include "files/object.h"
#include "files/objects.h"
#include "language/cpython.h"
#include "language/cpython_trial.h"
#include "unwind/publish.h"
#include "wire/mappings.h"

#ifndef STOKER_NATIVE_ONLY
#define STOKER_NATIVE_ONLY 0 /* 1: tools/bench measures native frames alone */
#endif

struct languages {
	struct language_files files;
	struct publish *publish; /* NULL: not yet */
	struct opener_call *call;
	uint64_t due_ns; /* of the first trial */
	uint64_t unknown, tried, checked, wrong;
};

int languages_new(const char *path, struct worker_client *worker, struct languages **out)
{
	struct languages *languages = calloc(1, sizeof(*languages));
	int err;

	if (!languages)
		return -ENOMEM;
	languages->due_ns = CLOCK_NEVER_NS;
	err = language_files_load(&languages->files, path, worker);
	if (err < 0)
		languages_free(languages);
	else
		*out = languages;
	return err;
}

void languages_free(struct languages *languages)
{
	if (!languages)
		return;
	language_files_done(&languages->files);
	free(languages);
}

void languages_use(struct languages *languages, struct publish *publish, struct opener_call *call)
{
	languages->publish = publish;
	languages->call = call;
}

const struct language_files *languages_files(const struct languages *languages)
{
	return &languages->files;
}

/* ---- trials ---------------------------------------------------------------------------------- */

#define ROUNDS_MAX 64 /* of reading, of one trial */
#define TRIALS_AT_ONCE 2
#define LOOKS_AT_ONCE 4
#define LOOK_NS (200 * NSEC_PER_MSEC) /* of all at once: the agent waits for memory meanwhile */
#define LOOKS_MAX 4      /* at one process, a second apart */
#define EARLY_LOOKS_MAX 30
#define PROCESSES_MAX 3  /* looking wrong: then the table is */
#define PAUSE_MAX_NS (600 * NSEC_PER_SEC)

/* 0, and the verdict on the process as it is at this moment; or -errno: it could not be read, or
 * not before until_ns. */
static int look(const struct languages_place *place, const struct language *language,
	uint64_t until_ns, enum cpython_verdict *out)
{
	struct cpython_trial trial = { .language = language, .base = place->base };
	uint64_t addresses[CPYTHON_TRIAL_WORDS_MAX], words[CPYTHON_TRIAL_WORDS_MAX];
	enum cpython_verdict verdict = CPYTHON_TRIAL_MORE;

	for (int i = 0; i < ROUNDS_MAX && verdict == CPYTHON_TRIAL_MORE; i++) {
		uint32_t len = cpython_trial_wants(&trial, addresses);
		int err = clock_ns(CLOCK_MONOTONIC) >= until_ns
			? -ETIMEDOUT
			: opener_call_words(
				  place->call, &place->process, addresses, len, words);

		if (err < 0)
			return err;
		verdict = cpython_trial_takes(&trial, words);
	}
	*out = verdict == CPYTHON_TRIAL_MORE ? CPYTHON_TRIAL_WRONG : verdict;
	return 0;
}

/* The same until it is not wrong, a few times. */
static int look_again(const struct languages_place *place, const struct language *language,
	enum cpython_verdict *out)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + LOOK_NS;
	int err = look(place, language, until_ns, out);

	for (int i = 1; i < LOOKS_AT_ONCE && err == 0 && *out == CPYTHON_TRIAL_WRONG; i++)
		err = look(place, language, until_ns, out);
	return err;
}

static void end_trial(struct object *object, enum language_state state)
{
	object->language = state;
	free(object->trial);
	object->trial = NULL;
}

/* Without a place for its description a runtime has native frames. */
static void publish_it(
	struct languages *l, const struct object *object, const struct language *language)
{
	(void)publish_language(l->publish, &object->key, object->id, object->payer, language);
}

/* The process did not show that the table is right: the next one that maps the file may. */
static void seek_another(struct languages *l, struct object *object, uint64_t now_ns)
{
	struct language_trial *trial = object->trial;

	trial->looks = 0;
	trial->sought = true;
	trial->due_ns = now_ns + trial->pause_ns;
	trial->pause_ns *= 2;
	if (trial->pause_ns > PAUSE_MAX_NS)
		trial->pause_ns = PAUSE_MAX_NS;
	if (trial->failed == PROCESSES_MAX && object->language != LANGUAGE_WRONG) {
		object->language = LANGUAGE_WRONG;
		l->wrong++;
	}
}

static void judge(struct languages *l, struct object *object, uint64_t now_ns)
{
	struct language_trial *trial = object->trial;
	const struct languages_place place = { l->call, object->process, object->base };
	enum cpython_verdict verdict;
	int err = look_again(&place, &trial->language, &verdict);

	if (err == 0 && verdict == CPYTHON_TRIAL_RIGHT) {
		publish_it(l, object, &trial->language);
		l->checked++;
		end_trial(object, LANGUAGE_CHECKED);
		return;
	}
	trial->looks++;
	trial->due_ns = now_ns + NSEC_PER_SEC;
	if (err < 0 && err != -EAGAIN && err != -ETIME && err != -ETIMEDOUT) {
		seek_another(l, object, now_ns);
	} else if (err == 0 && verdict == CPYTHON_TRIAL_WRONG && trial->looks >= LOOKS_MAX) {
		trial->failed += trial->failed < PROCESSES_MAX;
		seek_another(l, object, now_ns);
	} else if (trial->looks >= EARLY_LOOKS_MAX) {
		seek_another(l, object, now_ns);
	}
}

static void run_trial(struct languages *l, struct object *object, uint64_t now_ns)
{
	struct language_trial *trial = object->trial;

	if (trial->sought) {
		const struct publish_object again = { object->key, object->id };

		publish_drop(l->publish, &again, 1);
		trial->due_ns = CLOCK_NEVER_NS; /* BPF will meet it */
		return;
	}
	judge(l, object, now_ns);
}

/* The file was met, for the first time or again, in the object's process. */
static void begin_trial(struct languages *l, struct object *object,
	const struct worker_rows *rows, const struct language_file *file)
{
	struct language_trial *trial = object->trial;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!trial) {
		trial = calloc(1, sizeof(*trial));
		if (!trial)
			return;
		trial->pause_ns = NSEC_PER_SEC;
		object->trial = trial;
		object->language = LANGUAGE_TRIED;
		l->tried++;
	}
	trial->file = file;
	trial->sought = false;
	trial->due_ns = now_ns;
	cpython_table_describe(&file->table, &rows->cpython, &trial->language);
	l->due_ns = clock_sooner(l->due_ns, now_ns);
}

/* The account that has the file pays for the time; who had its share waits. */
static void run_for(struct languages *l, struct objects *objects, struct object *object,
	uint64_t now_ns)
{
	struct file_time *time = objects_time(objects);

	if (file_time_owes(time, object->payer, now_ns)) {
		object->trial->due_ns = now_ns + NSEC_PER_SEC;
		return;
	}
	run_trial(l, object, now_ns);
	file_time_charge(time, object->payer, clock_ns(CLOCK_MONOTONIC) - now_ns);
}

bool languages_run(struct languages *l, struct objects *objects, uint64_t now_ns)
{
	struct object *object;
	size_t trials = 0;

	if (now_ns < l->due_ns)
		return false;
	l->due_ns = CLOCK_NEVER_NS;
	for (size_t i = 0; (object = objects_at(objects, i)); i++) {
		if (!object->trial || object_is_forgotten(object))
			continue;
		if (object->trial->due_ns <= now_ns && trials++ < TRIALS_AT_ONCE)
			run_for(l, objects, object, clock_ns(CLOCK_MONOTONIC));
		if (object->trial)
			l->due_ns = clock_sooner(l->due_ns, object->trial->due_ns);
	}
	return true;
}

uint64_t languages_due_ns(const struct languages *l)
{
	return l->due_ns;
}

void languages_stats(const struct languages *l, struct languages_stats *out)
{
	*out = (struct languages_stats){ l->files.used, l->files.refused, l->unknown, l->tried,
		l->checked, l->wrong };
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void describe_cpython(
	struct languages *l, struct object *object, const struct worker_rows *rows)
{
	const struct language_file *file;
	struct language language;

	if (cpython_describe(&rows->cpython, &language)) {
		object->language = LANGUAGE_KNOWN;
		publish_it(l, object, &language);
		return;
	}
	file = language_files_find(&l->files, &rows->cpython, &rows->build_id);
	if (file && object->language == LANGUAGE_CHECKED) {
		cpython_table_describe(&file->table, &rows->cpython, &language);
		publish_it(l, object, &language);
	} else if (file) {
		begin_trial(l, object, rows, file);
	} else if (object->language == LANGUAGE_NONE) {
		object->language = LANGUAGE_UNKNOWN;
		object->language_version = rows->cpython.version;
		l->unknown++;
	}
}

void languages_describe(
	struct languages *l, struct object *object, const struct worker_rows *rows)
{
	if (STOKER_NATIVE_ONLY)
		return;
	if (rows->contents & WORKER_HAS_HEAPS) {
		free(object->hotspot);
		object->hotspot = malloc(sizeof(*object->hotspot));
		if (object->hotspot)
			*object->hotspot = rows->hotspot;
	}
	if (rows->contents & WORKER_IS_CPYTHON)
		describe_cpython(l, object, rows);
}

static const char *verdict_text(const struct languages_place *place,
	const struct cpython_table *table, const struct cpython_facts *facts)
{
	enum cpython_verdict verdict;
	struct language language;
	int err;

	cpython_table_describe(table, facts, &language);
	err = look_again(place, &language, &verdict);
	if (err < 0)
		return "which could not be checked: the process's memory cannot be read";
	if (verdict == CPYTHON_TRIAL_EARLY)
		return "which could not be checked: the process runs no function now";
	return verdict == CPYTHON_TRIAL_RIGHT
		? "as its memory looks so"
		: "but its memory does not look so: frames of its interpreter are shown";
}

static void note_cpython(const struct worker_rows *rows, const struct language_files *files,
	const struct languages_place *place, char *out, size_t size)
{
	const struct language_file *file =
		files ? language_files_find(files, &rows->cpython, &rows->build_id) : NULL;
	struct language language;

	if (cpython_describe(&rows->cpython, &language))
		snprintf(out, size, "CPython 3.%u: its functions are walked and named by the %s",
			rows->cpython.version,
			rows->cpython.offsets[CPYTHON_INTERPRETERS]
				? "offsets that it describes itself"
				: "built-in table");
	else if (file)
		snprintf(out, size,
			"CPython 3.%u: its functions are walked and named by the table %.200s/%s, "
			"%s",
			rows->cpython.version, files->path, file->name,
			verdict_text(place, &file->table, &rows->cpython));
	else
		snprintf(out, size,
			"CPython 3.%u: this build is not known, so frames of its interpreter are "
			"shown; a newer stoker may know it, or a table in %s (stoker-tables(5))",
			rows->cpython.version,
			files && files->path[0] ? files->path : LANGUAGE_FILES_PATH);
}

static void note_hotspot(uint8_t version, char *out, size_t size)
{
	static const char text[] = "its functions are walked and named";

	if (version)
		snprintf(out, size, "HotSpot %d: %s", version, text);
	else
		snprintf(out, size, "HotSpot, of a version that it does not say: %s", text);
}

bool languages_note(const struct worker_rows *rows, const struct language_files *files,
	const struct languages_place *place, char *out, size_t size)
{
	if (rows->contents & WORKER_HAS_HEAPS) {
		note_hotspot(rows->hotspot.version, out, size);
		return true;
	}
	if (!(rows->contents & WORKER_IS_CPYTHON))
		return false;
	note_cpython(rows, files, place, out, size);
	return true;
}

const struct hotspot_facts *objects_hotspot(
	const struct objects *objects, const struct object_key *key)
{
	const struct object *object;

	for (size_t i = 0; (object = objects_at(objects, i)); i++)
		if (object->hotspot && memcmp(&object->key, key, sizeof(*key)) == 0)
			return object->hotspot;
	return NULL;
}
