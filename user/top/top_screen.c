/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of report/top.h on a terminal, with colours; and keys. */
#include "top/top_screen.h"

#include "run/kind.h"
#include "top/top_line.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define FOOT      1
#define ESCAPE_MS 25
#define MENU_WIDE 12

/* Pairs of colours. */
enum { PAIR_ALARM = 1, PAIR_KEY, PAIR_FIRST_PART };

/* By letter (top_letters): the colour behind it. */
static const struct {
	short color;
	bool bold;
} inks[TOP_PARTS] = {
	[ACCOUNT_USER] = { COLOR_GREEN, false },      [ACCOUNT_CALLS] = { COLOR_BLUE, false },
	[ACCOUNT_RUNQ] = { COLOR_RED, false },        [ACCOUNT_DISK] = { COLOR_YELLOW, false },
	[ACCOUNT_CNID] = { COLOR_MAGENTA, false },    [ACCOUNT_LOCK] = { COLOR_CYAN, false },
	[ACCOUNT_LOG] = { COLOR_YELLOW, true },       [ACCOUNT_NET] = { COLOR_CYAN, true },
	[ACCOUNT_OTHER] = { COLOR_BLUE, true },       [ACCOUNT_STOPPED] = { COLOR_RED, true },
	[ACCOUNT_N_COLUMNS] = { COLOR_WHITE, false },
};

struct top_screen {
	SCREEN *screen;
	bool color;
	const struct live_row **row; /* owned array: as drawn last */
	size_t n;
};

static size_t height(void)
{
	return LINES > 0 ? (size_t)LINES : 0;
}

static size_t width(void)
{
	return COLS < 0 ? 0 : COLS < TOP_WIDTH_MAX ? (size_t)COLS : TOP_WIDTH_MAX;
}

static size_t page(void)
{
	return height() > TOP_HEAD + 1 + FOOT ? height() - TOP_HEAD - 1 - FOOT : 0;
}

static void begin_colors(struct top_screen *s, bool color)
{
	s->color = color && has_colors() && start_color() == OK;
	if (!s->color)
		return;
	use_default_colors();
	init_pair(PAIR_ALARM, COLOR_RED, -1);
	init_pair(PAIR_KEY, COLOR_BLACK, COLOR_CYAN);
	for (size_t i = 0; i < TOP_PARTS; i++)
		init_pair((short)(PAIR_FIRST_PART + (short)i), COLOR_BLACK, inks[i].color);
}

/* What other commands print is UTF-8, too, whatever the locale is. */
static void begin_locale(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

struct top_screen *top_screen_open(bool color)
{
	struct top_screen *s = calloc(1, sizeof(*s));

	if (s)
		s->row = malloc(LIVE_ROWS * sizeof(*s->row));
	begin_locale();
	if (s && s->row)
		s->screen = newterm(NULL, stdout, stdin);
	if (!s || !s->screen) {
		top_screen_close(s);
		return NULL;
	}
	set_term(s->screen);
	begin_colors(s, color);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, true);
	nodelay(stdscr, true);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return s;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	if (s->screen) {
		curs_set(1);
		endwin();
		delscreen(s->screen);
	}
	free(s->row);
	free(s);
}

int top_screen_key(struct top_screen *s)
{
	static const struct {
		int code, key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_BTAB, TOP_KEY_BACK_TAB },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ KEY_ENTER, '\n' },
		{ KEY_RESIZE, TOP_KEY_RESIZE },
	};
	int code;

	set_term(s->screen);
	code = getch();
	if (code == ERR)
		return TOP_KEY_NONE;
	/* Terminals differ in what they keep of the old screen: all of it is written anew. */
	if (code == KEY_RESIZE)
		clearok(curscr, true);
	if (code > KEY_F0 && code <= KEY_F(12))
		return TOP_KEY_F + code - KEY_F0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return code < 256 ? code : TOP_KEY_RESIZE;
}

/* Lines. One that is too wide (characters of two columns) is ended by the next one's begin. */

static void at_begin(size_t y)
{
	move((int)y, 0);
	clrtoeol();
}

