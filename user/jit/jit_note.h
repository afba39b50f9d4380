/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_note.h - a note of a switch that was made in a process, as a file. It is written before
 * the switch is made, so that another stoker can undo it if this one is killed. The name has the
 * process and the writer; the content is one line. Only root may write to the folder, yet no number
 * of a note is trusted: jit/jit_left.h compares all of them with what is there now. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "jit/jit_control.h"

#define JIT_NOTE_BYTES_MAX 2048
#define JIT_NOTES_MAX 4096 /* read at once */

struct jit_note {
	uint64_t pid;
	uint64_t start_ticks; /* as of struct jit_target */
	uint64_t runtime;     /* enum jit_control_runtime */
	uint64_t ns_pid, uid;
	uint64_t had;       /* a bit for each enum jit_control_file, the next one for the socket */
	uint64_t since_ns;  /* CLOCK_REALTIME of the process's start */
	uint64_t noted_ns;  /* the same of the note */
	uint64_t mount_ns;  /* number of its mount namespace */
	uint64_t dir_dev, dir_ino;
	char dir[256];      /* of its files, as the process names it */
};

/* Whoever writes notes, and where its pids are valid. */
struct jit_note_writer {
	uint64_t pid, start_ticks;
	uint64_t boot;   /* of this boot of the kernel */
	uint64_t pid_ns; /* number of its pid namespace */
};

/* This process. */
int jit_note_self(struct jit_note_writer *out);
/* Did this process begin with that start? False also for a zombie. */
bool jit_note_lives(uint64_t pid, uint64_t start_ticks);

/* The control is prepared. -errno: its folder cannot be looked at. */
int jit_note_make(const struct jit_control *control, struct jit_note *out);
/* Puts the files that were there before into a control that is open. */
void jit_note_restore(const struct jit_note *note, struct jit_control *control);

/* Appends the line. 0 or -ENOMEM. */
int jit_note_print(
	const struct jit_note *note, const struct jit_note_writer *writer, struct buf *out);
/* -EBADMSG: not such a line. */
int jit_note_parse(const struct buf *text, struct jit_note *out, struct jit_note_writer *writer);

/* In a folder of notes. 0 or -errno. */
int jit_note_write(
	int dir, const struct jit_note *note, const struct jit_note_writer *writer);
int jit_note_remove(
	int dir, const struct jit_note *note, const struct jit_note_writer *writer);
/* Gives each note whose writer has ended to `found`, as one of `self`. ended: the process has
 * ended. The note stays unless found returns true. Other files are removed; notes of another pid
 * namespace of this boot stay. */
int jit_note_take(int dir, const struct jit_note_writer *self,
	bool (*found)(void *ctx, const struct jit_note *note, bool ended), void *ctx);
