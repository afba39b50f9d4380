/* SPDX-License-Identifier: Apache-2.0 */
/* agent/file_notes.c - paths and names are untrusted: both output forms clean them here. A stripped
 * file is reported with its build ID, which symbol servers and packages use. */
#include "agent/file_notes.h"

#include <errno.h>
#include <string.h>

#include "base/library.h"
#include "base/own.h"
#include "base/utf8.h"
#include "files/languages.h"

#define REASON_TEXT(id, name, text) [id] = (text),
#define REASON_NAME(id, name, text) [id] = (name),
static const char *const object_texts[] = { OBJECT_REASONS(REASON_TEXT) };
static const char *const object_names[] = { OBJECT_REASONS(REASON_NAME) };
static const char *const debug_texts[] = { DEBUG_REASONS(REASON_TEXT) };
static const char *const debug_names[] = { DEBUG_REASONS(REASON_NAME) };
static const char *const file_texts[] = { FILE_REASONS(REASON_TEXT) };

#define PUBLIC_SOURCES (1U << ELF_SYM_DYNSYM | 1U << ELF_SYM_PLT)

struct cause {
	const char *name, *text;
	bool stripped; /* a debug file would help */
};

/* An assembly with compiled code and no methods of its own: a part of a composite image, or that
 * image. */
static bool is_assembly(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".dll") == 0;
}

/* Why a debug file that exists was not read; NULL: none is known. */
static const char *unread_text(const struct object *o)
{
	for (int i = 0; i < FILE_REASONS_LEN; i++)
		if (o->debug_files.unread[i] > 0 && i != FILE_LATE)
			return file_texts[i];
	return NULL;
}

static struct cause cause_of(const struct object *o)
{
	bool unread = unread_text(o) != NULL;

	if (o->state == OBJECT_FAILED)
		return (struct cause){ object_names[o->reason], object_texts[o->reason], false };
	if (o->names_status != WORKER_OK)
		return (struct cause){ "worker",
			worker_status_text((enum worker_status)o->names_status), false };
	if (o->symbols == 0 && is_assembly(o->name))
		return (struct cause){ "composite",
			".NET code in a composite image, which has no names", true };
	if (o->symbols == 0)
		return (struct cause){ "stripped",
			unread ? "stripped, and its debug file was not read"
			       : "stripped, and no debug file found",
			true };
	if (file_notes_stripped(o->symbols, o->sources))
		return (struct cause){ "stripped",
			unread ? "stripped except for its exports, and its debug file was not read"
			       : "stripped except for its exports, and no debug file found",
			true };
	return (struct cause){ "no_symbol", "its symbols do not cover these addresses", false };
}

/* The objects with the most unnamed frames, the worst first. */
static size_t worst(const struct objects *objects, const struct object *out[FILE_NOTES_MAX])
{
	const struct object *o;
	size_t len = 0;

	for (size_t i = 0; (o = objects_at(objects, i)); i++) {
		size_t at = len;

		if (o->unnamed == 0)
			continue;
		while (at > 0 && out[at - 1]->unnamed < o->unnamed)
			at--;
		if (at == FILE_NOTES_MAX)
			continue;
		len += len < FILE_NOTES_MAX;
		for (size_t n = len - 1; n > at; n--)
			out[n] = out[n - 1];
		out[at] = o;
	}
	return len;
}

static int put_name(struct buf *out, const struct object *o)
{
	return utf8_put_clean(out, o->path && o->path[0] ? o->path : o->name);
}

const char *file_notes_refusal(uint8_t fate)
{
	return fate > WORKER_DEBUG_USED && fate < WORKER_DEBUGS
		? debug_texts[fate - WORKER_DEBUG_SEEN]
		: NULL;
}

bool file_notes_stripped(size_t symbols, uint32_t sources)
{
	return symbols == 0 || (sources & ~PUBLIC_SOURCES) == 0;
}

int file_notes_put_advice(struct buf *out, const char *name)
{
	int err = buf_puts(out, "install its debug package, put ");

	if (err == 0)
		err = utf8_put_clean(out, name);
	if (err == 0)
		err = buf_puts(out, ".dbg beside it, or use ");
	if (err == 0)
		err = buf_puts(out, "--debug-dir");
	return err < 0 || !library_can_load() ? err : buf_puts(out, ", --debuginfod");
}

static int put_advice(struct buf *out, const struct object *o)
{
	const char *unread = unread_text(o);

	if (unread)
		return buf_printf(out,
			"%s; a debug file is read if it is root's and readable by everybody, or of "
			"the file's owner",
			unread);
	if (o->symbols == 0 && is_assembly(o->name))
		return buf_puts(out, "start the program with DOTNET_ReadyToRun=0");
	return file_notes_put_advice(out, o->name);
}

/* ---- refused debug files -------------------------------------------------------------------- */

struct refused {
	const struct object *object;
	const char *path;
	unsigned int reason; /* enum debug_reason */
};

static size_t add_refused(const struct object *o, const struct debug_files *files, size_t max,
	struct refused *out, size_t len)
{
	for (size_t i = 0; i < files->len && len < max; i++) {
		const char *path = files->paths[i] ? files->paths[i] : "?";
		size_t known = 0;

		/* Processes with different roots may see it by the same path. */
		while (known < len &&
			(out[known].object != o || strcmp(out[known].path, path) != 0))
			known++;
		if (files->fates[i] > WORKER_DEBUG_USED && known == len)
			out[len++] =
				(struct refused){ o, path, files->fates[i] - WORKER_DEBUG_SEEN };
	}
	return len;
}

