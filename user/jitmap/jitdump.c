/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/jitdump.c - converts records to entries. Only the front of a record is gathered (of LOAD,
 * not the code); it takes effect after all its bytes have passed, so a truncated last record has
 * none. The tenancy knows the owner of an address at a time; an entry adds a name and lines, packed
 * as differences. Invariant: entries and tenants have the same ids. When the entries reach their
 * limit, those without an address are removed, and with them the history. */
#include "jitmap/jitdump.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "jitmap/packed_lines.h"

#define MAGIC 0x4A695444U
#define VERSION 1
#define HEADER_BYTES 40
#define HEADER_BYTES_MAX 4096
#define FLAG_ARCH_TIMESTAMP 1
#define PREFIX_BYTES 16
#define LOAD_BYTES (PREFIX_BYTES + 40)
#define MOVE_BYTES (PREFIX_BYTES + 48)
/* V8 places lines as if an ELF header of this size stood before the code. */
#define LINES_SHIFT_MAX 64

enum record_id {
	RECORD_LOAD,
	RECORD_MOVE,
	RECORD_DEBUG_INFO,
};

/* As in jitmap/perfmap.c: a limit counts as reached when cleaning up frees less than an eighth. */
static bool is_nearly(size_t used, size_t max)
{
	return used > max - max / 8;
}

/* ---- names and entries ---------------------------------------------------------------------- */

static int put_name(struct jitdump *dump, const uint8_t *text, size_t len, uint32_t *out)
{
	size_t at = dump->names.len;
	int err;

	if (len > JITDUMP_NAME_MAX) {
		len = JITDUMP_NAME_MAX;
		dump->stats.cut++;
	}
	if (len == 0) {
		*out = 0;
		return 0;
	}
	err = buf_put(&dump->names, text, len);
	if (err == 0)
		err = buf_putc(&dump->names, '\0');
	if (err == 0)
		*out = (uint32_t)at;
	return err;
}

static int add_entry(struct jitdump *dump, const struct tenant *t, struct jitdump_entry entry)
{
	struct jitdump_entry *added = vec_add(&dump->entries);
	int err = added ? tenancy_add(&dump->tenancy, t->start, t->size, t->since_ns) : -ENOMEM;

	if (err < 0) {
		dump->entries.len -= added != NULL;
		return err;
	}
	*added = entry;
	return 0;
}

static int copy_name(struct jitdump *to, const char *name, uint32_t *out)
{
	return put_name(to, (const uint8_t *)name, strlen(name), out);
}

/* ---- cleaning up ---------------------------------------------------------------------------- */

static int copy_lines(
	const struct jitdump *from, uint32_t offset, struct jitdump *to, uint32_t *out)
{
	uint64_t rows;
	struct cursor c = packed_lines_open(&from->lines, offset, &rows);
	struct packed_line row = { 0 }, last_copy = { 0 };
	size_t at = to->lines.len;
	uint32_t last_file = 0;
	int err = packed_lines_begin(&to->lines, rows);

	for (uint64_t i = 0; err == 0 && i < rows && !c.bad; i++) {
		struct packed_line copy;

		packed_lines_next(&c, &row);
		copy = (struct packed_line){ row.offset, row.line, last_copy.file };
		if (row.file != last_file) {
			const char *name = from->names.data + row.file;

			if (strcmp(to->names.data + to->last_file, name) != 0)
				err = copy_name(to, name, &to->last_file);
			copy.file = to->last_file;
		}
		last_file = row.file;
		if (err == 0)
			err = packed_lines_put(&to->lines, &last_copy, &copy);
		last_copy = copy;
	}
	if (err == 0)
		*out = (uint32_t)at;
	return err;
}

static int copy_entry(const struct jitdump *from, uint32_t id, struct jitdump *to)
{
	struct jitdump_entry entry = from->entries.data[id];
	int err = copy_name(to, from->names.data + entry.name, &entry.name);

	if (err == 0 && entry.lines)
		err = copy_lines(from, entry.lines, to, &entry.lines);
	return err < 0 ? err : add_entry(to, &from->tenancy.tenants.data[id], entry);
}

