/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_part.c - candidates are the place that the compiler recorded, the program's folder,
 * and the folders of distributions: /usr/lib/debug/.dwz and the build-ID tree. A hostile name
 * cannot make stoker open other files: split files must end in .dwo, and a shared file must be in
 * one of those folders or beside the program. */
#include "dwarf/debug_part.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dwarf/debug_file.h"

#define SHARED_FOLDER ".dwz/"

static int copy_text(struct bytes text, char out[DEBUG_PART_TEXT_MAX])
{
	if (text.len >= DEBUG_PART_TEXT_MAX)
		return -ENAMETOOLONG;
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
	return 0;
}

/* The name, a NUL, the build ID. */
bool debug_part_alt(struct image *image, struct debug_part *out)
{
	const struct image_section *section = image_section_find(image, ".gnu_debugaltlink");
	struct debug_part part = { .kind = DEBUG_PART_ALT };
	struct bytes bytes, id;
	struct cursor c;
	const char *name;

	if (!section || image_section_bytes(image, section, &bytes) < 0)
		return false;
	c = cursor_init(bytes.data, bytes.len);
	name = cursor_str(&c);
	id = cursor_bytes(&c, cursor_left(&c));
	if (c.bad || id.len == 0 || id.len > BUILD_ID_BYTES_MAX ||
		copy_text((struct bytes){ (const uint8_t *)name, strlen(name) }, part.name) < 0)
		return false;
	memcpy(part.build_id.bytes, id.data, id.len);
	part.build_id.len = id.len;
	*out = part;
	return true;
}

static bool climbs(const char *path)
{
	size_t len = strlen(path);

	return strncmp(path, "../", 3) == 0 || strstr(path, "/../") ||
		(len >= 3 && strcmp(path + len - 3, "/..") == 0) || strcmp(path, "..") == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int beside(const char *path, const char *name, char out[PATH_MAX])
{
	const char *last = last_of(name);

	if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return -ENOENT;
	return snprintf(out, PATH_MAX, "%.*s%s", (int)(last_of(path) - path), path, last);
}

/* After the last "/.dwz/", wherever the link thinks that it is. */
static int shared(const char *name, char out[PATH_MAX])
{
	const char *rest = NULL, *at = name;

	if (strncmp(name, SHARED_FOLDER, strlen(SHARED_FOLDER)) == 0)
		rest = name + strlen(SHARED_FOLDER);
	while ((at = strstr(at, "/" SHARED_FOLDER))) {
		at += 1 + strlen(SHARED_FOLDER);
		rest = at;
	}
	if (!rest || climbs(rest))
		return -ENOENT;
	return snprintf(out, PATH_MAX, DEBUG_FILE_ROOT "/" SHARED_FOLDER "%s", rest);
}

static int alt(const struct debug_part *part, const char *path, unsigned int i, char out[PATH_MAX])
{
	struct debug_file_query query = { .path = path, .build_id = part->build_id };

	if (i == 0)
		return debug_file_candidate(&query, DEBUG_FILE_BUILD_ID, out);
	if (i == 1)
		return shared(part->name, out);
	return i == 2 ? beside(path, part->name, out) : -ENOENT;
}

static int package(const char *path, unsigned int i, char out[PATH_MAX])
{
	if (i > 1)
		return -ENOENT;
	return snprintf(out, PATH_MAX, "%s%s.dwp", i == 1 ? DEBUG_FILE_ROOT : "", path);
}

static int split(
	const struct debug_part *part, const char *path, unsigned int i, char out[PATH_MAX])
{
	if (!ends_with(part->name, ".dwo") || i > 1)
		return -ENOENT;
	if (i == 1)
		return beside(path, part->name, out);
	if (part->name[0] == '/')
		return snprintf(out, PATH_MAX, "%s", part->name);
	return part->dir[0] == '/' ? snprintf(out, PATH_MAX, "%s/%s", part->dir, part->name)
				   : -ENOENT;
}

int debug_part_candidate(
	const struct debug_part *part, const char *path, unsigned int i, char out[PATH_MAX])
{
	char made[PATH_MAX];
	int len = -ENOENT;

	if (path[0] != '/')
		return -ENOENT;
	if (part->kind == DEBUG_PART_ALT)
		len = alt(part, path, i, made);
	else if (part->kind == DEBUG_PART_PACKAGE)
		len = package(path, i, made);
	else if (part->kind == DEBUG_PART_SPLIT)
		len = split(part, path, i, made);
	if (len < 0)
		return len;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(out, PATH_MAX, "%s", made);
	return 0;
}
