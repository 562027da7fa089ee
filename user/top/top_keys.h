/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_TOP_KEYS_H
#define TOP_TOP_KEYS_H

/* What keys do in top: a state machine, which knows no terminal. */

#include "top/top_rows.h"

/* A key is a byte as typed, 1 to 255, or one of these. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_BACK_TAB,
	TOP_KEY_RESIZE,
	TOP_KEY_F, /* F1 is TOP_KEY_F + 1 */
};

enum top_mode { TOP_TABLE, TOP_HELP, TOP_SEARCH, TOP_FILTER, TOP_MENU };

#define TOP_NAME_MAX 600
#define TOP_TEXT_MAX 64

struct top_state {
	enum top_mode mode;
	struct top_view view; /* filter and one are those below */
	char filter[TOP_TEXT_MAX], search[TOP_TEXT_MAX], one[TOP_NAME_MAX];
	char selected[TOP_NAME_MAX]; /* the row the cursor is at; empty: whichever is the first */
	size_t at, first;            /* the cursor's row, the first one that is shown */
	enum top_column menu;        /* of the sort menu */
	bool paused, quit;
	bool may_text, texts; /* files by name: it is allowed, it is so */
	double delay_s;
	const char *note; /* static: a line for the user until the next key; NULL: none */
};

void top_state_begin(struct top_state *s, const struct top_view *v, double delay_s, bool texts);

/* Whether by file, by name or hash, is what the watch has to know; it has to be opened anew then.
 */
bool top_state_wants_files(const struct top_state *s);

/*
 * Takes a key. row: the rows that are shown now, with room for "page" of them on the screen. Then
 * top_state_rows, as the view may be another.
 */
void top_state_key(struct top_state *s, int key, const struct live_row **row, size_t n,
		   size_t page);

/* Takes over new rows: the cursor stays at its row. */
void top_state_rows(struct top_state *s, const struct live_row **row, size_t n, size_t page);

/* What the keys do, a line each; ends with NULL. */
extern const char *const top_help[];

/* Times between two steps. */
#define TOP_DELAY_MIN 0.1
#define TOP_DELAY_MAX 3600.0

#endif