static void contents_done(struct jitdump *dump)
{
	tenancy_done(&dump->tenancy);
	vec_done(&dump->entries);
	buf_done(&dump->names);
	buf_done(&dump->lines);
}

/* Offset 0 in names and lines means none. */
static int contents_init(struct jitdump *dump)
{
	int err = buf_putc(&dump->names, '\0');

	return err < 0 ? err : buf_putc(&dump->lines, '\0');
}

/* Keeps what still holds an address, and says so when that is too much. */
static int clean_up(struct jitdump *dump)
{
	_cleanup_(contents_done) struct jitdump kept = { 0 };
	_cleanup_(freep) bool *holds = calloc(dump->entries.len + 1, sizeof(*holds));
	int err = holds ? contents_init(&kept) : -ENOMEM;

	if (err == 0)
		err = tenancy_mark_last(&dump->tenancy, holds);
	for (uint32_t i = 0; err == 0 && i < dump->entries.len; i++)
		if (holds[i])
			err = copy_entry(dump, i, &kept);
	if (err == 0 && dump->pending.lines)
		err = copy_lines(dump, dump->pending.lines, &kept, &dump->pending.lines);
	if (err < 0)
		return err;
	contents_done(dump);
	dump->tenancy = kept.tenancy;
	dump->names = kept.names;
	dump->lines = kept.lines;
	dump->entries.data = kept.entries.data;
	dump->entries.len = kept.entries.len;
	dump->entries.cap = kept.entries.cap;
	dump->last_file = kept.last_file;
	kept = (struct jitdump){ 0 };
	dump->is_full = is_nearly(dump->entries.len, dump->limits.entries_max) ||
		is_nearly(dump->names.len, dump->limits.names_bytes_max);
	return 0;
}

/* Room for another entry and its name. 1: there is none, and that is counted. */
static int make_room(struct jitdump *dump)
{
	int err = 0;

	if (!dump->is_full &&
		(dump->entries.len >= dump->limits.entries_max ||
			dump->names.len + JITDUMP_NAME_MAX + 1 > dump->limits.names_bytes_max))
		err = clean_up(dump);
	if (err < 0)
		return err;
	dump->stats.full += dump->is_full;
	return dump->is_full;
}

/* ---- records -------------------------------------------------------------------------------- */

static bool is_range(uint64_t start, uint64_t size)
{
	return size > 0 && size <= UINT32_MAX && start <= UINT64_MAX - size;
}

static uint64_t time_of(const struct jitdump *dump, uint64_t record_ns)
{
	return dump->has_no_times ? 0 : record_ns;
}

/* The lines that came just before, if they are of this code and lie in it: V8 writes freed memory
 * for a file's name now and then, and the rest of such a record makes no sense. */
static uint32_t take_pending(struct jitdump *dump, uint64_t code_addr, uint64_t code_size)
{
	struct jitdump_pending *p = &dump->pending;
	uint32_t lines = p->lines;
	struct packed_line row = { 0 };
	struct cursor c;
	uint64_t rows, nearest = UINT64_MAX;
	bool is_good = lines != 0 && p->code_addr == code_addr;

	*p = (struct jitdump_pending){ 0 };
	if (lines == 0)
		return 0;
	c = packed_lines_open(&dump->lines, lines, &rows);
	for (uint64_t i = 0; is_good && i < rows; i++) {
		packed_lines_next(&c, &row);
		is_good = !c.bad && row.offset <= code_size + LINES_SHIFT_MAX;
		nearest = row.offset < nearest ? row.offset : nearest;
	}
	if (!is_good) {
		dump->stats.lines_bad++;
		dump->lines.len = lines;
		return 0;
	}
	if (nearest < dump->lines_shift)
		dump->lines_shift = nearest;
	return lines;
}

