/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ready files and the gun, through a store: in a directory of this machine or in a volume. */
#include "drive/gun.h"

#include "app/cmd.h"
#include "load/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS   1000000000u
#define PAUSE_NS  3000000000u
#define PLACE_MAX 1024
#define NAME_LEN  (HOST_LEN + 40)
#define HOST_LEN  128

struct gun {
	struct gun_opts o;
	struct store *store;
	char place[PLACE_MAX], host[HOST_LEN];
	const char *name; /* of the gun */
	unsigned int n_ready;
};

/* Its directory and its name in it. */
static int split(struct gun *g, struct err *e)
{
	const char *file = g->o.file, *root = g->o.root ? g->o.root : "";
	const char *slash = strrchr(file, '/');
	int len = slash ? (int)(slash - file) : 0;

	g->name = slash ? slash + 1 : file;
	if (!*g->name || !strcmp(g->name, ".") || !strcmp(g->name, ".."))
		return err_set(e, -EINVAL, "the starting gun '%s' is not the name of a file", file);
	if (g->o.root)
		snprintf(g->place, sizeof(g->place), "%s%s%.*s", root,
			 len && *file != '/' ? "/" : "", len, file);
	else if (!len)
		snprintf(g->place, sizeof(g->place), "%s", slash ? "/" : ".");
	else
		snprintf(g->place, sizeof(g->place), "%.*s", len, file);
	return 0;
}

static int gun_open_place(struct gun *g, struct err *e)
{
	int r = store_open_local(&g->store, g->place, false, e);

	return r && r != -ENOMEM ? err_prefix(e, -EINVAL, "the starting gun") : r;
}

static void ready_name(const struct gun *g, unsigned int thread, char out[static NAME_LEN])
{
	snprintf(out, NAME_LEN, "%s.%d.%u.ready", g->host, (int)getpid(), thread);
}

static int gun_call(struct gun *g, enum store_verb verb, const char *name, struct store_op *op,
		    struct err *e)
{
	*op = (struct store_op) { .verb = verb, .dir = g->store->root[0], .name = name };
	return store_call(g->store, op, e);
}

/* "Wed Nov 25 12:35:35 2026 : text" */
static void gun_say(const struct gun *g, const char *what, const char *name)
{
	char text[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm);
	fprintf(g->o.out, "%s : %s %.*s%s\n", text, what, (int)(g->name - g->o.file), g->o.file,
		name);
	fflush(g->o.out);
}

static int make_ready(struct gun *g, struct err *e)
{
	char name[NAME_LEN];
	struct store_op op;
	int r;

	for (unsigned int i = 0; i < g->o.threads; i++) {
		ready_name(g, i, name);
		r = gun_call(g, STORE_CREATE, name, &op, e);
		if (!r && op.result != STORE_OK)
			r = err_set(e, LOAD_REFUSED, "cannot make the ready file %s/%s: %s",
				    g->place, name, op.why);
		if (r)
			return r;
		g->n_ready++;
		if (g->o.lists)
			gun_say(g, "signaling ready with file", name);
	}
	return 0;
}

/* Looks as often as there are seconds. */
static int gun_look(struct gun *g, struct err *e)
{
	struct store_op op;
	int r = 0;

	for (unsigned int i = 0; !r && i < g->o.timeout_s; i++) {
		r = gun_call(g, STORE_PROBE, g->name, &op, e);
		if (r || op.result == STORE_OK)
			return r;
		if (op.result != STORE_NONE)
			return err_set(e, LOAD_REFUSED, "cannot look for the starting gun %s: %s",
				       g->o.file, op.why);
		r = store_idle(g->store, LOOK_NS, &cmd_stop, e);
		if (g->o.tick)
			g->o.tick(g->o.user);
	}
	return r ? r
		 : err_set(e, -ETIME, "no starting gun: %s was not there within %u s", g->o.file,
			   g->o.timeout_s);
}

int gun_wait(struct gun **out, const struct gun_opts *o, struct err *e)
{
	struct gun *g = calloc(1, sizeof(*g));
	int r;

	*out = g;
	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	g->o = *o;
	if (gethostname(g->host, sizeof(g->host) - 1))
		snprintf(g->host, sizeof(g->host), "localhost");
	g->host[strcspn(g->host, ".")] = '\0';
	r = split(g, e);
	r = r ? r : gun_open_place(g, e);
	r = r ? r : make_ready(g, e);
	if (r)
		return r;
	gun_say(g, "awaiting starting gun file", g->name);
	r = gun_look(g, e);
	return r ? r : store_idle(g->store, PAUSE_NS, &cmd_stop, e);
}

void gun_close(struct gun *g)
{
	char name[NAME_LEN];
	struct store_op op;
	struct err e = { 0 };

	if (!g)
		return;
	for (unsigned int i = 0; i < g->n_ready; i++) {
		ready_name(g, i, name);
		if (gun_call(g, STORE_DELETE, name, &op, &e))
			cmd_say("the ready file %s/%s is left: %s", g->place, name, e.text);
		else if (op.result != STORE_OK && op.result != STORE_NONE)
			cmd_say("the ready file %s/%s is left: %s", g->place, name, op.why);
	}
	store_close(g->store);
	free(g);
}