/* Refused debug files: those found by build ID for everybody, and those of single roots. */
static size_t find_refused(const struct objects *objects, size_t max, struct refused *out)
{
	const struct object *o;
	size_t len = 0;

	for (size_t n = 0; objects && (o = objects_at(objects, n)); n++) {
		len = add_refused(o, &o->debug_files, max, out, len);
		vec_each (&o->sets, set)
			len = add_refused(o, &set->files, max, out, len);
	}
	return len;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *text_json(
	int (*put)(struct buf *out, const struct object *o), const struct object *o)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	return put(&text, o) < 0 ? NULL : json_string(text.data ? text.data : "");
}

static json_t *unnamed_json(const struct object *o)
{
	struct cause cause = cause_of(o);
	char id[BUILD_ID_HEX_SIZE];
	json_t *json = json_pack("{s:o, s:I, s:s, s:s}", "file", text_json(put_name, o), "frames",
		(json_int_t)o->unnamed, "reason", cause.name, "why", cause.text);

	build_id_hex(&o->build_id, id);
	if (o->build_id.len > 0)
		json_object_set_new(json, "build_id", json_string(id));
	if (cause.stripped)
		json_object_set_new(json, "advice", text_json(put_advice, o));
	return json;
}

json_t *file_notes_unnamed(const struct objects *objects)
{
	const struct object *all[FILE_NOTES_MAX];
	json_t *list = json_array();
	size_t len = objects ? worst(objects, all) : 0;

	for (size_t i = 0; i < len; i++)
		json_array_append_new(list, unnamed_json(all[i]));
	return list;
}

static json_t *refused_json(const struct refused *r)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;

	if (utf8_put_clean(&path, r->path) < 0)
		return NULL;
	return json_pack("{s:o, s:s, s:s, s:s}", "file", text_json(put_name, r->object),
		"debug_file", path.data, "reason", debug_names[r->reason], "why",
		debug_texts[r->reason]);
}

json_t *file_notes_refused(const struct objects *objects)
{
	struct refused all[FILE_NOTES_MAX];
	json_t *list = json_array();
	size_t len = find_refused(objects, FILE_NOTES_MAX, all);

	for (size_t i = 0; i < len; i++)
		json_array_append_new(list, refused_json(&all[i]));
	return list;
}

/* ---- text ----------------------------------------------------------------------------------- */

static int write_unnamed(const struct object *o, struct buf *out)
{
	struct cause cause = cause_of(o);
	char id[BUILD_ID_HEX_SIZE];
	int err = buf_printf(out, "unnamed  %llu frame%s of ", (unsigned long long)o->unnamed,
		o->unnamed == 1 ? "" : "s");

	if (err == 0)
		err = put_name(out, o);
	if (err == 0)
		err = buf_printf(out, ": %s", cause.text);
	if (err == 0 && cause.stripped)
		err = buf_puts(out, "; ");
	if (err == 0 && cause.stripped)
		err = put_advice(out, o);
	build_id_hex(&o->build_id, id);
	if (err == 0 && cause.stripped && o->build_id.len > 0)
		err = buf_printf(out, " (build ID %s)", id);
	return err < 0 ? err : buf_putc(out, '\n');
}

static int write_refused(const struct refused *r, struct buf *out)
{
	int err = buf_puts(out, "refused  ");

	if (err == 0)
		err = utf8_put_clean(out, r->path);
	if (err == 0)
		err = buf_puts(out, " as debug file of ");
	if (err == 0)
		err = put_name(out, r->object);
	return err < 0 ? err : buf_printf(out, ": %s\n", debug_texts[r->reason]);
}

/* Runtimes without a table. */
static int write_unknown(const struct objects *objects, struct buf *out)
{
	const struct object *o;
	int err = 0;

	for (size_t i = 0, len = 0; objects && len < FILE_NOTES_MAX / 2 && err == 0 &&
		(o = objects_at(objects, i)); i++) {
		if (o->language != LANGUAGE_UNKNOWN)
			continue;
		len++;
		err = buf_puts(out, "runtime  ");
		if (err == 0)
			err = put_name(out, o);
		if (err == 0)
			err = buf_printf(out,
				" is CPython 3.%u, for which there is no table: its frames are the "
				"interpreter's; a newer stoker may have one, or a file in "
				LANGUAGE_FILES_PATH " (stoker-tables(5))\n",
				o->language_version);
	}
	return err;
}

int file_notes_write(const struct objects *objects, struct buf *out)
{
	const struct object *all[FILE_NOTES_MAX];
	struct refused refused[FILE_NOTES_MAX / 2];
	size_t len = objects ? worst(objects, all) : 0,
	       refused_len = find_refused(objects, ARRAY_SIZE(refused), refused);
	int err = write_unknown(objects, out);

	for (size_t i = 0; i < len && i < FILE_NOTES_MAX / 2 && err == 0; i++)
		err = write_unnamed(all[i], out);
	for (size_t i = 0; i < refused_len && err == 0; i++)
		err = write_refused(&refused[i], out);
	return err;
}