static chtype ink_of(const struct top_screen *s, char letter)
{
	const char *at = memchr(top_letters, letter, sizeof(top_letters));
	size_t i = at ? (size_t)(at - top_letters) : ACCOUNT_N_COLUMNS;

	if (!s->color || !at)
		return A_NORMAL;
	return (chtype)COLOR_PAIR(PAIR_FIRST_PART + (int)i) | (inks[i].bold ? A_BOLD : A_NORMAL);
}

static void put_letters(const struct top_screen *s, const char *text, size_t len)
{
	attr_t attr;
	short pair;

	attr_get(&attr, &pair, NULL);
	if (s->color)
		attrset(A_NORMAL);
	for (size_t i = 0; i < len; i++)
		addch((unsigned char)text[i] | ink_of(s, text[i]));
	attr_set(attr, pair, NULL);
}

/* From byte "from" to byte "to" of the line, letters of parts in their colours. */
static void top_screen_put_part(const struct top_screen *s, const struct top_line *l, size_t from,
				size_t to)
{
	size_t at = from;

	for (size_t i = 0; i < l->n_marks; i++) {
		addnstr(l->text + at, (int)(l->mark[i] - at));
		put_letters(s, l->text + l->mark[i], 1);
		at = l->mark[i] + 1;
	}
	if (l->bar_len) {
		addnstr(l->text + at, (int)(l->bar_at - at));
		put_letters(s, l->text + l->bar_at, l->bar_len);
		at = l->bar_at + l->bar_len;
	}
	if (l->alarm_len) {
		addnstr(l->text + at, (int)(l->alarm_at - at));
		attron(A_BOLD | (s->color ? COLOR_PAIR(PAIR_ALARM) : 0));
		addnstr(l->text + l->alarm_at, (int)l->alarm_len);
		attroff(A_BOLD | (s->color ? COLOR_PAIR(PAIR_ALARM) : 0));
		at = l->alarm_at + l->alarm_len;
	}
	addnstr(l->text + at, (int)(to - at));
}

/* How many bytes of a clean text fit, as the terminal shows them: some characters take two columns.
 */
static size_t top_screen_fitting(const char *text, size_t len, size_t columns)
{
	mbstate_t state = { 0 };
	size_t at = 0, n, used = 0;
	wchar_t c;
	int wide;

	while (at < len && (n = mbrtowc(&c, text + at, len - at, &state)) && n <= len - at) {
		wide = wcwidth(c);
		used += wide > 0 ? (size_t)wide : 0;
		if (used > columns)
			break;
		at += n;
	}
	return at;
}

/* What follows a name begins in its column, however wide the name's characters are. */
static void top_screen_put_line(const struct top_screen *s, size_t y, const struct top_line *l,
				attr_t attr)
{
	at_begin(y);
	attron(attr);
	if (l->name_columns) {
		addnstr(l->text,
			(int)top_screen_fitting(l->text, l->name_len, l->name_columns - 1));
		move((int)y, (int)l->name_columns);
	}
	top_screen_put_part(s, l, l->name_len, l->len);
	attroff(attr);
}

/* The foot */

