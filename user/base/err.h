/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * Errors: a function that can fail because *the tool* failed returns a negative errno and
 * leaves one line of text in the caller's struct err. Nothing below the commands prints.
 * A server's answer is never such an error, it is data (see afp/proto.h).
 */

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

#endif
