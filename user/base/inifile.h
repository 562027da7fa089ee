/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_INIFILE_H
#define BASE_INIFILE_H

/*
 * INI texts: lines "[section]" and "key = value" (or "key: value"). Blanks around each part mean
 * nothing; a line that begins with ; or # is a comment, and so is what follows a blank and a ;. A
 * value between double quotes may hold anything: \" \\ \n \r \t stand for what C means by them.
 */

#include "base/err.h"

#include <stdio.h>

#define INIFILE_KEYS_MAX 1000

struct inifile_key {
	const char *section; /* "": before the first section */
	const char *key, *value;
	unsigned int line;   /* from 1 */
	unsigned int before; /* the line that had this key of this section already; 0: none */
};

/* 0, or a negative errno and a text, to which file and line are added. */
typedef int inifile_take(void *user, const struct inifile_key *k, struct err *e);

/*
 * Hands over each key in its order. text is cut up: what a key points to is valid as long as text.
 * name is that of the file, for messages. 0; -EINVAL: "NAME, line N: ..." ; -ENOMEM; what take
 * returned.
 */
int inifile_read(char *text, const char *name, inifile_take *take, void *user, struct err *e);

/* For a take: -EINVAL and a text if the section has this key already. */
int inifile_once(const struct inifile_key *k, struct err *e);

/* A line that inifile_read understands as this key and value. */
void inifile_put(FILE *out, const char *key, const char *value);

#endif
