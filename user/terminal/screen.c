/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screen.c - the few functions of ncurses that a table needs, looked up by name. ncurses
 * has global state: one screen a process. */
#define NCURSES_WIDECHAR 1
#include "terminal/screen.h"

#include <curses.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/library.h"
#include "base/own.h"

#undef getmaxx /* the functions, not the macros */
#undef getmaxy

#define ESCAPE_MS 25 /* a byte that comes later than this after an escape is a key of its own */

/* Each with the type that the header gives it. */
#define FUNCTIONS(F)                                                                               \
	F(newterm)                                                                                 \
	F(endwin)                                                                                  \
	F(delscreen)                                                                               \
	F(cbreak)                                                                                  \
	F(noecho)                                                                                  \
	F(nonl)                                                                                    \
	F(keypad)                                                                                  \
	F(nodelay)                                                                                 \
	F(wgetch) F(wmove) F(waddnwstr) F(wattrset) F(wclrtoeol) F(werase) F(wrefresh) F(curs_set) \
		F(has_colors) F(start_color) F(use_default_colors) F(init_pair) F(resizeterm)      \
			F(getmaxx) F(getmaxy) F(set_escdelay) F(wchgat) F(clearok)

struct screen {
	SCREEN *term;
	WINDOW **standard; /* the library's stdscr */
	WINDOW *window;
	bool colour;
#define F(name) __typeof__(name) *name;
	FUNCTIONS(F)
#undef F
};

static bool load(struct screen *s)
{
	static const char *const files[] = { "libncursesw.so.6", NULL };
	static const struct library_symbol symbols[] = {
		{ "stdscr", offsetof(struct screen, standard) },
#define F(fn) { #fn, offsetof(struct screen, fn) },
		FUNCTIONS(F)
#undef F
	};

	return library_load(files, symbols, ARRAY_SIZE(symbols), s);
}

static void open_colours(struct screen *s)
{
	static const short colours[SCREEN_STYLES] = {
		[SCREEN_NATIVE] = -1,
		[SCREEN_KERNEL] = COLOR_CYAN,
		[SCREEN_JIT] = COLOR_GREEN,
		[SCREEN_WARN] = COLOR_YELLOW,
		[SCREEN_BOLD] = -1,
		[SCREEN_PLAIN] = -1,
		[SCREEN_DIM] = -1,
		[SCREEN_HEAD] = -1,
		[SCREEN_CHOSEN] = -1,
	};

	s->colour = s->colour && s->has_colors();
	if (!s->colour)
		return;
	s->start_color();
	s->use_default_colors();
	for (int i = 1; i < SCREEN_STYLES; i++)
		s->init_pair((short)i, colours[i], -1);
}

int screen_check(struct why *why)
{
	return library_check("top", "ncurses", "`stoker record`", why);
}

int screen_open(bool colour, struct screen **out, struct why *why)
{
	struct screen *s = calloc(1, sizeof(*s));

	if (!s)
		return why_set(why, -ENOMEM, "out of memory");
	s->colour = colour;
	if (!load(s)) {
		free(s);
		return why_set(why, -ENOENT,
			"`stoker top` needs libncursesw.so.6; install the package libncursesw6");
	}
	s->term = s->newterm(NULL, stdout, stdin);
	if (!s->term) {
		free(s);
		return why_set(why, -ENOTTY,
			"TERM is %s, an unknown terminal; set TERM to one that terminfo has",
			getenv("TERM") ? getenv("TERM") : "not set");
	}
	s->window = *s->standard;
	s->cbreak();
	s->noecho();
	s->nonl();
	s->set_escdelay(ESCAPE_MS);
	s->keypad(s->window, TRUE);
	s->nodelay(s->window, TRUE);
	s->curs_set(0);
	open_colours(s);
	*out = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	s->endwin();
	s->delscreen(s->term);
	free(s);
}

int screen_key(struct screen *s)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ ERR, SCREEN_KEY_NONE },
		{ KEY_UP, SCREEN_KEY_UP },
		{ KEY_DOWN, SCREEN_KEY_DOWN },
		{ KEY_LEFT, SCREEN_KEY_LEFT },
		{ KEY_RIGHT, SCREEN_KEY_RIGHT },
		{ KEY_PPAGE, SCREEN_KEY_PAGE_UP },
		{ KEY_NPAGE, SCREEN_KEY_PAGE_DOWN },
		{ KEY_HOME, SCREEN_KEY_HOME },
		{ KEY_END, SCREEN_KEY_END },
		{ KEY_ENTER, SCREEN_KEY_ENTER },
		{ '\r', SCREEN_KEY_ENTER },
		{ '\n', SCREEN_KEY_ENTER },
		{ KEY_BACKSPACE, SCREEN_KEY_BACK },
		{ 0x7f, SCREEN_KEY_BACK },
		{ '\b', SCREEN_KEY_BACK },
		{ 0x1b, SCREEN_KEY_ESCAPE },
		{ '\t', SCREEN_KEY_TAB },
	};
	int key = s->wgetch(s->window);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key > 0xff ? SCREEN_KEY_OTHER : key;
}

void screen_resize(struct screen *s)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		s->resizeterm(size.ws_row, size.ws_col);
	s->clearok(s->window, TRUE);
}

int screen_rows(const struct screen *s)
{
	return s->getmaxy(s->window);
}

int screen_columns(const struct screen *s)
{
	return s->getmaxx(s->window);
}

void screen_clear(struct screen *s)
{
	s->werase(s->window);
}

static attr_t attributes(const struct screen *s, enum screen_style style)
{
	attr_t bits = s->colour ? (attr_t)COLOR_PAIR(style) : 0;

	if (style == SCREEN_BOLD)
		bits |= A_BOLD;
	if (style == SCREEN_DIM)
		bits |= A_DIM;
	if (style == SCREEN_HEAD)
		bits |= A_UNDERLINE;
	if (style == SCREEN_CHOSEN)
		bits |= A_REVERSE;
	return bits;
}

/* The next character; what is none, or is of no width, is '?'. */
static wchar_t next_char(const char **text, mbstate_t *state)
{
	wchar_t c;
	size_t len = mbrtowc(&c, *text, MB_CUR_MAX, state);

	if (len == 0 || len > 16) {
		memset(state, 0, sizeof(*state));
		(*text)++;
		return L'?';
	}
	*text += len;
	return wcwidth(c) < 1 ? L'?' : c;
}

int screen_put(
	struct screen *s, int row, int column, int width, enum screen_style style, const char *text)
{
	int room = screen_columns(s) - column, used = 0;
	mbstate_t state = { 0 };

	if (row < 0 || row >= screen_rows(s) || room <= 0)
		return 0;
	room = width < room ? width : room;
	s->wattrset(s->window, (int)attributes(s, style));
	s->wmove(s->window, row, column);
	while (*text) {
		wchar_t c = next_char(&text, &state);

		if (used + wcwidth(c) > room)
			break;
		used += wcwidth(c);
		s->waddnwstr(s->window, &c, 1);
	}
	s->wattrset(s->window, A_NORMAL);
	return used;
}

void screen_bar(struct screen *s, int row, enum screen_style style)
{
	s->wmove(s->window, row, 0);
	s->wchgat(s->window, -1, attributes(s, style), (short)(s->colour ? style : 0), NULL);
}

void screen_show(struct screen *s)
{
	s->wrefresh(s->window);
}
