/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * Errors: a function that can fail because *the tool* failed returns a negative errno and
 * leaves one line of text in the caller's struct err. Nothing below the commands prints.
 * A server's answer is never such an error, it is data (see afp/proto.h).
 */

#include <stddef.h>

#define ERR_TEXT_MAX 512

struct err {
	int code;                /* negative errno, 0 = none */
	char text[ERR_TEXT_MAX]; /* one line, no newline */
};

/*
 * Fills e (which may be NULL) and returns code, so that "return err_set(...)" cannot lose it.
 * The text says what failed, on which thing, and what to do.
 */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the text that is there; returns e's code. e may be NULL. */
int err_prefix(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds to a text of ERR_TEXT_MAX; what does not fit is cut. */
void err_append(char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A list for a message: items, separated by commas, each whole (but a first one that alone is too
 * long). From the first for which its room (bytes, at most ERR_TEXT_MAX) is too small they are only
 * counted. Begins as { .room = n }.
 */
struct err_list {
	char text[ERR_TEXT_MAX];
	size_t room, left_out;
};

void err_list_add(struct err_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The list, which ends with ", and 7 more" where items were left out; call it once. */
const char *err_list_end(struct err_list *l);

#endif
