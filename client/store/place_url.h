/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_PLACE_URL_H
#define STORE_PLACE_URL_H

/* What the URL of a place on a server says. Only for client/store. */

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PLACE_URL_NAME_MAX 256

/*
 * Takes "HOST", "HOST:PORT" or "[ADDRESS]:PORT" from [at, end): host gets it without brackets,
 * *port what follows the colon, usual_port if nothing does. NULL, or what is wrong, static.
 */
const char *place_url_host(char host[static PLACE_URL_NAME_MAX], int *port, int usual_port,
			   const char *at, const char *end);

/* "PREFIX[USER@]HOST[:PORT]/NAME[/PATH]", or without a NAME: then PATH is all of it. */
struct place_url_form {
	const char *prefix; /* "smb://" */
	const char *hint;   /* the form, for messages: "smb://USER@HOST[:PORT]/SHARE[/PATH]" */
	const char *name;   /* the word for NAME: "share"; NULL: it has none */
	bool has_user;
	int port;
};

struct place_url {
	char user[PLACE_URL_NAME_MAX]; /* "": none is given */
	char host[PLACE_URL_NAME_MAX];
	char name[PLACE_URL_NAME_MAX];
	char path[PATH_MAX]; /* "": the root; else "/dir", with no / at its end */
	char address[64];    /* set by place_url_resolve(): numeric, an IPv6 one in brackets */
	int port;
};

/* where: what is behind the prefix. %XX is what it stands for. -EINVAL and a text. */
int place_url_parse(struct place_url *out, const struct place_url_form *form, const char *where,
		    struct err *e);

/* Finds the host's first address; a name is asked for once in a row. -EHOSTUNREACH and a text. */
int place_url_resolve(struct place_url *u, struct err *e);

#endif
