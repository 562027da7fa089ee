/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores of many clients, one place. */
#include "drive/opener.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int opener_init(struct opener *o, const struct session *session, struct err *e)
{
	const struct session_cfg *cfg = session->cfg;
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int r;

	*o = (struct opener) { .session = session };
	if (cfg->local)
		return 0;
	snprintf(o->port, sizeof(o->port), "%u", cfg->c.port);
	connect_password(&cfg->c, o->secret);
	r = getaddrinfo(cfg->c.host, o->port, &hints, &o->address);
	if (r)
		return err_set(e, -EHOSTUNREACH, "cannot find host %s: %s", cfg->c.host,
			       gai_strerror(r));
	return uam_init(e);
}

void opener_forget(struct opener *o)
{
	explicit_bzero(o->secret, sizeof(o->secret));
}

void opener_fini(struct opener *o)
{
	if (o->address)
		freeaddrinfo(o->address);
	o->address = NULL;
	opener_forget(o);
}

struct afp_login opener_login(const struct opener *o, const struct user *u)
{
	const struct connect_cfg *cfg = &o->session->cfg->c;

	return (struct afp_login) { u ? u->name : cfg->user, u ? u->password : o->secret, cfg->uam,
				    (unsigned int)cfg->version };
}

struct dsi_opts opener_dsi(const struct opener *o, unsigned int window)
{
	const struct connect_cfg *cfg = &o->session->cfg->c;

	return (struct dsi_opts) { .host = cfg->host,
				   .port = o->port,
				   .window = window,
				   .timeout_ms = cfg->timeout_s * 1000,
				   .address = o->address };
}

int opener_begin(const struct opener *o, const struct opener_client *c, struct store **out,
		 uint8_t *scratch, struct err *e)
{
	const struct session_cfg *cfg = o->session->cfg;
	struct dsi_opts dsi = opener_dsi(o, c->window);
	const struct store_afp_begin how = { &dsi, &o->session->server, c->login, c->volume };

	if (cfg->local)
		return store_open_local(out, cfg->directory, !cfg->buffered, e);
	dsi.scratch = scratch;
	return store_begin_afp(out, &how, e);
}
