/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screen.h - the terminal as a grid of text, by ncurses (libncursesw.so.6). It is loaded
 * when a screen is opened, and never in a process with privileges. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_HEAD,   /* the table's head */
	SCREEN_CHOSEN, /* the selected line */
	SCREEN_NATIVE,
	SCREEN_KERNEL,
	SCREEN_JIT,
	SCREEN_WARN,
	SCREEN_STYLES,
};

enum screen_key {
	SCREEN_KEY_NONE = -1,
	SCREEN_KEY_UP = 0x110000, /* values below are characters */
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

/* -ENOSYS with why: a static build has no screen. Call it before sampling begins. */
int screen_check(struct why *why);
/* Takes over the terminal. No colour if colour is false or the terminal has none. -ENOENT with why:
 * ncurses is not installed; -ENOTTY: an unknown terminal. */
int screen_open(bool colour, struct screen **out, struct why *why);
/* Restores the terminal. */
void screen_close(struct screen *screen);

/* The next key, without waiting: a character, an enum screen_key, or SCREEN_KEY_NONE. */
int screen_key(struct screen *screen);
/* Call it after the terminal's size changed. */
void screen_resize(struct screen *screen);
int screen_rows(const struct screen *screen);
int screen_columns(const struct screen *screen);

void screen_clear(struct screen *screen);
/* Prints UTF-8 text cut to width columns; unprintable characters become '?'. Returns the columns
 * used. */
int screen_put(struct screen *screen, int row, int column, int width, enum screen_style style,
	const char *text);
/* Sets the style of a whole row. */
void screen_bar(struct screen *screen, int row, enum screen_style style);
void screen_show(struct screen *screen);