static int take_load(struct jitdump *dump, struct cursor c, uint64_t since_ns)
{
	struct jitdump_entry entry = { 0 };
	uint64_t start, size;
	struct bytes name;
	int err;

	cursor_skip(&c, 16); /* pid, tid, vma */
	start = cursor_u64(&c);
	size = cursor_u64(&c);
	cursor_skip(&c, 8); /* index */
	if (c.bad || !is_range(start, size)) {
		dump->stats.bad++;
		return 0;
	}
	err = make_room(dump);
	if (err != 0)
		return err < 0 ? err : 0;
	name = cursor_bytes(&c, cursor_left(&c));
	if (name.len > 0)
		name.len = strnlen((const char *)name.data, name.len);
	entry.lines = take_pending(dump, start, size);
	err = put_name(dump, name.data, name.len, &entry.name);
	if (err < 0)
		return err;
	dump->stats.loads++;
	return add_entry(dump, &(struct tenant){ start, since_ns, (uint32_t)size }, entry);
}

static int take_move(struct jitdump *dump, struct cursor c, uint64_t since_ns)
{
	struct jitdump_entry entry = { 0 };
	struct tenancy_answer answer;
	uint64_t from, to, size;
	int err;

	cursor_skip(&c, 16); /* pid, tid, vma */
	from = cursor_u64(&c);
	to = cursor_u64(&c);
	size = cursor_u64(&c);
	if (c.bad || !is_range(from, size) || !is_range(to, size)) {
		dump->stats.bad++;
		return 0;
	}
	if (!tenancy_find(&dump->tenancy, from, since_ns, &answer) || answer.early) {
		dump->stats.unmoved++;
		return 0;
	}
	err = make_room(dump);
	if (err != 0)
		return err < 0 ? err : 0;
	/* cleaning up gives new ids */
	if (!tenancy_find(&dump->tenancy, from, since_ns, &answer))
		return 0;
	entry = dump->entries.data[answer.id];
	entry.moved += (uint32_t)(from - dump->tenancy.tenants.data[answer.id].start);
	err = add_entry(dump, &(struct tenant){ from, since_ns, (uint32_t)size },
		(struct jitdump_entry){ 0 });
	if (err == 0)
		err = add_entry(dump, &(struct tenant){ to, since_ns, (uint32_t)size }, entry);
	dump->stats.moves += err == 0;
	return err;
}

/* A file's name, kept once while it repeats. A lone 0xff stands for the one before. */
static int take_file(struct jitdump *dump, const char *name, uint32_t *file)
{
	int err = 0;

	if (strcmp(name, "\xff") == 0)
		return 0;
	if (strcmp(dump->names.data + dump->last_file, name) != 0)
		err = copy_name(dump, name, &dump->last_file);
	*file = dump->last_file;
	return err;
}

static int pack_lines(struct jitdump *dump, struct cursor *c, uint64_t code_addr, uint64_t rows)
{
	struct packed_line row = { 0 };
	int err = packed_lines_begin(&dump->lines, rows);

	for (uint64_t i = 0; err == 0 && i < rows; i++) {
		struct packed_line last = row;

		row.offset = cursor_u64(c) - code_addr;
		row.line = cursor_u32(c);
		cursor_skip(c, 4); /* discriminator */
		err = take_file(dump, cursor_str(c), &row.file);
		if (c->bad)
			return -EBADMSG;
		if (err == 0)
			err = packed_lines_put(&dump->lines, &last, &row);
	}
	return err;
}

static int take_debug_info(struct jitdump *dump, struct cursor c)
{
	uint64_t code_addr = cursor_u64(&c), rows = cursor_u64(&c);
	size_t at = dump->lines.len;
	int err = -EBADMSG;

	/* a row packs into less than twice its bytes, and its name adds no more than is left */
	if (at + 2 * cursor_left(&c) > dump->limits.lines_bytes_max ||
		dump->names.len + cursor_left(&c) > dump->limits.names_bytes_max) {
		dump->stats.lines_full++;
		return 0;
	}
	dump->stats.lines_bad += dump->pending.lines != 0;
	dump->pending = (struct jitdump_pending){ 0 };
	if (!c.bad && rows > 0 && rows <= cursor_left(&c) / 17)
		err = pack_lines(dump, &c, code_addr, rows);
	if (err < 0) {
		dump->lines.len = at;
		dump->stats.lines_bad += err == -EBADMSG;
		return err == -EBADMSG ? 0 : err;
	}
	dump->pending = (struct jitdump_pending){ code_addr, (uint32_t)at };
	return 0;
}

