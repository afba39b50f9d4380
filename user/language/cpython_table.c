/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython_table.c - the text is root's, but bytes from outside are read with bounds all
 * the same, by a worker. A table that is accepted has offsets within what BPF reads; whether they
 * are those of the runtime is another question (language/cpython_trial.h). */
#include "language/cpython_table.h"

#include <string.h>

#define CODE_WINDOW 16 /* after the head of an object, as for built-in tables */
#define RELEASE_FINAL 0xf0
#define RELEASE_LEVELS 4
#define VERSION_MAX 255
#define NUMBER_DIGITS_MAX 9

struct key {
	const char *text;
	uint32_t max;
	bool needed;
};

#define CPYTHON_KEY_ROW(id, text, max, needed) { text, max, needed },
static const struct key keys[] = { CPYTHON_KEYS(CPYTHON_KEY_ROW) };
#undef CPYTHON_KEY_ROW

const char *cpython_table_text(enum cpython_table_fault fault)
{
#define FAULT_TEXT(id, text) [id] = (text),
	static const char *const texts[] = { CPYTHON_TABLE_FAULTS(FAULT_TEXT) };
#undef FAULT_TEXT

	return (unsigned int)fault < CPYTHON_TABLE_FAULTS_LEN ? texts[fault] : "?";
}

/* ---- words ----------------------------------------------------------------------------------- */

struct word {
	const char *text;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool word_is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && memcmp(word->text, text, word->len) == 0;
}

/* At most two words of a line, without its comment. The number of its words. */
static size_t split(const char *line, size_t len, struct word words[2])
{
	const char *comment = memchr(line, '#', len);
	size_t count = 0, at = 0;

	if (comment)
		len = (size_t)(comment - line);
	if (len > 0 && line[len - 1] == '\r')
		len--;
	for (;;) {
		size_t begin;

		while (at < len && is_blank(line[at]))
			at++;
		if (at == len)
			return count;
		begin = at;
		while (at < len && !is_blank(line[at]))
			at++;
		if (count < 2)
			words[count] = (struct word){ line + begin, at - begin };
		count++;
	}
}

/* Takes decimal digits off the word. False: it begins with none, or the number is too long. */
static bool take_number(struct word *word, uint32_t *out)
{
	uint32_t number = 0;
	size_t len = 0;

	while (len < word->len && len <= NUMBER_DIGITS_MAX && word->text[len] >= '0' &&
		word->text[len] <= '9')
		number = number * 10 + (uint32_t)(word->text[len++] - '0');
	if (len == 0 || len > NUMBER_DIGITS_MAX)
		return false;
	*out = number;
	*word = (struct word){ word->text + len, word->len - len };
	return true;
}

static bool take_text(struct word *word, const char *text)
{
	size_t len = strlen(text);

	if (word->len < len || memcmp(word->text, text, len) != 0)
		return false;
	*word = (struct word){ word->text + len, word->len - len };
	return true;
}

