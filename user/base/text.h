/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/*
 * Texts from elsewhere (a server, a file, another user's process) on their way to people. A
 * terminal or a page obeys some characters instead of showing them: control characters (C0, DEL,
 * C1), those that turn the direction of a line or cannot be seen, and bytes that are no UTF-8. Each
 * of these becomes '?'. All that is printed for people goes through here; JSON keeps what there
 * was.
 */

#include <stddef.h>
#include <stdio.h>

/* Bytes of the character that text begins with; 0: one byte that is to be replaced, or the end. */
size_t text_char(const char *text);

/* Prints it, of text no more than len bytes. */
void text_put(FILE *out, const char *text, size_t len);

/* Replaces in place, which never makes it longer. A new line stays. */
void text_clean(char *text);

#endif
