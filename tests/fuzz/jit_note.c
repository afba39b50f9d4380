/* SPDX-License-Identifier: Apache-2.0 */
/* jit_note.c - notes of switches: a damaged one is refused, and one that is taken is printed as it
 * was read. */
#include "fuzz.h"
#include "jit/jit_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf printed = BUF_INIT;
	const struct buf text = { .data = (char *)data, .len = size };
	struct jit_note_writer writer, again_writer;
	struct jit_note note, again;

	if (jit_note_parse(&text, &note, &writer) < 0)
		return 0;
	must(note.dir[0] == '/' && memchr(note.dir, '\0', sizeof(note.dir)) != NULL);
	must(note.pid > 0 && note.pid <= INT32_MAX && note.ns_pid > 0 && note.ns_pid <= INT32_MAX);
	must(jit_note_print(&note, &writer, &printed) == 0);
	must(printed.len <= JIT_NOTE_BYTES_MAX);
	must(jit_note_parse(&printed, &again, &again_writer) == 0);
	must(memcmp(&again, &note, sizeof(note)) == 0);
	must(writer.boot == again_writer.boot && writer.pid_ns == again_writer.pid_ns);
	return 0;
}
