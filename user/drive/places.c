/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/places.h"

#include "base/text.h"
#include "load/load.h"
#include "uam/uam.h"
#include "work/tree.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_NS           100000000u
#define ALL_MODE          0777

#define CLIENTS_OF_THREAD 200

bool session_blocks(const struct session_cfg *cfg)
{
	return cfg->local && store_place_blocks(cfg->directory);
}

unsigned int session_threads(const struct session_cfg *cfg, unsigned int clients,
			     unsigned int own_max)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const unsigned int most = cpus > 3 ? (unsigned int)cpus / 2 : 1;
	const unsigned int wanted = (clients + CLIENTS_OF_THREAD - 1) / CLIENTS_OF_THREAD;

	if (own_max && session_blocks(cfg))
		return clients < own_max ? clients : own_max;
	return wanted < most ? wanted : most;
}

bool session_is_place(const char *word)
{
	struct stat st;

	if (store_is_local(word))
		return true;
	return !text_url(word) && !stat(word, &st) && S_ISDIR(st.st_mode);
}

int session_drop(struct rights_own *own, const char *place, unsigned int extra)
{
	unsigned int ports = text_url(place) ? RIGHTS_PORTS : 0;
	int r = ports ? 0 : rights_become_owner(own, place, extra);

	return r || own->became ? r : rights_drop(extra | ports);
}

void session_put_places(FILE *out, const char *command)
{
	const char *usage;

	for (size_t i = 0; (usage = store_place_usage(&i));)
		fprintf(out, "       afpscope %s [OPTIONS] %s\n", command, usage);
}

int places_open(struct places *p, const struct session *session, struct err *e)
{
	const struct session_cfg *cfg = session->cfg;
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int r;

	*p = (struct places) { .session = session, .n = session->store != NULL };
	p->place[0] = (struct places_volume) { cfg->local ? "" : cfg->c.volume, session->store,
					       false };
	if (cfg->local)
		return 0;
	snprintf(p->port, sizeof(p->port), "%u", cfg->c.port);
	connect_password(&cfg->c, p->secret);
	r = getaddrinfo(cfg->c.host, p->port, &hints, &p->address);
	if (r)
		return err_set(e, -EHOSTUNREACH, "cannot find host %s: %s", cfg->c.host,
			       gai_strerror(r));
	return uam_init(e);
}

struct places_client places_client(const struct places *p, const struct user *u,
				   unsigned int window, unsigned int number)
{
	const struct connect_cfg *cfg = &p->session->cfg->c;

	return (struct places_client) {
		.login = { u ? u->name : cfg->user, u ? u->password : p->secret, cfg->uam,
			   (unsigned int)cfg->version, p->session->run_name },
		.volume = u && u->volume ? u->volume : cfg->volume,
		.window = window,
		.number = number,
	};
}

static void places_note_login(void *visits, const struct afp *session, bool greeted)
{
	char address[RUN_ADDRESS_LEN];

	connect_session_address(session, address);
	if (*address)
		others_visit(visits, address, greeted);
}

int places_begin(const struct places *p, const struct places_client *c, struct store **out,
		 uint8_t *scratch, struct err *e)
{
	const struct session_cfg *cfg = p->session->cfg;
	struct dsi_opts dsi = { .host = cfg->c.host,
				.port = p->port,
				.window = c->window,
				.timeout_ms = cfg->c.timeout_s * 1000,
				.address = p->address,
				.sources = &cfg->c.sources,
				.number = c->number,
				.marks = warden_marks(p->session->warden),
				.scratch = scratch };
	const struct store_afp_begin how = {
		.dsi = &dsi,
		.server = &p->session->server,
		.login = &c->login,
		.volume = c->volume,
		.logins = c->logins,
		.connected = places_note_login,
		.user = p->visits,
	};

	if (cfg->local)
		return store_begin_local(out, cfg->directory, !cfg->buffered, e);
	return store_begin_afp(out, &how, e);
}

int places_add(struct places *p, const struct user *u, struct err *e)
{
	const struct places_client how = places_client(p, u, 1, p->n);
	struct places_volume *at = &p->place[p->n];
	struct io_wait w;
	int r;

	for (unsigned int i = 0; i < p->n; i++)
		if (!strcmp(p->place[i].volume, how.volume))
			return 0;
	if (p->n == PLACES_MAX)
		return err_set(e, -EINVAL, "more than %d volumes", PLACES_MAX);
	at->volume = how.volume;
	p->n++;
	r = places_begin(p, &how, &at->store, NULL, e);
	while (!r && at->store->state == STORE_OPENING) {
		store_wait(at->store, &w);
		r = store_advance(at->store, io_wait(&w, WAIT_NS), e);
	}
	return r;
}

void places_forget(struct places *p)
{
	if (!p->keeps_secret)
		explicit_bzero(p->secret, sizeof(p->secret));
}

void places_recall(struct places *p)
{
	if (!p->session->cfg->local)
		connect_password(&p->session->cfg->c, p->secret);
}

/* 0; LOAD_REFUSED or a negative errno. */
static int do_one(struct places_volume *p, struct store_op *op, const char *base, struct err *e)
{
	int r;

	op->dir = p->store->root[0];
	op->name = base;
	r = store_call(p->store, op, e);
	if (r || op->result == STORE_OK)
		return r;
	load_explain(op, base, e);
	return err_prefix(e, LOAD_REFUSED, "volume %s", p->volume);
}

static void note_left(const struct places *p, unsigned int i, const char *base)
{
	struct warden_left *left = p->session->left;

	snprintf(left->volume[i], WARDEN_VOLUME_LEN, "%s", p->place[i].volume);
	snprintf(left->base[i], WARDEN_BASE_LEN, "%s", base);
}

int places_make(struct places *p, const char *base, bool all, struct err *e)
{
	struct store_op op;
	int r = 0;

	for (unsigned int i = 0; !r && i < p->n; i++) {
		if (i) {
			op = (struct store_op) { .verb = STORE_MKDIR };
			r = do_one(&p->place[i], &op, base, e);
			p->place[i].made = !r;
			if (!r)
				note_left(p, i, base);
		}
		if (!r && all) {
			op = (struct store_op) { .verb = STORE_SET_MODE, .how = ALL_MODE };
			r = do_one(&p->place[i], &op, base, e);
		}
	}
	return r;
}

void places_keep_alive(struct places *p)
{
	struct io_wait w;

	for (unsigned int i = 0; i < p->n; i++) {
		store_wait(p->place[i].store, &w);
		store_advance(p->place[i].store, io_wait(&w, 0), NULL);
	}
}

int places_remove(struct places *p, struct session *s, const char *base, struct err *e)
{
	struct err why = { 0 };
	int first = 0, r;

	for (unsigned int i = 1; i < p->n; i++) {
		if (!p->place[i].made)
			continue;
		r = tree_remove(store_afp_session(p->place[i].store), AFP_ROOT_ID, base, &why);
		if (!r)
			*s->left->base[i] = '\0';
		else if (!first)
			first = err_set(e, r, "volume %s: %s", p->place[i].volume, why.text);
	}
	return first;
}

void places_close(struct places *p)
{
	for (unsigned int i = 1; i < p->n; i++)
		store_close(p->place[i].store);
	p->n = 0;
	if (p->address)
		freeaddrinfo(p->address);
	p->address = NULL;
	p->keeps_secret = false;
	places_forget(p);
}
