/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carries out file operations on a store as standard input says, without ever waiting inside the
 * store, for test_store_verbs.py:
 *
 *	verbs local PLACE
 *	verbs afp HOST PORT USER PASSWORD VOLUME VERSION
 *
 * Each line is one operation, for example "rename dir=2 name=a to_dir=17 to_name=b". The answer is
 * one line, of the same form; why is the rest of it.
 */
#include "afp/afp.h"
#include "store/store.h"
#include "uam/uam.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM      (256u << 10)
#define WINDOW    4
#define LINE_MAX  (512u << 10)
#define MOST_NS   10000000000ull
#define TIMEOUT_S 10

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "verbs: %s: %s\n", what, e->text);
	exit(1);
}

/* Goes on until the store is in this state. */
static void until(struct store *s, enum store_state state)
{
	struct err e = { 0 };
	struct io_wait w;

	while (s->state != state) {
		store_wait(s, &w);
		if (store_advance(s, io_wait(&w, MOST_NS), &e))
			die("the session", &e);
	}
}

static struct store *open_afp(char **arg, struct err *e)
{
	static struct afp_server server;
	static struct afp_login login;
	static uint8_t scratch[STORE_SCRATCH_LEN];
	static struct dsi_opts dsi;
	const struct store_afp_begin how = {
		.dsi = &dsi, .server = &server, .login = &login, .volume = arg[4]
	};
	struct store *s = NULL;

	dsi = (struct dsi_opts) { .host = arg[0],
				  .port = arg[1],
				  .window = WINDOW,
				  .timeout_ms = TIMEOUT_S * 1000,
				  .scratch = scratch };
	login = (struct afp_login) { arg[2], arg[3], "cleartext", (unsigned int)atoi(arg[5]),
				     NULL };
	if (uam_init(e) || afp_server_info(&server, &dsi, e) || store_begin_afp(&s, &how, e))
		die("no store", e);
	until(s, STORE_IS_OPEN);
	return s;
}

static enum store_verb verb_of(const char *name)
{
	for (unsigned int v = 0; v < N_STORE_VERBS; v++)
		if (!strcmp(store_verb_name(v), name))
			return v;
	fprintf(stderr, "verbs: no verb is called %s\n", name);
	exit(1);
}

static void set_number(struct store_op *op, const char *key, uint64_t v)
{
	if (!strcmp(key, "dir"))
		op->dir.id = v;
	else if (!strcmp(key, "to_dir"))
		op->to_dir.id = v;
	else if (!strcmp(key, "file"))
		op->file.id = v;
	else if (!strcmp(key, "how"))
		op->how = (unsigned int)v;
	else if (!strcmp(key, "offset"))
		op->offset = v;
	else if (!strcmp(key, "len"))
		op->len = v;
	else if (!strcmp(key, "attrs"))
		op->with_attrs = v;
	else
		exit(1);
}

static void read_op(struct store_op *op, char *line)
{
	char *at = NULL, *word = strtok_r(line, " \n", &at), *value;

	op->verb = verb_of(word);
	while ((word = strtok_r(NULL, " \n", &at))) {
		value = strchr(word, '=');
		if (!value)
			exit(1);
		*value++ = '\0';
		if (!strcmp(word, "name")) {
			op->name = value;
		} else if (!strcmp(word, "to_name")) {
			op->to_name = value;
		} else if (!strcmp(word, "data")) {
			op->data = value;
			op->len = strlen(value);
		} else {
			set_number(op, word, strtoull(value, NULL, 10));
		}
	}
}

static void carry_out(struct store *s, struct store_op *op)
{
	struct err e = { 0 };
	struct store_op *back;
	struct io_wait w;

	if (store_submit(s, op, &e))
		die("submit", &e);
	while (!(back = store_take(s))) {
		store_wait(s, &w);
		if (store_advance(s, io_wait(&w, MOST_NS), &e))
			die("advance", &e);
	}
	if (back != op)
		exit(1);
}

static void print(const struct store_op *op)
{
	bool has_value = op->result == STORE_OK &&
			 (op->verb == STORE_GET_XATTR || op->verb == STORE_READ);

	printf("result=%d code=%d what=%s done=%" PRIu64 " made=%" PRIu64 " opened=%" PRIu64
	       " value=%.*s why=%s\n",
	       op->result, op->code, op->what, op->done, op->made.id, op->opened.id,
	       has_value ? (int)op->done : 0, (const char *)op->buf, op->why ? op->why : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *line = malloc(LINE_MAX), *buf = malloc(ROOM);
	struct store *s = NULL;
	const char *password = getenv("AFPSCOPE_PASSWORD");
	struct err e = { 0 };

	store_keep_password("", password ? password : "");
	if (argc == 8 && !strcmp(argv[1], "afp"))
		s = open_afp(argv + 2, &e);
	else if (argc != 3 || store_open_local(&s, argv[2], false, &e))
		die("no store", &e);
	printf("root=%" PRIu64 "\n", s->root[0].id);
	fflush(stdout);
	while (fgets(line, LINE_MAX, stdin)) {
		struct store_op op = { .dir = s->root[0], .to_dir = s->root[0], .buf = buf };

		read_op(&op, line);
		carry_out(s, &op);
		print(&op);
	}
	store_finish(s);
	until(s, STORE_ENDED);
	store_close(s);
	free(line);
	free(buf);
	return 0;
}
