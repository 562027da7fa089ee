/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check as JSON, for scripts. */
#include "cmd/check.h"

#include "base/file.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_SCHEMA 1

/* jansson accepts no NULL: failure is remembered and checked once at the end. */
struct doc {
	bool failed;
};

static void put(struct doc *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		d->failed = true;
}

static void add(struct doc *d, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		d->failed = true;
}

/* null for what is empty. Paths need not be UTF-8: then each byte beyond ASCII becomes '?'. */
static json_t *text(const char *s)
{
	json_t *made;
	char *copy;

	if (!s || !*s)
		return json_null();
	made = json_string(s);
	if (made)
		return made;
	copy = strdup(s);
	if (!copy)
		return NULL;
	for (char *at = copy; *at; at++)
		if (*at & 0x80)
			*at = '?';
	made = json_string(copy);
	free(copy);
	return made;
}

static json_t *pid_or_null(pid_t pid)
{
	return pid ? json_integer(pid) : json_null();
}

static json_t *ports(struct doc *d, const uint16_t *port, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		add(d, a, json_integer(port[i]));
	return a;
}

static json_t *session(struct doc *d, const struct servers_session *s)
{
	json_t *o = json_object();

	put(d, o, "pid", json_integer(s->pid));
	put(d, o, "age_s", json_real(check_age_s(s->started)));
	put(d, o, "uid", s->uid_from ? json_integer(s->uid) : json_null());
	put(d, o, "uid_from", text(s->uid_from));
	put(d, o, "disconnected", json_boolean(s->disconnected));
	put(d, o, "client", text(s->client));
	put(d, o, "client_port", s->client_port ? json_integer(s->client_port) : json_null());
	put(d, o, "client_from", text(s->client_from));
	put(d, o, "volume", text(s->volume));
	put(d, o, "volume_from", text(s->volume_from));
	return o;
}

static void add_hints(struct doc *d, json_t *list, const struct hints *h, pid_t server)
{
	for (size_t i = 0; i < h->n; i++) {
		json_t *o = json_object();

		put(d, o, "key", text(h->hint[i].key));
		put(d, o, "hint", json_boolean(h->hint[i].weak));
		put(d, o, "server", pid_or_null(server));
		put(d, o, "what", text(h->hint[i].what));
		put(d, o, "where", text(h->hint[i].where));
		put(d, o, "todo", text(h->hint[i].todo));
		add(d, list, o);
	}
}

static json_t *server(struct doc *d, const struct check_server *s)
{
	json_t *o = json_object(), *sessions = json_array(), *dbd = json_array();
	const struct servers_entry *e = s->entry;

	put(d, o, "pid", pid_or_null(e->master));
	put(d, o, "name", text(e->comm));
	put(d, o, "age_s", json_real(check_age_s(e->started)));
	put(d, o, "exact", json_boolean(s->exact));
	put(d, o, "watch", text(s->use));
	put(d, o, "ports", ports(d, e->port, e->n_ports));
	put(d, o, "program", text(e->exe));
	put(d, o, "configuration", text(e->conf));
	put(d, o, "configuration_from", text(e->conf_from));
	put(d, o, "hidden", json_boolean(e->denied));
	put(d, o, "other_network_namespace", json_boolean(e->elsewhere));
	put(d, o, "cnid_metad", pid_or_null(e->cnid_metad));
	put(d, o, "cnid_from", text(e->cnid_from));
	put(d, o, "cnid_ports", ports(d, e->cnid_port, e->n_cnid_ports));
	for (size_t i = 0; i < e->n_dbd; i++)
		add(d, dbd, json_integer(e->dbd[i]));
	put(d, o, "cnid_dbd", dbd);
	for (size_t i = 0; i < e->n_sessions; i++)
		add(d, sessions, session(d, &e->session[i]));
	put(d, o, "sessions", sessions);
	return o;
}

static json_t *ladder(struct doc *d, const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->n_steps; i++) {
		json_t *o = json_object();

		put(d, o, "layer", text(c->step[i].layer));
		put(d, o, "rung", text(c->step[i].rung));
		put(d, o, "ok", json_boolean(c->step[i].ok));
		put(d, o, "taken", json_boolean(c->step[i].taken));
		put(d, o, "why", text(c->step[i].why));
		add(d, a, o);
	}
	return a;
}

static json_t *document(const struct check *c)
{
	json_t *o = json_object(), *servers = json_array(), *warnings = json_array();
	struct doc d = { 0 };

	put(&d, o, "schema", json_integer(CHECK_SCHEMA));
	put(&d, o, "tool", text("afpscope"));
	put(&d, o, "version", text(AFPSCOPE_VERSION));
	put(&d, o, "command", text("check"));
	put(&d, o, "status", json_integer(c->outcome));
	put(&d, o, "exact", json_boolean(ladder_exact(c->step, c->n_steps)));
	put(&d, o, "message", text(c->none.text));
	put(&d, o, "session", pid_or_null(c->servers.session));
	for (size_t i = 0; i < c->n_servers; i++) {
		const struct check_server *s = &c->server[i];

		add(&d, servers, server(&d, s));
		add_hints(&d, warnings, &s->hints, s->entry->master);
	}
	add_hints(&d, warnings, &c->machine, 0);
	put(&d, o, "servers", servers);
	put(&d, o, "warnings", warnings);
	put(&d, o, "ladder", ladder(&d, c));
	if (!d.failed)
		return o;
	json_decref(o);
	return NULL;
}

int check_json(const struct check *c, const char *path, struct err *e)
{
	json_t *o = document(c);
	char *data = o ? json_dumps(o, 0) : NULL, id[16];
	size_t len;
	int r = 0;

	json_decref(o);
	if (!data)
		return err_set(e, -ENOMEM, "out of memory for the JSON");
	len = strlen(data);
	data[len++] = '\n';
	snprintf(id, sizeof(id), "%d", getpid());
	if (strcmp(path, "-") != 0)
		r = file_save(path, id, data, len, e);
	else if (fwrite(data, 1, len, stdout) != len || fflush(stdout))
		r = err_set(e, -EIO, "cannot write to standard output: %s", strerror(errno));
	free(data);
	return r;
}
