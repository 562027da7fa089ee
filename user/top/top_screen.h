/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_TOP_SCREEN_H
#define TOP_TOP_SCREEN_H

/* top on a terminal. The terminal is ncurses's from open to close. */

#include "top/top_keys.h"

struct top_screen;

/* NULL: this terminal cannot move a cursor, or no memory. */
struct top_screen *top_screen_open(bool color);

/* Restores the terminal. NULL is allowed. */
void top_screen_close(struct top_screen *s);

/* The next key that was typed (enum top_key), TOP_KEY_NONE if there is none. Never waits. */
int top_screen_key(struct top_screen *s);

/* A text instead of the table, until the first step has ended. */
void top_screen_say(struct top_screen *s, const char *text);

/* Gives state a key, with the rows as they were drawn last. */
void top_screen_take(struct top_screen *s, struct top_state *state, int key);

/* Draws all. The rows of table are used until the next call of draw or say. */
void top_screen_draw(struct top_screen *s, struct top_state *state, const struct top_status *status,
		     const struct live_table *table);

#endif
