/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/top_keys.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define ESCAPE    27
#define CTRL(c)   ((c) - 'a' + 1)
#define DELETE    127
#define N_DELAYS  (sizeof(delays) / sizeof(delays[0]))
#define N_KEYS(t) (sizeof(t) / sizeof(t[0]))

static const double delays[] = { 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600 };

const char *const top_help[] = {
	"F5 Tab  1 to 6  next view; by 1 c command, 2 u user, 3 i client, 4 v volume,",
	"                5 s session, 6 f file (then each request makes a record)",
	"Enter           the sessions of the user, client or volume at the cursor",
	"F3 /            search: the cursor goes to a row that has the text; F3 the next",
	"F4 \\            filter: only rows that have the text",
	"Esc             all rows again, without filter",
	"F6 > .          sort by another column; P by p99 or mean, T by time; I turns it",
	"Arrows PgUp PgDn Home End   the cursor, which stays at its row",
	"Space p         pause; one step as long follows      + -   longer, shorter steps",
	"H               names or hashes of files, if --names was given",
	"F10 q Ctrl-C    quit",
	"",
	"BUSY    requests in the server, the mean over the step: 1.00 of a session that",
	"        always has one there, more of many together",
	"p50 p99 half of a command's requests, 99 of 100 took at most so long (to 6%);",
	"        mean where a row has several commands: no quantile tells of any of them",
	"NOW     requests without an answer yet   OLDEST  since when the oldest of them",
	"TIME    where the requests' time went, a letter for an equal share of it:",
	"        o own code, c in calls (on a CPU)  q run queue: it waits for a CPU",
	"        waits: d disk  i {asked}  k lock  g log  n client that takes nothing",
	"        z other (it sleeps)  s stopped  ? unexplained",
	"lost    what could not be counted: 0 if all figures are complete",
	NULL
};

void top_state_begin(struct top_state *s, const struct top_view *v, double delay_s, bool texts)
{
	*s = (struct top_state) {
		.view = *v, .delay_s = delay_s, .may_text = texts, .texts = texts
	};
	snprintf(s->filter, sizeof(s->filter), "%s", v->filter);
	s->view.filter = s->filter;
	s->view.one = s->one;
}

bool top_state_wants_files(const struct top_state *s)
{
	return s->view.by == LIVE_FILE;
}

/* The cursor */

static void go(struct top_state *s, const struct live_row **row, size_t n, size_t at)
{
	s->at = n ? (at < n ? at : n - 1) : 0;
	*s->selected = '\0';
	if (s->at)
		snprintf(s->selected, sizeof(s->selected), "%s", row[s->at]->name);
}

static void show_cursor(struct top_state *s, size_t n, size_t page)
{
	size_t last = n > page ? n - page : 0;

	if (s->at < s->first)
		s->first = s->at;
	if (page && s->at >= s->first + page)
		s->first = s->at - page + 1;
	s->first = s->first < last ? s->first : last;
}

void top_state_rows(struct top_state *s, const struct live_row **row, size_t n, size_t page)
{
	if (!*s->selected)
		s->at = 0;
	for (size_t i = 0; *s->selected && i < n; i++)
		if (!strncmp(row[i]->name, s->selected, sizeof(s->selected) - 1)) {
			s->at = i;
			break;
		}
	if (s->at >= n)
		s->at = n ? n - 1 : 0;
	show_cursor(s, n, page);
}

/* From row "from" on, and then from the first. */
static void top_keys_find(struct top_state *s, const struct live_row **row, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = (from + i) % n;

		if (!top_row_has(row[at], s->search))
			continue;
		go(s, row, n, at);
		return;
	}
	if (n || *s->search)
		s->note = "no row has this text";
}

