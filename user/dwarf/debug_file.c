/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug_file.c - one line a place, and one rule that proves that two files are of one build.
 * Invariant: a candidate is always inside the folders above: the link's name, chosen by an
 * untrusted file, is used only if it is a plain name, and the path comes from the kernel. A file
 * without proof is refused: a missing name is better than a wrong one. */
#include "dwarf/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define CRC_PIECE_MAX (1U << 30)

static bool is_plain_name(const char *name)
{
	return name[0] != '\0' && strlen(name) <= NAME_MAX && !strchr(name, '/') &&
		strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The name, a NUL, padding to 4 bytes, the CRC. The file may change: the copy is judged. */
static bool read_link(struct image *image, struct debug_link *out)
{
	const struct image_section *section = image_section_find(image, ".gnu_debuglink");
	struct bytes bytes;
	struct cursor c;
	const char *name;
	uint32_t crc;

	if (!section || image_section_bytes(image, section, &bytes) < 0)
		return false;
	c = cursor_init(bytes.data, bytes.len);
	name = cursor_str(&c);
	cursor_seek(&c, (cursor_offset(&c) + 3) & ~(size_t)3);
	crc = cursor_u32(&c);
	if (c.bad || snprintf(out->name, sizeof(out->name), "%s", name) >= (int)sizeof(out->name))
		return false;
	out->crc = crc;
	return is_plain_name(out->name);
}

void debug_file_query(struct image *image, const char *path, struct debug_file_query *out)
{
	*out = (struct debug_file_query){ .path = path };
	if (build_id_find(image, &out->build_id) < 0)
		out->build_id.len = 0;
	if (!read_link(image, &out->link))
		out->link = (struct debug_link){ .name = "" };
}

static int by_build_id(const struct build_id *id, char out[PATH_MAX])
{
	char hex[BUILD_ID_HEX_SIZE];

	if (id->len < 2)
		return -ENOENT;
	build_id_hex(id, hex);
	return snprintf(out, PATH_MAX, DEBUG_FILE_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

static int by_link(
	const struct debug_file_query *q, const char *root, const char *folder, char out[PATH_MAX])
{
	const char *slash = strrchr(q->path, '/');
	int dir_len = slash ? (int)(slash - q->path) : 0;

	if (q->link.name[0] == '\0' || !slash)
		return -ENOENT;
	/* a link to its own name: beside the file it is the file */
	if (root[0] == '\0' && folder[0] == '\0' && strcmp(slash + 1, q->link.name) == 0)
		return -ENOENT;
	return snprintf(out, PATH_MAX, "%s%.*s/%s%s", root, dir_len, q->path, folder, q->link.name);
}

static int by_path(
	const struct debug_file_query *q, const char *root, const char *suffix, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s%s%s", root, q->path, suffix);
}

int debug_file_candidate(
	const struct debug_file_query *query, enum debug_file_place place, char out[PATH_MAX])
{
	char path[PATH_MAX];
	int len = -ENOENT;

	if (query->path[0] != '/' || strlen(query->path) >= PATH_MAX)
		return -ENOENT;
	switch (place) {
	case DEBUG_FILE_BUILD_ID:
		len = by_build_id(&query->build_id, path);
		break;
	case DEBUG_FILE_LINK_BESIDE:
		len = by_link(query, "", "", path);
		break;
	case DEBUG_FILE_LINK_HIDDEN:
		len = by_link(query, "", ".debug/", path);
		break;
	case DEBUG_FILE_LINK_GLOBAL:
		len = by_link(query, DEBUG_FILE_ROOT, "", path);
		break;
	case DEBUG_FILE_DBG_BESIDE:
		len = by_path(query, "", ".dbg", path);
		break;
	case DEBUG_FILE_DEBUG_BESIDE:
		len = by_path(query, "", ".debug", path);
		break;
	case DEBUG_FILE_DEBUG_GLOBAL:
		len = by_path(query, DEBUG_FILE_ROOT, ".debug", path);
		break;
	case DEBUG_FILE_DBG_GLOBAL:
		len = by_path(query, DEBUG_FILE_ROOT, ".dbg", path);
		break;
	case DEBUG_FILE_PLACES:
		break;
	}
	if (len < 0)
		return len;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, path, (size_t)len + 1);
	return 0;
}

static uint32_t crc_of(struct bytes file)
{
	struct cursor c = cursor_init(file.data, file.len);
	uLong crc = crc32(0, Z_NULL, 0);

	while (cursor_left(&c) > 0) {
		size_t left = cursor_left(&c);
		struct bytes piece = cursor_bytes(&c, left < CRC_PIECE_MAX ? left : CRC_PIECE_MAX);

		crc = crc32(crc, piece.data, (uInt)piece.len);
	}
	return (uint32_t)crc;
}

const char *debug_file_below(const char *path)
{
	size_t root = strlen(DEBUG_FILE_ROOT);

	if (strncmp(path, DEBUG_FILE_ROOT "/", root + 1) == 0)
		return path + root;
	return strrchr(path, '/');
}

enum debug_reason debug_file_verify(
	const struct debug_file_query *query, uint16_t machine, struct image *candidate)
{
	const struct build_id *id = &query->build_id;
	struct build_id other;

	if (candidate->machine != machine)
		return DEBUG_MACHINE;
	if (id->len > 0 && build_id_find(candidate, &other) == 0)
		return build_id_equal(id, &other) ? DEBUG_BELONGS : DEBUG_BUILD_ID;
	if (query->link.name[0] == '\0')
		return DEBUG_UNPROVEN;
	return crc_of(candidate->file) == query->link.crc ? DEBUG_BELONGS : DEBUG_CRC;
}
