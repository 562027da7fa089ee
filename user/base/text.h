/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/*
 * Cleans texts from elsewhere (a server, a file, another user's process) before they are shown. A
 * terminal or a page interprets some characters instead of showing them: control characters (C0,
 * DEL, C1), and those that change the direction of a line or are invisible. Each of these, and each
 * byte that is not UTF-8, becomes '?'. Everything printed for people is cleaned; JSON has them as
 * \uXXXX.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Length of the first character of text; 0: a byte that is to be replaced, or the end. */
size_t text_char(const char *text);

/* The length of one well-formed character of UTF-8 and its code point; 0: malformed. */
size_t text_decode(const char *text, uint32_t *code);

/*
 * n units of UTF-16, least byte first, as UTF-8, 0 behind it; a half of a pair becomes '?'. out has
 * room for TEXT_UTF16_ROOM(n) bytes.
 */
#define TEXT_UTF16_ROOM(n) (3 * (n) + 1)
void text_utf16(char *out, const uint8_t *units, size_t n);

/* Prints it cleaned, at most len bytes of text. */
void text_put(FILE *out, const char *text, size_t len);

/* Cleans in place, which never makes it longer. A newline stays. */
void text_clean(char *text);

/* Without the blanks, and ends of lines, on either side; cut in place. */
char *text_strip(char *text);

/*
 * What follows a folder in a path: "" if the path is the folder, "/b" in "/a/b" below "/a"; NULL:
 * it is not below it. Slashes at the end of either mean nothing.
 */
const char *text_below(const char *path, const char *folder);

/* What follows "SCHEME://" at the beginning of a word (RFC 3986, 3.1); NULL: it is no URL. */
const char *text_url(const char *word);

/* Whether a word, other than the empty one, is in a list with this character between. */
bool text_has_word(const char *list, char between, const char *word);

/*
 * The decimal number at the beginning of text, such as 0.5, -3 or 1e3: what people type as a
 * number. *end, what follows it, is set in either case. false: there is none. Blanks, +, nan, inf
 * and 0x10, which strtod() takes, are none. One that is too large is infinite.
 */
bool text_decimal(const char *text, const char **end, double *out);

#endif
