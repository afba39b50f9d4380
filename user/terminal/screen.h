/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screen.h - the terminal as a grid of text, by ncurses (libncursesw.so.6), which is
 * loaded when a screen is opened: the processes that hold privileges never have it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_HEAD,   /* a line that stands apart */
	SCREEN_CHOSEN, /* the line that keys act on */
	SCREEN_NATIVE,
	SCREEN_KERNEL,
	SCREEN_JIT,
	SCREEN_WARN,
	SCREEN_STYLES,
};

enum screen_key {
	SCREEN_KEY_NONE = -1,
	SCREEN_KEY_UP = 0x110000, /* below: characters */
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_ENTER,
	SCREEN_KEY_BACK,
	SCREEN_KEY_ESCAPE,
	SCREEN_KEY_TAB,
	SCREEN_KEY_OTHER,
};

struct screen;

/* -ENOSYS with why: a static build has no screen. To be asked before anything is sampled for it. */
int screen_check(struct why *why);
/* Takes the terminal over. Without colour where colour is false or the terminal has none. -ENOENT
 * with why: no ncurses here; -ENOTTY: a terminal that it does not know. */
int screen_open(bool colour, struct screen **out, struct why *why);
/* Gives it back as it was. */
void screen_close(struct screen *screen);

/* What was pressed, without waiting: a character, an enum screen_key, or SCREEN_KEY_NONE. */
int screen_key(struct screen *screen);
/* After the terminal's size changed. */
void screen_resize(struct screen *screen);
int screen_rows(const struct screen *screen);
int screen_columns(const struct screen *screen);

void screen_clear(struct screen *screen);
/* UTF-8 text cut to width columns; what cannot be printed is '?'. Returns the columns it took. */
int screen_put(struct screen *screen, int row, int column, int width, enum screen_style style,
	const char *text);
/* The row's style, over its whole width. */
void screen_bar(struct screen *screen, int row, enum screen_style style);
void screen_show(struct screen *screen);
