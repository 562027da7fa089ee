/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_SPELLING_H
#define AFP_SPELLING_H

/*
 * Spellings of one name: "ü" is one character or two (composed, decomposed), and in a URL six.
 * Composing is libunistring's, which is loaded when a name beyond ASCII is first seen; without it
 * names are compared as they are.
 */

#include <stdbool.h>
#include <stddef.h>

#define SPELLING_MAX 768 /* bytes, with the NUL */

/* Whether the name has no byte above 127, so that no other spelling exists but with %XX. */
bool spelling_is_ascii(const char *name);

/* The name composed (NFC), or as it is if it is no UTF-8, too long, or there is no library. */
void spelling_compose(char out[static SPELLING_MAX], const char *name);

/* Whether the name has %XX: out is it with the bytes for which these stand in a URL. */
bool spelling_decode(char out[static SPELLING_MAX], const char *name);

/* A user as accounts are called: composed, and with decodes without %XX. It is in out, or user. */
const char *spelling_user(char out[static SPELLING_MAX], const char *user, bool decodes);

/*
 * Whether asked, which a server has refused, may be its name in another spelling, also with %XX for
 * bytes: out is what to ask for then. Capitals are left to the server.
 */
bool spelling_other(char out[static SPELLING_MAX], const char *asked, const char *name);

/* How a name that is not the same differs from the one asked for; NULL: in more than is worth
 * saying. */
const char *spelling_differs(const char *asked, const char *name);

#endif
