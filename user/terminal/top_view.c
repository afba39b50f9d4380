/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/top_view.c - one loop over keys, signals and the recorder's output. The next interval is
 * read while the previous one is shown. When complete it replaces that, or is dropped while the
 * table is paused. The selection is kept by name, because each interval numbers its names anew. */
#include "terminal/top_view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "terminal/screen.h"
#include "terminal/top_draw.h"
#include "profile/ranking.h"

#define READ_SIZE (64 * 1024)
#define LINE_MAX_BYTES (1 << 20)
#define TALK_MAX 4096

struct view {
	const struct top_view_options *options;
	struct top_table table;
	struct ranking *shown, *incoming;
	struct buf line; /* the beginning of a line whose end is not there yet */
	struct buf talk;
	size_t drawn; /* bytes of talk when the table was last drawn */
	size_t seen;  /* of these, those that were there when a key was pressed */
	int signals;
	bool over;
};

/* ---- what is shown --------------------------------------------------------------------------- */

static bool is_function_list(const struct top_table *t)
{
	return t->tab == TOP_FUNCTIONS && t->chain_len == 0;
}

/* Rows whose name has the filter's text in it, whatever the case. */
static void filter_rows(struct top_table *t)
{
	size_t kept = 0;

	if (!t->filter[0])
		return;
	for (size_t i = 0; i < t->rows.len; i++)
		if (strcasestr(t->rows.data[i].name, t->filter))
			t->rows.data[kept++] = t->rows.data[i];
	t->rows.len = kept;
}

/* The row that was chosen stays chosen, wherever it is now. */
static void find_chosen(struct top_table *t)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		if (strcmp(t->rows.data[i].name, t->chosen_name) == 0 &&
			strcmp(t->rows.data[i].pid, t->chosen_pid) == 0) {
			t->chosen = i;
			return;
		}
	}
	if (t->chosen >= t->rows.len)
		t->chosen = t->rows.len > 0 ? t->rows.len - 1 : 0;
}

static int make_rows(struct view *v)
{
	struct top_table *t = &v->table;
	const struct ranking_only only = {
		.container = t->only_container, .pid = t->only_pid, .waits = v->options->hz == 0
	};
	const char *const *chain = (const char *const *)t->chain;
	int err;

	if (t->chain_len > 0)
		err = ranking_callers(v->shown, &only, chain, t->chain_len, &t->rows);
	else if (t->tab == TOP_FUNCTIONS)
		err = ranking_functions(v->shown, &only, &t->rows);
	else if (t->tab == TOP_PROCESSES)
		err = ranking_processes(v->shown, &t->rows);
	else
		err = ranking_containers(v->shown, &t->rows);
	t->total = ranking_total(v->shown);
	t->guessed = ranking_guessed(v->shown);
	t->dropped = ranking_dropped(v->shown);
	filter_rows(t);
	ranking_sort(&t->rows,
		is_function_list(t) || t->order == RANKING_BY_NAME ? t->order : RANKING_BY_TOTAL);
	find_chosen(t);
	return err;
}

/* ---- what was chosen ------------------------------------------------------------------------- */

static void replace(char **slot, const char *text)
{
	free(*slot);
	*slot = text ? strdup(text) : NULL;
}

static void choose(struct top_table *t, long to)
{
	long last = (long)t->rows.len - 1;

	to = to > last ? last : to;
	t->chosen = to < 0 ? 0 : (size_t)to;
	if (t->rows.len == 0)
		return;
	snprintf(t->chosen_name, sizeof(t->chosen_name), "%s", t->rows.data[t->chosen].name);
	snprintf(t->chosen_pid, sizeof(t->chosen_pid), "%s", t->rows.data[t->chosen].pid);
}

static void choose_first(struct top_table *t)
{
	t->chosen = t->first = 0;
	t->chosen_name[0] = t->chosen_pid[0] = '\0';
}

static void show_tab(struct top_table *t, enum top_tab tab)
{
	while (t->chain_len > 0)
		replace(&t->chain[--t->chain_len], NULL);
	replace(&t->only_container, NULL);
	replace(&t->only_pid, NULL);
	t->filter[0] = '\0';
	t->tab = tab;
	choose_first(t);
}

/* Into the callers of a function, or the functions of a process or container. */
static void drill(struct top_table *t)
{
	const struct ranking_row *row;
	char *name;

	if (t->rows.len == 0 || t->chain_len >= TOP_CHAIN_MAX)
		return;
	row = &t->rows.data[t->chosen];
	if (t->tab == TOP_FUNCTIONS) {
		t->chain[t->chain_len] = strdup(row->name);
		t->chain_len += t->chain[t->chain_len] != NULL;
	} else {
		enum top_tab from = t->tab;

		name = strdup(from == TOP_PROCESSES ? row->pid : row->name);
		show_tab(t, TOP_FUNCTIONS);
		replace(from == TOP_PROCESSES ? &t->only_pid : &t->only_container, name);
		free(name);
	}
	t->filter[0] = '\0';
	choose_first(t);
}