static int take_record(struct jitdump *dump)
{
	struct cursor c = cursor_init(dump->head.data, dump->head.len);
	uint32_t id = cursor_u32(&c);
	uint64_t since_ns;

	cursor_skip(&c, 4);
	since_ns = time_of(dump, cursor_u64(&c));
	switch (id) {
	case RECORD_LOAD:
		return take_load(dump, c, since_ns);
	case RECORD_MOVE:
		return take_move(dump, c, since_ns);
	case RECORD_DEBUG_INFO:
		return take_debug_info(dump, c);
	default:
		return 0; /* CLOSE, UNWINDING_INFO, and what is yet to be thought of */
	}
}

/* ---- the stream ----------------------------------------------------------------------------- */

static int begin_file(struct jitdump *dump, struct why *why)
{
	struct cursor c = cursor_init(dump->head.data, dump->head.len);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c), size = cursor_u32(&c);

	if (magic == __builtin_bswap32(MAGIC))
		return why_set(why, -ENOTSUP, "the jitdump has the other byte order");
	if (magic != MAGIC)
		return why_set(why, -EBADMSG, "not a jitdump");
	if (version != VERSION)
		return why_set(why, -ENOTSUP, "jitdump version %u is not supported, only %d",
			version, VERSION);
	if (size < HEADER_BYTES || size > HEADER_BYTES_MAX)
		return why_set(why, -EBADMSG, "the jitdump's header has %u bytes", size);
	cursor_skip(&c, 20); /* machine, padding, pid, time */
	dump->has_no_times = cursor_u64(&c) & FLAG_ARCH_TIMESTAMP;
	dump->skip = size - HEADER_BYTES;
	dump->state = JITDUMP_AFTER_HEADER;
	return 0;
}

static size_t head_size(uint32_t id, uint32_t total)
{
	size_t max;

	switch (id) {
	case RECORD_LOAD:
		max = LOAD_BYTES + JITDUMP_NAME_MAX + 1;
		break;
	case RECORD_MOVE:
		max = MOVE_BYTES;
		break;
	case RECORD_DEBUG_INFO:
		max = JITDUMP_DEBUG_MAX;
		break;
	default:
		max = PREFIX_BYTES;
	}
	return total < max ? total : max;
}

static int begin_record(struct jitdump *dump, struct why *why)
{
	struct cursor c = cursor_init(dump->head.data, dump->head.len);
	uint32_t id = cursor_u32(&c), total = cursor_u32(&c);

	if (total < PREFIX_BYTES || total > JITDUMP_RECORD_MAX)
		return why_set(why, -EINVAL, "the jitdump has a record of %u bytes", total);
	dump->head_want = head_size(id, total);
	dump->skip = total - dump->head_want;
	dump->state = JITDUMP_IN_RECORD;
	return 0;
}

static void expect_record(struct jitdump *dump)
{
	buf_clear(&dump->head);
	dump->head_want = PREFIX_BYTES;
	dump->state = JITDUMP_IN_PREFIX;
}

/* Fills the head. 1: it needs more bytes than there are. */
static int gather(struct jitdump *dump, struct cursor *c)
{
	size_t want = dump->head_want - dump->head.len, left = cursor_left(c);
	struct bytes part = cursor_bytes(c, want < left ? want : left);
	int err = buf_put(&dump->head, part.data, part.len);

	return err < 0 ? err : part.len < want;
}

/* 1: more is to be skipped than there is. */
static int skip(struct jitdump *dump, struct cursor *c)
{
	size_t left = cursor_left(c), n = dump->skip < left ? (size_t)dump->skip : left;

	cursor_skip(c, n);
	dump->skip -= n;
	return dump->skip > 0;
}