static bool move(struct top_state *s, int key, const struct live_row **row, size_t n, size_t page)
{
	size_t step = page > 1 ? page - 1 : 1;

	switch (key) {
	case TOP_KEY_UP:
		go(s, row, n, s->at ? s->at - 1 : 0);
		return true;
	case TOP_KEY_DOWN:
		go(s, row, n, s->at + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		go(s, row, n, s->at > step ? s->at - step : 0);
		return true;
	case TOP_KEY_PAGE_DOWN:
		go(s, row, n, s->at + step);
		return true;
	case TOP_KEY_HOME:
		go(s, row, n, 0);
		return true;
	case TOP_KEY_END:
		go(s, row, n, n);
		return true;
	default:
		return false;
	}
}

/* Texts that are typed */

/* A byte of UTF-8 is taken, a control character is not. */
static void type(char text[TOP_TEXT_MAX], int key)
{
	size_t len = strlen(text);

	if (key == TOP_KEY_BACKSPACE || key == DELETE || key == CTRL('h')) {
		while (len && ((unsigned char)text[--len] & 0xc0) == 0x80)
			;
		text[len] = '\0';
	} else if (key >= ' ' && key < 256 && len + 1 < TOP_TEXT_MAX) {
		text[len] = (char)key;
		text[len + 1] = '\0';
	}
}

static bool is_enter(int key)
{
	return key == '\n' || key == '\r';
}

static void filter_key(struct top_state *s, int key)
{
	if (key == ESCAPE)
		*s->filter = '\0';
	if (key == ESCAPE || is_enter(key) || key == TOP_KEY_F + 4)
		s->mode = TOP_TABLE;
	else
		type(s->filter, key);
}

static void search_key(struct top_state *s, int key, const struct live_row **row, size_t n)
{
	if (key == ESCAPE || is_enter(key)) {
		s->mode = TOP_TABLE;
	} else if (key == TOP_KEY_F + 3 || key == TOP_KEY_DOWN) {
		top_keys_find(s, row, n, s->at + 1);
	} else {
		type(s->search, key);
		top_keys_find(s, row, n, s->at);
	}
}

static void menu_key(struct top_state *s, int key)
{
	if (key == TOP_KEY_UP)
		s->menu = (s->menu + TOP_N_COLUMNS - 1) % TOP_N_COLUMNS;
	if (key == TOP_KEY_DOWN)
		s->menu = (s->menu + 1) % TOP_N_COLUMNS;
	if (is_enter(key) && s->menu != s->view.sort)
		s->view.inverted = false;
	if (is_enter(key))
		s->view.sort = s->menu;
	if (is_enter(key) || key == ESCAPE || key == 'q' || key == TOP_KEY_F + 6)
		s->mode = TOP_TABLE;
}

/* Views */

static void top_keys_show(struct top_state *s, enum live_by by)
{
	if (by != s->view.by) {
		*s->selected = *s->one = '\0';
		s->at = s->first = 0;
	}
	s->view.by = by;
}

static bool view_key(struct top_state *s, int key)
{
	static const char letters[] = "cuivsf", digits[] = "123456";
	const char *at = NULL;

	if (key > 0 && key < 256)
		at = strchr(letters, key);
	if (at)
		top_keys_show(s, (enum live_by)(at - letters));
	else if (key >= '1' && key <= '6')
		top_keys_show(s, (enum live_by)(strchr(digits, key) - digits));
	else if (key == '\t' || key == TOP_KEY_F + 5)
		top_keys_show(s, (s->view.by + 1) % LIVE_N);
	else if (key == TOP_KEY_BACK_TAB)
		top_keys_show(s, (s->view.by + LIVE_N - 1) % LIVE_N);
	else
		return false;
	return true;
}

static void top_keys_enter(struct top_state *s, const struct live_row **row, size_t n)
{
	enum live_by by = s->view.by;
	char one[TOP_NAME_MAX];

	if (by == LIVE_COMMAND || by == LIVE_FILE) {
		s->note = "Enter shows the sessions of a user, a client or a volume: u, i, v";
		return;
	}
	if (s->at >= n)
		return;
	if (!*row[s->at]->name) {
		s->note = "this name is not known";
		return;
	}
	snprintf(one, sizeof(one), "%s", row[s->at]->name);
	top_keys_show(s, LIVE_SESSION);
	s->view.of = by;
	memcpy(s->one, one, sizeof(one));
	*s->selected = '\0';
	s->at = s->first = 0;
}

/* What is not typed */

static void change_delay(struct top_state *s, bool longer)
{
	size_t i = 0;

	if (longer) {
		while (i + 1 < N_DELAYS && delays[i] <= s->delay_s)
			i++;
	} else {
		i = N_DELAYS - 1;
		while (i && delays[i] >= s->delay_s)
			i--;
	}
	s->delay_s = delays[i];
}

static void toggle_texts(struct top_state *s)
{
	if (!s->may_text)
		s->note = "names are shown if top was started with --names";
	else
		s->texts = !s->texts;
}

static void show_all(struct top_state *s)
{
	*s->filter = *s->one = '\0';
}

static void sort_by(struct top_state *s, enum top_column c)
{
	s->view.sort = c;
	s->view.inverted = false;
}

static bool mode_key(struct top_state *s, int key)
{
	static const struct {
		int key;
		enum top_mode mode;
	} keys[] = {
		{ TOP_KEY_F + 1, TOP_HELP }, { 'h', TOP_HELP },
		{ '?', TOP_HELP },           { TOP_KEY_F + 3, TOP_SEARCH },
		{ '/', TOP_SEARCH },         { TOP_KEY_F + 4, TOP_FILTER },
		{ '\\', TOP_FILTER },        { '>', TOP_MENU },
		{ TOP_KEY_F + 6, TOP_MENU }, { '.', TOP_MENU },
		{ '<', TOP_MENU },
	};

	for (size_t i = 0; i < N_KEYS(keys); i++) {
		if (keys[i].key != key)
			continue;
		s->mode = keys[i].mode;
		s->menu = s->view.sort;
		if (s->mode == TOP_SEARCH)
			*s->search = '\0';
		return true;
	}
	return false;
}

static void table_key(struct top_state *s, int key, const struct live_row **row, size_t n)
{
	switch (key) {
	case 'q':
	case CTRL('c'):
	case TOP_KEY_F + 10:
		s->quit = true;
		break;
	case ' ':
	case 'p':
		s->paused = !s->paused;
		break;
	case '+':
	case '-':
		change_delay(s, key == '+');
		break;
	case 'H':
		toggle_texts(s);
		break;
	case 'I':
		s->view.inverted = !s->view.inverted;
		break;
	case 'P':
	case 'T':
		sort_by(s, key == 'T' ? TOP_TIME : s->view.by == LIVE_COMMAND ? TOP_P99 : TOP_MEAN);
		break;
	case '\r':
	case '\n':
		top_keys_enter(s, row, n);
		break;
	case ESCAPE:
		show_all(s);
		break;
	default:
		break;
	}
}

void top_state_key(struct top_state *s, int key, const struct live_row **row, size_t n, size_t page)
{
	if (key == TOP_KEY_RESIZE || key == TOP_KEY_NONE)
		return;
	s->note = NULL;
	if (key == CTRL('c'))
		s->quit = true;
	else if (s->mode == TOP_HELP)
		s->mode = TOP_TABLE;
	else if (s->mode == TOP_FILTER)
		filter_key(s, key);
	else if (s->mode == TOP_SEARCH)
		search_key(s, key, row, n);
	else if (s->mode == TOP_MENU)
		menu_key(s, key);
	else if (!move(s, key, row, n, page) && !view_key(s, key) && !mode_key(s, key))
		table_key(s, key, row, n);
}