static void go_back(struct top_table *t)
{
	if (t->filter[0]) {
		t->filter[0] = '\0';
	} else if (t->chain_len > 0) {
		choose_first(t);
		t->chain_len--;
		snprintf(t->chosen_name, sizeof(t->chosen_name), "%s", t->chain[t->chain_len]);
		replace(&t->chain[t->chain_len], NULL);
	} else if (t->only_pid) {
		show_tab(t, TOP_PROCESSES);
	} else if (t->only_container) {
		show_tab(t, TOP_CONTAINERS);
	}
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* One character, of however many bytes. */
static void drop_last(char *text, size_t len)
{
	while (len > 0 && ((unsigned char)text[--len] & 0xc0) == 0x80)
		;
	text[len] = '\0';
}

static void type_filter(struct top_table *t, int key)
{
	size_t len = strlen(t->filter);

	if (key == SCREEN_KEY_ENTER)
		t->typing = false;
	else if (key == SCREEN_KEY_ESCAPE)
		t->filter[0] = '\0', t->typing = false;
	else if (key == SCREEN_KEY_BACK && len > 0)
		drop_last(t->filter, len);
	else if (key >= ' ' && key <= 0xff && len + 1 < sizeof(t->filter))
		t->filter[len] = (char)key, t->filter[len + 1] = '\0';
	choose_first(t);
}

static bool move_key(struct top_table *t, int key)
{
	const struct {
		int key;
		long to;
	} moves[] = {
		{ SCREEN_KEY_UP, (long)t->chosen - 1 },
		{ SCREEN_KEY_DOWN, (long)t->chosen + 1 },
		{ 'k', (long)t->chosen - 1 },
		{ 'j', (long)t->chosen + 1 },
		{ SCREEN_KEY_PAGE_UP, (long)t->chosen - t->page },
		{ SCREEN_KEY_PAGE_DOWN, (long)t->chosen + t->page },
		{ SCREEN_KEY_HOME, 0 },
		{ SCREEN_KEY_END, (long)t->rows.len - 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		if (moves[i].key == key) {
			choose(t, moves[i].to);
			return true;
		}
	}
	return false;
}

static void press(struct view *v, int key)
{
	struct top_table *t = &v->table;

	if (t->typing) {
		type_filter(t, key);
		return;
	}
	if (t->help && key != 'q') {
		t->help = false;
		return;
	}
	if (move_key(t, key))
		return;
	if (key == 'q')
		v->over = true;
	else if (key >= '1' && key <= '3')
		show_tab(t, (enum top_tab)(key - '1'));
	else if (key == SCREEN_KEY_TAB)
		show_tab(t, (enum top_tab)((t->tab + 1) % TOP_TABS));
	else if (key == 's')
		t->order = (enum ranking_order)((t->order + 1) % RANKING_ORDERS);
	else if (key == ' ' || key == 'p')
		t->paused = !t->paused;
	else if (key == '/')
		t->typing = true;
	else if (key == 'h' || key == '?')
		t->help = true;
	else if (key == SCREEN_KEY_ENTER || key == SCREEN_KEY_RIGHT)
		drill(t);
	else if (key == SCREEN_KEY_BACK || key == SCREEN_KEY_ESCAPE || key == SCREEN_KEY_LEFT)
		go_back(t);
}

/* ---- what comes in --------------------------------------------------------------------------- */

static int end_interval(struct view *v)
{
	if (!v->table.paused) {
		struct ranking *old = v->shown;

		v->shown = v->incoming;
		v->incoming = old;
		v->table.intervals++;
	}
	/* rows point into what was shown: it is cleared when they are made anew */
	if (make_rows(v) < 0)
		return -ENOMEM;
	return ranking_clear(v->incoming);
}

static int take_line(struct view *v, const char *line, size_t len)
{
	int err;

	if (len == 0)
		return end_interval(v);
	err = ranking_line(v->incoming, line, len);
	return err == -EBADMSG ? 0 : err;
}

static int take_bytes(struct view *v, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		int err = buf_put(&v->line, bytes, part);

		if (err == 0 && end) {
			err = take_line(v, v->line.data ? v->line.data : "", v->line.len);
			buf_clear(&v->line);
		}
		if (err < 0)
			return err;
		if (v->line.len > LINE_MAX_BYTES)
			buf_clear(&v->line);
		part += end != NULL;
		bytes += part;
		len -= part;
	}
	return 0;
}

/* 1: there may be more; 0: the recorder has ended. */
static int read_profiles(struct view *v)
{
	char bytes[READ_SIZE];
	ssize_t len = read(v->options->profiles, bytes, sizeof(bytes));
	int err;

	if (len < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	err = len > 0 ? take_bytes(v, bytes, (size_t)len) : 0;
	return err < 0 ? err : len > 0;
}

/* Keeps the last of what the recorder said. False: nothing was there. */
static bool read_talk(struct view *v)
{
	char bytes[1024];
	ssize_t len = read(v->options->talk, bytes, sizeof(bytes));

	if (len <= 0)
		return false;
	if (v->talk.len > TALK_MAX) {
		buf_clear(&v->talk);
		v->drawn = v->seen = 0;
	}
	buf_put(&v->talk, bytes, (size_t)len);
	return true;
}

/* The last line after FROM bytes: an error, where there is one. */
static void copy_last_message(struct view *v, size_t from, char *text, size_t size)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;
	char *line = v->talk.data ? v->talk.data + from : NULL, *end;

	text[0] = '\0';
	for (; line && *line; line = end + (*end != '\0')) {
		char saved;

		end = line + strcspn(line, "\n");
		saved = *end;
		*end = '\0';
		buf_clear(&clean);
		if (end > line && utf8_put_clean(&clean, line) == 0)
			snprintf(text, size, "%s", clean.data);
		*end = saved;
	}
}

static void take_signal(struct view *v)
{
	struct signalfd_siginfo signal;

	while (read(v->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGWINCH)
			screen_resize(v->table.screen);
		else
			v->over = true;
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int take_keys(struct view *v)
{
	int key, err = 0;

	while (err == 0 && !v->over && (key = screen_key(v->table.screen)) != SCREEN_KEY_NONE) {
		press(v, key);
		v->seen = v->drawn;
		err = make_rows(v);
	}
	return err;
}

static int loop(struct view *v, struct why *why)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = v->options->profiles, .events = POLLIN },
		{ .fd = v->options->talk, .events = POLLIN },
		{ .fd = v->signals, .events = POLLIN },
	};
	int more = 1, err = 0;

	while (!v->over && more > 0 && err == 0) {
		copy_last_message(v, v->seen, v->table.said, sizeof(v->table.said));
		v->drawn = v->talk.len;
		top_draw(&v->table);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return why_set(why, -errno, "cannot wait: %s", err_text(errno));
		if (fds[2].revents & POLLIN)
			read_talk(v);
		else if (fds[2].revents)
			fds[2].fd = -1;
		if (fds[1].revents)
			more = read_profiles(v);
		take_signal(v);
		if (fds[0].revents & (POLLHUP | POLLERR))
			v->over = true;
		err = more < 0 ? more : take_keys(v);
	}
	if (err < 0)
		return why_set(why, err, "%s", err_text(err));
	return more == 0 && !v->over ? -EIO : 0;
}