/* To the next state. 1: that needs more bytes than there are. */
static int step(struct jitdump *dump, struct cursor *c, struct why *why)
{
	int err = gather(dump, c);

	if (err == 0 && dump->state == JITDUMP_IN_HEADER)
		return begin_file(dump, why);
	if (err == 0 && dump->state == JITDUMP_IN_PREFIX)
		return begin_record(dump, why);
	if (err == 0)
		err = skip(dump, c);
	if (err == 0 && dump->state == JITDUMP_IN_RECORD)
		err = take_record(dump);
	if (err == 0)
		expect_record(dump);
	return err == -ENOMEM ? why_set(why, err, "out of memory for a jitdump") : err;
}

/* ---- public --------------------------------------------------------------------------------- */

int jitdump_init(struct jitdump *dump, const struct jitdump_limits *limits)
{
	*dump = (struct jitdump){ .limits = *limits };
	return jitdump_reset(dump);
}

void jitdump_done(struct jitdump *dump)
{
	contents_done(dump);
	buf_done(&dump->head);
	*dump = (struct jitdump){ .limits = dump->limits };
}

int jitdump_reset(struct jitdump *dump)
{
	jitdump_done(dump);
	dump->head_want = HEADER_BYTES;
	dump->lines_shift = LINES_SHIFT_MAX;
	return contents_init(dump);
}

int jitdump_feed(struct jitdump *dump, const void *data, size_t len, struct why *why)
{
	struct cursor c = cursor_init(data, len);
	int err = 0;

	if (dump->state == JITDUMP_BROKEN)
		return why_set(why, -EBADMSG, "the jitdump failed earlier");
	while (err == 0)
		err = step(dump, &c, why);
	if (err < 0)
		dump->state = JITDUMP_BROKEN;
	return err < 0 ? err : 0;
}

static void find_line(const struct jitdump *dump, const struct jitdump_entry *entry,
	uint64_t offset, struct jitdump_name *out)
{
	uint64_t rows, best = 0;
	struct cursor c = packed_lines_open(&dump->lines, entry->lines, &rows);
	struct packed_line row = { 0 };

	offset += entry->moved;
	offset += dump->lines_shift >= LINES_SHIFT_MAX ? LINES_SHIFT_MAX : 0;
	for (uint64_t i = 0; i < rows && !c.bad; i++) {
		packed_lines_next(&c, &row);
		if (row.offset > offset || row.offset < best)
			continue;
		best = row.offset;
		out->file = dump->names.data + row.file;
		out->line = (uint32_t)row.line;
	}
}

bool jitdump_find(struct jitdump *dump, uint64_t addr, uint64_t at_ns, struct jitdump_name *out)
{
	const struct jitdump_entry *entry;
	struct tenancy_answer answer;

	if (!tenancy_find(&dump->tenancy, addr, at_ns, &answer))
		return false;
	entry = &dump->entries.data[answer.id];
	if (entry->name == 0)
		return false;
	*out = (struct jitdump_name){
		.name = dump->names.data + entry->name,
		.file = "",
		.early = answer.early,
		.start = dump->tenancy.tenants.data[answer.id].start,
	};
	if (entry->lines)
		find_line(dump, entry, addr - out->start, out);
	return true;
}

void jitdump_stats(const struct jitdump *dump, struct jitdump_stats *out)
{
	*out = dump->stats;
	out->entries = dump->entries.len;
	out->memory_bytes = tenancy_memory(&dump->tenancy) + dump->names.cap + dump->lines.cap +
		dump->head.cap + dump->entries.cap * sizeof(struct jitdump_entry);
}

pid_t jitdump_number(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
	size_t digits;
	long number;

	if (strncmp(at, "jit-", 4) != 0)
		return 0;
	number = strtol(at + 4, NULL, 10);
	digits = strspn(at + 4, "0123456789");
	at += 4 + digits;
	if (digits == 0 || number <= 0 || number > INT_MAX ||
		(strncmp(at, ".dump", 5) != 0 && (at[0] != '-' || !isdigit((unsigned char)at[1]))))
		return 0;
	return (pid_t)number;
}
