/* SPDX-License-Identifier: Apache-2.0 */
/* code_name.c - an event of code, whose names and lines a process chose: the small fields come
 * first, then lengths of the three texts, then the texts. Its texts are UTF-8 of a bounded length,
 * and each place has a line or none. The bytes as they are, too, are an event. */
#include "fuzz.h"

#include <stddef.h>

#include "language/code_name.h"

#define GROWTH_MAX 8 /* bytes of UTF-8 and of escapes for one of the event's */
#define PLACES 64 /* each seven apart */

static void name_all(const struct event_code *code)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT;
	_cleanup_(buf_done) struct buf file = BUF_INIT;

	must(code_put_name(code, &name) == 0 && code_put_file(code, &file) == 0);
	must(name.len <= GROWTH_MAX * (sizeof(code->name) + sizeof(code->file)));
	must(file.len <= GROWTH_MAX * sizeof(code->file));
	touch(name.data, name.len);
	touch(file.data, file.len);
	for (uint32_t place = 0; place < PLACES * 7; place += 7)
		(void)code_line(code, place);
	(void)code_line(code, UINT32_MAX);
}

static void try(const void *data, size_t size)
{
	struct event_code *code = malloc(size);

	must(code != NULL || size == 0);
	if (size > 0)
		memcpy(code, data, size);
	if (size >= offsetof(struct event_code, lines) && code_valid(code, size))
		name_all(code);
	free(code);
}

/* Takes up to most bytes for one of the texts. */
static uint16_t take(const uint8_t **data, size_t *size, size_t wanted, size_t most, uint8_t *out)
{
	size_t len = wanted < most ? wanted : most;

	len = len < *size ? len : *size;
	memcpy(out, *data, len);
	*data += len;
	*size -= len;
	return (uint16_t)len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_code code;
	size_t name, file;

	try(data, size);
	if (size < 12)
		return 0;
	code = (struct event_code){
		.language = LANGUAGE_CPYTHON + data[0] % (LANGUAGE_HOTSPOT - LANGUAGE_CPYTHON + 1),
		.version = data[1],
		.name_width = 1 << data[2] % 3,
		.file_width = 1 << data[3] % 3,
		.name_cut = data[4] & 1,
		.file_cut = data[4] >> 1 & 1,
		.first_line = (int32_t)((uint32_t)data[5] << 24 | data[6]),
	};
	name = (size_t)data[8] << 8 | data[9];
	file = (size_t)data[10] << 8 | data[11];
	data += 12;
	size -= 12;
	code.name_bytes = take(&data, &size, name, sizeof(code.name), code.name);
	code.file_bytes = take(&data, &size, file, sizeof(code.file), code.file);
	code.lines_bytes = take(&data, &size, size, sizeof(code.lines), code.lines);
	try(&code, offsetof(struct event_code, lines) + code.lines_bytes);
	return 0;
}