/* "3.15": all of its final releases. "3.15.0", "3.15.0b2": one. */
static bool take_version(struct word word, struct cpython_table *out)
{
	static const char *const levels[RELEASE_LEVELS] = { "a", "b", "rc", "" };
	uint32_t minor, micro, level = 0, serial = 0;

	if (!take_text(&word, "3.") || !take_number(&word, &minor) || minor == 0 ||
		minor > VERSION_MAX)
		return false;
	out->version = minor;
	if (word.len == 0)
		return true;
	if (!take_text(&word, ".") || !take_number(&word, &micro) || micro > VERSION_MAX)
		return false;
	while (!take_text(&word, levels[level]))
		level++;
	if (level < RELEASE_LEVELS - 1 && (!take_number(&word, &serial) || serial > 0xf))
		return false;
	out->release = 3U << 24 | minor << 16 | micro << 8 |
		(level < RELEASE_LEVELS - 1 ? 0xa + level : 0xf) << 4 | serial;
	return word.len == 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_build_id(const struct word *word, struct cpython_table *out)
{
	if (word->len == 0 || word->len % 2 != 0 || word->len / 2 > BUILD_ID_BYTES_MAX)
		return false;
	for (size_t i = 0; i < word->len; i += 2) {
		int high = hex_digit(word->text[i]), low = hex_digit(word->text[i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	out->build_id_len = (uint32_t)(word->len / 2);
	return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Values that are words. */
static bool named_value(enum cpython_key key, const struct word *word, uint32_t *out)
{
	static const char *const places[] = {
		[PLACE_BYTES] = "bytes", [PLACE_UNITS] = "units", [PLACE_ADDRESS] = "address"
	};
	static const char *const segments[] = {
		[SEGMENT_EVERY] = "every", [SEGMENT_ENTRY] = "entry", [SEGMENT_SHIM] = "shim"
	};
	const char *const *names = key == KEY_PLACE_KIND ? places : segments;

	_Static_assert(sizeof(places) == sizeof(segments), "three of each");
	for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (word_is(word, names[i])) {
			*out = i;
			return true;
		}
	return false;
}

static enum cpython_table_fault take_value(
	enum cpython_key key, struct word word, struct cpython_table *out)
{
	uint32_t value;

	if (out->given[key])
		return CPYTHON_TABLE_TWICE;
	if (key == KEY_PLACE_KIND || key == KEY_SEGMENT_KIND) {
		if (!named_value(key, &word, &value))
			return CPYTHON_TABLE_VALUE;
	} else if (!take_number(&word, &value) || word.len > 0 || value > keys[key].max) {
		return CPYTHON_TABLE_VALUE;
	}
	out->values[key] = (uint16_t)value;
	out->given[key] = 1;
	return CPYTHON_TABLE_OK;
}

struct parse {
	struct cpython_table *out;
	bool runtime, build;
};

/* Lines that say what the table is for. CPYTHON_TABLE_KEY: it is another one. */
static enum cpython_table_fault take_binding(struct parse *p, const struct word words[2])
{
	bool twice, good;

	if (word_is(&words[0], "runtime")) {
		twice = p->runtime;
		good = p->runtime = word_is(&words[1], "cpython");
	} else if (word_is(&words[0], "version")) {
		twice = p->out->version != 0;
		good = twice || take_version(words[1], p->out);
	} else if (word_is(&words[0], "build")) {
		twice = p->build;
		p->out->free_threaded = word_is(&words[1], "free-threaded");
		good = p->build = p->out->free_threaded || word_is(&words[1], "default");
	} else if (word_is(&words[0], "build-id")) {
		twice = p->out->build_id_len != 0;
		good = twice || take_build_id(&words[1], p->out);
	} else {
		return CPYTHON_TABLE_KEY;
	}
	if (twice)
		return CPYTHON_TABLE_TWICE;
	return good ? CPYTHON_TABLE_OK : CPYTHON_TABLE_VALUE;
}

static enum cpython_table_fault take_line(struct parse *p, const char *line, size_t len)
{
	struct word words[2];
	size_t count = split(line, len, words);
	enum cpython_table_fault fault;

	if (count == 0)
		return CPYTHON_TABLE_OK;
	if (count != 2)
		return CPYTHON_TABLE_LINE;
	fault = take_binding(p, words);
	for (size_t i = 0; fault == CPYTHON_TABLE_KEY && i < KEYS_LEN; i++)
		if (word_is(&words[0], keys[i].text))
			return take_value((enum cpython_key)i, words[1], p->out);
	return fault;
}

static bool take_head(const char *line, size_t len)
{
	struct word words[2];

	return split(line, len, words) == 2 && word_is(&words[0], "stoker-table") &&
		word_is(&words[1], "1");
}

static enum cpython_table_fault take_lines(struct parse *p, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;
		enum cpython_table_fault fault;

		if (p->out->line++ == 0)
			fault = take_head(text, line_len) ? CPYTHON_TABLE_OK : CPYTHON_TABLE_HEAD;
		else
			fault = take_line(p, text + at, line_len);
		if (fault != CPYTHON_TABLE_OK)
			return fault;
		at += line_len + 1;
	}
	return CPYTHON_TABLE_OK;
}

void cpython_table_parse(const char *text, size_t len, struct cpython_table *out)
{
	struct parse p = { .out = out };

	*out = (struct cpython_table){ 0 };
	if (len > CPYTHON_TABLE_BYTES_MAX || memchr(text, '\0', len)) {
		out->fault = CPYTHON_TABLE_TEXT;
		return;
	}
	out->fault = len > 0 ? take_lines(&p, text, len) : CPYTHON_TABLE_HEAD;
	if (out->fault != CPYTHON_TABLE_OK)
		return;
	out->line = 0;
	out->fault = p.runtime ? cpython_table_check(out) : CPYTHON_TABLE_RUNTIME;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_large(const struct cpython_table *t)
{
	static const enum cpython_key words[] = { KEY_FRAME_CODE, KEY_FRAME_PREVIOUS,
		KEY_FRAME_PLACE };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (t->values[words[i]] > LANGUAGE_FRAME_SMALL - sizeof(uint64_t))
			return true;
	return t->values[KEY_FRAME_END] >= LANGUAGE_FRAME_SMALL ||
		t->values[KEY_FRAME_COPY] > LANGUAGE_FRAME_SMALL - sizeof(uint32_t);
}

static uint16_t window_of(const struct cpython_table *t)
{
	return (uint16_t)(CODE_WINDOW + t->values[KEY_OBJECT_EXTRA]);
}

/* BPF reads aligned words of a frame and of a code, and the latter from its window on. */
static bool fits_windows(const struct cpython_table *t)
{
	static const enum cpython_key words[] = { KEY_FRAME_CODE, KEY_FRAME_PREVIOUS,
		KEY_CODE_FILE, KEY_CODE_NAME, KEY_CODE_LINES, KEY_OBJECT_EXTRA };
	static const enum cpython_key halves[] = { KEY_FRAME_PLACE, KEY_FRAME_COPY,
		KEY_CODE_FIRST_LINE };
	static const enum cpython_key code[] = { KEY_CODE_FILE, KEY_CODE_NAME,
		KEY_CODE_LINES, KEY_CODE_FIRST_LINE };
	uint16_t window = window_of(t);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (t->values[words[i]] % sizeof(uint64_t) != 0)
			return false;
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
		if (t->values[halves[i]] % sizeof(uint32_t) != 0)
			return false;
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		if (t->values[code[i]] < window ||
			t->values[code[i]] - window > LANGUAGE_CODE_WINDOW - (int)sizeof(uint64_t))
			return false;
	return t->values[KEY_PLACE_KIND] != PLACE_ADDRESS ||
		(t->given[KEY_CODE_FIRST] &&
			t->values[KEY_FRAME_PLACE] % sizeof(uint64_t) == 0);
}

/* A thread has its innermost frame, or a link to it; links are in a chain. */
static bool has_links(const struct cpython_table *t)
{
	const bool frame = t->values[KEY_THREAD_FRAME], link = t->values[KEY_THREAD_LINK];

	if (!frame && (!link || !t->given[KEY_LINK_FRAME]))
		return false;
	if (t->values[KEY_SEGMENT_KIND] == SEGMENT_EVERY)
		return true;
	return t->given[KEY_FRAME_END] && t->given[KEY_SEGMENT_VALUE] &&
		(t->values[KEY_SEGMENT_KIND] != SEGMENT_ENTRY ||
			(link && t->given[KEY_LINK_PREVIOUS]));
}

static bool is_whole(const struct cpython_table *t)
{
	for (size_t i = 0; i < KEYS_LEN; i++)
		if (keys[i].needed && !t->given[i])
			return false;
	return true;
}

enum cpython_table_fault cpython_table_check(const struct cpython_table *t)
{
	if (t->version == 0 || t->version > VERSION_MAX || t->free_threaded > 1 ||
		t->build_id_len > BUILD_ID_BYTES_MAX ||
		(t->release && (t->release >> 16) != (3U << 8 | t->version)))
		return CPYTHON_TABLE_VERSION;
	for (size_t i = 0; i < KEYS_LEN; i++)
		if (t->values[i] > keys[i].max || t->given[i] > 1 || (t->values[i] && !t->given[i]))
			return CPYTHON_TABLE_VALUE;
	if (!is_whole(t))
		return CPYTHON_TABLE_MISSING;
	if (!fits_windows(t))
		return CPYTHON_TABLE_WINDOW;
	return has_links(t) ? CPYTHON_TABLE_OK : CPYTHON_TABLE_LINK;
}

/* ---- use ------------------------------------------------------------------------------------- */

bool cpython_table_fits(const struct cpython_table *table, const struct cpython_facts *facts,
	const struct build_id *id)
{
	if (table->version != facts->version || table->free_threaded != facts->free_threaded)
		return false;
	if (table->build_id_len > 0 && (table->build_id_len != id->len ||
			memcmp(table->build_id, id->bytes, id->len) != 0))
		return false;
	/* Structs of a version may change until its first final release. Files of versions before
	 * 3.11 do not say which release they are. */
	if (table->release == 0)
		return table->build_id_len > 0 || facts->release == 0 ||
			(facts->release & 0xf0) == RELEASE_FINAL;
	return table->release == facts->release;
}

void cpython_table_describe(
	const struct cpython_table *t, const struct cpython_facts *facts, struct language *out)
{
	const uint16_t *v = t->values;
	const uint16_t window = window_of(t);

	*out = (struct language){
		.kind = LANGUAGE_CPYTHON,
		.version = (uint8_t)t->version,
		.segment_end = (uint8_t)v[KEY_SEGMENT_KIND],
		.segment_value = (uint8_t)v[KEY_SEGMENT_VALUE],
		.runtime = facts->runtime,
		.code_type = facts->code_type,
		.eval_begin = facts->eval_begin,
		.eval_end = facts->eval_end,
		.key = v[KEY_RUNTIME_KEY],
		.current = v[KEY_RUNTIME_CURRENT],
		.interpreters = v[KEY_RUNTIME_INTERPRETERS],
		.threads = v[KEY_INTERPRETER_THREADS],
		.thread_next = v[KEY_THREAD_NEXT],
		.thread_id = v[KEY_THREAD_ID],
		.thread_frame = v[KEY_THREAD_FRAME],
		.thread_link = v[KEY_THREAD_LINK],
		.link_frame = v[KEY_LINK_FRAME],
		.link_previous = v[KEY_LINK_PREVIOUS],
		.code_window = window,
		.code_first = v[KEY_CODE_FIRST],
		.code_copies = v[KEY_CODE_COPIES],
		.place_kind = (uint8_t)v[KEY_PLACE_KIND],
		.frame_is_large = is_large(t),
		.frame_code = (uint8_t)v[KEY_FRAME_CODE],
		.frame_previous = (uint8_t)v[KEY_FRAME_PREVIOUS],
		.frame_place = (uint8_t)v[KEY_FRAME_PLACE],
		.frame_end = (uint8_t)v[KEY_FRAME_END],
		.frame_copy = (uint8_t)v[KEY_FRAME_COPY],
		.code_file = (uint8_t)(v[KEY_CODE_FILE] - window),
		.code_name = (uint8_t)(v[KEY_CODE_NAME] - window),
		.code_lines = (uint8_t)(v[KEY_CODE_LINES] - window),
		.code_first_line = (uint8_t)(v[KEY_CODE_FIRST_LINE] - window),
		.text_ascii = (uint8_t)v[KEY_TEXT_ASCII],
		.text_other = (uint8_t)v[KEY_TEXT_OTHER],
		.code_tag = (uint8_t)v[KEY_CODE_TAG],
		.object_extra = (uint8_t)v[KEY_OBJECT_EXTRA],
		.text_shift = (uint8_t)v[KEY_TEXT_SHIFT],
	};
}