static void put_keys(const struct top_screen *s)
{
	static const char *const keys[][2] = {
		{ "F1", "Help" }, { "F3", "Search" }, { "F4", "Filter" },   { "F5", "View" },
		{ "F6", "Sort" }, { "Spc", "Pause" }, { "Enter", "Whose" }, { "F10", "Quit" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		addstr(keys[i][0]);
		attron(s->color ? COLOR_PAIR(PAIR_KEY) : A_REVERSE);
		addstr(keys[i][1]);
		attroff(s->color ? COLOR_PAIR(PAIR_KEY) : A_REVERSE);
		addch(' ');
	}
}

/* What is shown of how much; at the right of the foot. */
static void top_screen_put_state(const struct top_screen *s, const struct top_state *state)
{
	struct top_line l;

	line_clear(&l);
	if (state->paused)
		line_add(&l, "PAUSED ");
	if (*state->one && state->view.by == LIVE_SESSION)
		line_printf(&l, "of %s ", state->one);
	if (*state->filter && state->mode != TOP_FILTER)
		line_printf(&l, "filter: %s ", state->filter);
	line_printf(&l, "%zu/%zu", s->n ? state->at + 1 : 0, s->n);
	line_trim(&l, width() / 3);
	attron(A_BOLD);
	mvaddnstr(LINES - 1, (int)(width() - l.columns), l.text, (int)l.len);
	attroff(A_BOLD);
}

static void put_foot(const struct top_screen *s, const struct top_state *state)
{
	struct top_line l;

	line_clear(&l);
	at_begin(height() - 1);
	if (state->mode == TOP_FILTER)
		line_printf(&l, "Filter: %s_", state->filter);
	else if (state->mode == TOP_SEARCH)
		line_printf(&l, "Search: %s_  %s", state->search, state->note ? state->note : "");
	else if (state->note)
		line_add(&l, state->note);
	else
		put_keys(s);
	line_trim(&l, width());
	addnstr(l.text, (int)l.len);
	top_screen_put_state(s, state);
}

/* All */

static void top_screen_put_head(const struct top_screen *s, const struct top_status *status)
{
	struct top_line *head = malloc(TOP_HEAD * sizeof(*head));
	size_t n = head ? top_head(head, status, width()) : 0;

	for (size_t i = 0; i < n && i < height(); i++)
		top_screen_put_line(s, i, &head[i], i == 1 || i == n - 1 ? A_BOLD : A_NORMAL);
	free(head);
}

static void top_screen_put_table(const struct top_screen *s, const struct top_state *state,
				 const struct top_status *status)
{
	const uint64_t step_ns = status->step->ended_ns - status->step->begun_ns;
	struct top_line line;
	struct top_layout l;

	top_lay(&l, &state->view, s->row, s->n, width());
	top_heading(&line, &l, &state->view, status->kind);
	line_pad(&line, width());
	top_screen_put_line(s, TOP_HEAD, &line, s->color ? COLOR_PAIR(PAIR_KEY) : A_REVERSE);
	for (size_t i = 0; i < page(); i++) {
		size_t at = state->first + i;

		at_begin(TOP_HEAD + 1 + i);
		if (at >= s->n)
			continue;
		top_row(&line, &l, s->row[at], step_ns);
		top_screen_put_line(s, TOP_HEAD + 1 + i, &line,
				    at == state->at ? A_BOLD | A_UNDERLINE : A_NORMAL);
	}
}

static void put_menu(const struct top_state *state)
{
	for (size_t i = 0; i < TOP_N_COLUMNS && i < page(); i++) {
		attron(i == state->menu ? A_REVERSE : A_NORMAL);
		mvprintw((int)(TOP_HEAD + 1 + i), 0, " %-*s", MENU_WIDE, top_columns[i]);
		attroff(A_REVERSE);
	}
}

static void put_help(const struct top_status *s)
{
	char line[160];

	for (size_t i = 0; i < height(); i++)
		at_begin(i);
	for (size_t i = 0; top_help[i] && i < height(); i++)
		mvaddnstr((int)i, 0, run_kind_text(s->kind, top_help[i], line, sizeof(line)),
			  (int)width());
}

void top_screen_say(struct top_screen *s, const char *text)
{
	set_term(s->screen);
	s->n = 0;
	erase();
	mvaddnstr(0, 0, text, (int)width());
	refresh();
}

void top_screen_take(struct top_screen *s, struct top_state *state, int key)
{
	top_state_key(state, key, s->row, s->n, page());
}

void top_screen_draw(struct top_screen *s, struct top_state *state, const struct top_status *status,
		     const struct live_table *table)
{

	set_term(s->screen);
	s->n = top_rows(s->row, table, &state->view);
	top_state_rows(state, s->row, s->n, page());
	top_screen_put_head(s, status);
	if (height() > TOP_HEAD)
		top_screen_put_table(s, state, status);
	if (height())
		put_foot(s, state);
	if (state->mode == TOP_MENU)
		put_menu(state);
	if (state->mode == TOP_HELP)
		put_help(status);
	refresh();
}
