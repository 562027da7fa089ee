/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check as JSON, for scripts. */
#include "check/check_found.h"

#include "host/proc/procfs.h"
#include "report/json/doc.h"

#include <string.h>

#define CHECK_SCHEMA 1

/* null for what is empty. */
static json_t *text_or_null(const char *s)
{
	return json_text(s && *s ? s : NULL);
}

static json_t *pid_or_null(pid_t pid)
{
	return pid ? json_integer(pid) : json_null();
}

static json_t *ports(struct json_doc *d, const uint16_t *port, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_add(d, a, json_integer(port[i]));
	return a;
}

static json_t *session_found(struct json_doc *d, const struct servers_session *s)
{
	uint16_t port = s->client.port;
	char client[SOCKETS_IP_LEN];
	json_t *o = json_object();

	sockets_ip_text(client, &s->client);
	json_put(d, o, "pid", json_integer(s->pid));
	json_put(d, o, "age_s", json_real(procfs_age_s(s->started)));
	json_put(d, o, "uid", s->uid_from ? json_integer(s->uid) : json_null());
	json_put(d, o, "uid_from", text_or_null(s->uid_from));
	json_put(d, o, "disconnected", json_boolean(s->disconnected));
	json_put(d, o, "client", text_or_null(port ? client : NULL));
	json_put(d, o, "client_port", port ? json_integer(port) : json_null());
	json_put(d, o, "client_from", text_or_null(s->client_from));
	json_put(d, o, "volume", text_or_null(s->volume));
	json_put(d, o, "volume_from", text_or_null(s->volume_from));
	return o;
}

static void add_hints(struct json_doc *d, json_t *list, const struct hints *h, pid_t server)
{
	for (size_t i = 0; i < h->n; i++) {
		json_t *o = json_object();

		json_put(d, o, "key", text_or_null(h->hint[i].key));
		json_put(d, o, "hint", json_boolean(h->hint[i].weak));
		json_put(d, o, "server", pid_or_null(server));
		json_put(d, o, "what", text_or_null(h->hint[i].what));
		json_put(d, o, "where", text_or_null(h->hint[i].where));
		json_put(d, o, "todo", text_or_null(h->hint[i].todo));
		json_add(d, list, o);
	}
}

static json_t *server(struct json_doc *d, const struct check_server *s)
{
	json_t *o = json_object(), *sessions = json_array(), *dbd = json_array();
	const struct servers_entry *e = s->entry;

	json_put(d, o, "pid", pid_or_null(e->master));
	json_put(d, o, "name", text_or_null(e->comm));
	json_put(d, o, "age_s", json_real(procfs_age_s(e->started)));
	json_put(d, o, "exact", json_boolean(s->exact));
	json_put(d, o, "watch", text_or_null(s->use));
	json_put(d, o, "ports", ports(d, e->port, e->n_ports));
	json_put(d, o, "program", text_or_null(e->exe));
	json_put(d, o, "configuration", text_or_null(e->conf));
	json_put(d, o, "configuration_from", text_or_null(e->conf_from));
	json_put(d, o, "hidden", json_boolean(e->denied));
	json_put(d, o, "other_network_namespace", json_boolean(e->elsewhere));
	json_put(d, o, "cnid_metad", pid_or_null(e->cnid_metad));
	json_put(d, o, "cnid_from", text_or_null(e->cnid_from));
	json_put(d, o, "cnid_ports", ports(d, e->cnid_port, e->n_cnid_ports));
	for (size_t i = 0; i < e->n_dbd; i++)
		json_add(d, dbd, json_integer(e->dbd[i]));
	json_put(d, o, "cnid_dbd", dbd);
	for (size_t i = 0; i < e->n_sessions; i++)
		json_add(d, sessions, session_found(d, &e->session[i]));
	json_put(d, o, "sessions", sessions);
	return o;
}

static json_t *ladder(struct json_doc *d, const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->ladder.n; i++) {
		json_t *o = json_object();

		json_put(d, o, "layer", text_or_null(c->ladder.step[i].layer));
		json_put(d, o, "rung", text_or_null(c->ladder.step[i].rung));
		json_put(d, o, "ok", json_boolean(c->ladder.step[i].ok));
		json_put(d, o, "taken", json_boolean(c->ladder.step[i].taken));
		json_put(d, o, "why", text_or_null(c->ladder.step[i].why));
		json_add(d, a, o);
	}
	return a;
}

static json_t *check_json_document(struct json_doc *d, const struct check *c)
{
	json_t *o = json_object(), *servers = json_array(), *warnings = json_array();

	json_put(d, o, "schema", json_integer(CHECK_SCHEMA));
	json_put(d, o, "tool", text_or_null("afpscope"));
	json_put(d, o, "version", text_or_null(AFPSCOPE_VERSION));
	json_put(d, o, "command", text_or_null("check"));
	json_put(d, o, "status", json_integer(c->outcome));
	json_put(d, o, "exact", json_boolean(c->exact));
	json_put(d, o, "message", text_or_null(c->none.text));
	json_put(d, o, "session", pid_or_null(c->servers.session));
	for (size_t i = 0; i < c->n_servers; i++) {
		const struct check_server *s = &c->server[i];

		json_add(d, servers, server(d, s));
		add_hints(d, warnings, &s->hints, s->entry->master);
	}
	add_hints(d, warnings, &c->machine, 0);
	json_put(d, o, "servers", servers);
	json_put(d, o, "warnings", warnings);
	json_put(d, o, "ladder", ladder(d, c));
	return o;
}

int check_json(const struct check *c, const char *path, struct err *e)
{
	struct json_doc d = { 0 };

	return json_save(&d, check_json_document(&d, c), path, e);
}