/* It ended because all it was to sample has, or for a reason that it said: then in its own words.
 */
static int recorder_ended(struct view *v, struct why *why)
{
	static const char name[] = "stoker: ", warning[] = "stoker: warning: ";
	char text[WHY_MAX];

	fcntl(v->options->talk, F_SETFL, O_NONBLOCK);
	while (read_talk(v))
		;
	copy_last_message(v, 0, text, sizeof(text));
	if (strncmp(text, name, strlen(name)) != 0 || strncmp(text, warning, strlen(warning)) == 0)
		return 0;
	return why_set(why, -EIO, "%s", text + strlen(name));
}

static void done(struct view *v)
{
	screen_close(v->table.screen);
	show_tab(&v->table, TOP_FUNCTIONS);
	vec_done(&v->table.rows);
	ranking_free(v->shown);
	ranking_free(v->incoming);
	buf_done(&v->line);
	buf_done(&v->talk);
	fd_close(&v->signals);
}

int top_view_run(const struct top_view_options *options, struct why *why)
{
	const char *no_colour = getenv("NO_COLOR");
	struct view v = { .options = options, .signals = open_signals() };
	int err;

	v.table.options = options;
	err = ranking_new(&v.shown) < 0 || ranking_new(&v.incoming) < 0
		? why_set(why, -ENOMEM, "out of memory")
		: screen_open(!no_colour || !*no_colour, &v.table.screen, why);
	if (err == 0)
		err = loop(&v, why);
	if (err == -EIO)
		err = recorder_ended(&v, why);
	done(&v);
	return err;
}
