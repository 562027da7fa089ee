/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank other than 0, from its first word to its last. It prints nothing but why it could not take
 * part: all else it tells rank 0. If rank 0 is gone, it ends.
 */
#include "ranks/ranks.h"
#include "ranks/ranks_terms.h"

#include "base/buf.h"
#include "base/clock.h"
#include "ranks/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_NS 50000000u

struct guest {
	const struct ranks_opts *o;
	const struct ranks_clients *clients;
	void *user;
	struct channel to; /* rank 0 */
	struct session *session;
	bool began; /* to open its sessions */
	char base[RANKS_BASE_LEN];
};

/* ---- rank 0's messages ---- */

/* Those that may come at any time. 1: it was one; 0; a negative errno: rank 0 is gone. */
static int ranks_other_handle(struct guest *g, const struct message *m)
{
	if (m->type == HUB_PING) {
		int r = hub_pong(&g->to, m);

		return r ? r : 1;
	}
	if (m->type != HUB_STOP)
		return 0;
	if (!cmd_stop)
		cmd_stop = CMD_STOP_TOLD;
	return 1;
}

/* Waits for a message. 0; another: rank 0 is gone. */
static int await_any(struct guest *g, struct message *m)
{
	int r;

	for (;;) {
		r = channel_take(&g->to, m, clock_now_ns() + SLICE_NS);
		if (r == -EINTR || !r)
			continue; /* rank 0 is interrupted, too, and says what is to be done */
		if (r == 1)
			r = ranks_other_handle(g, m);
		if (r <= 0)
			return r;
	}
}

/* 0; -ECANCELED: rank 0 wants no more of this; another: it is gone. */
static int ranks_other_await(struct guest *g, enum hub_message type, struct message *m)
{
	int r = await_any(g, m);

	return r || m->type == type ? r : -ECANCELED;
}

static int ranks_other_report(struct guest *g, enum hub_message type, const struct hub_report *what)
{
	uint8_t data[HUB_REPORT_LEN];

	return channel_send(&g->to, (uint8_t)type, data, hub_report_pack(what, data));
}

/* ---- steps ---- */

static int ranks_other_join(struct guest *g, struct err *e)
{
	struct launch launch = *g->o->launch;
	char terms[RANKS_TERMS_LEN];
	const struct hub_guest who = { launch.rank, terms };
	uint8_t data[INVITE_LEN] = { 0 };
	struct invite invite;

	if (ranks_terms(g->o, terms))
		return err_set(e, -ENOMEM, "out of memory");
	/* not there: rank 0 has failed before it listened, and said why */
	if (launch_share(&launch, data, sizeof(data), NULL) || invite_unpack(&invite, data) ||
	    !invite.port)
		return -EINVAL;
	return hub_join(&g->to, &invite, &who, e);
}

static int find_server(struct guest *g, struct err *e)
{
	const struct connect_cfg *c = &g->o->session->c;
	char port[8];
	const struct dsi_opts opts = { .host = c->host,
				       .port = port,
				       .window = 1,
				       .timeout_ms = c->timeout_s * 1000,
				       .stop = &cmd_stop };

	if (g->o->session->local)
		return 0;
	snprintf(port, sizeof(port), "%u", c->port);
	return afp_server_info(&g->session->server, &opts, e);
}

/* Opens the sessions. Without any it takes part all the same, and is counted so. */
static int ranks_other_open_sessions(struct guest *g, struct err *e)
{
	struct hub_report how = { 0 };
	struct message m;
	int r = ranks_other_await(g, HUB_BASE, &m), sent;

	if (r || m.len >= sizeof(g->base))
		return r ? r : -EPROTO;
	memcpy(g->base, m.data, m.len);
	r = find_server(g, e);
	g->began = !r;
	r = r ? r : g->clients->open(g->user, g->base, &how.not_open, e);
	if (r == -ECONNREFUSED && how.not_open)
		r = 0;
	how.result = r;
	snprintf(how.text, sizeof(how.text), "%.255s", e->text);
	sent = ranks_other_report(g, HUB_OPENED, &how);
	return r ? r : sent;
}

static int ranks_other_make_files(struct guest *g, struct err *e)
{
	struct hub_report how = { 0 };
	struct message m;
	int r = ranks_other_await(g, HUB_MAKE, &m), sent;

	if (r)
		return r;
	how.result = r = g->clients->make(g->user, e);
	snprintf(how.text, sizeof(how.text), "%.255s", r ? e->text : "");
	sent = ranks_other_report(g, HUB_MADE, &how);
	return r ? r : sent;
}

/* Until the clients are done. */
static void ranks_other_work(struct guest *g)
{
	struct message m;
	int r = 0;

	while (!g->clients->wait(g->user, r < 0 ? SLICE_NS : 0)) {
		if (r >= 0)
			r = channel_take(&g->to, &m, clock_now_ns() + SLICE_NS);
		if (r == 1)
			r = ranks_other_handle(g, &m);
		if (r == -EINTR)
			r = 0;
		if (r < 0 && !cmd_stop)
			cmd_stop =
			    CMD_STOP_TOLD; /* rank 0 is gone: nobody wants to know the rest */
	}
}

static int send_part(struct guest *g, struct part *p)
{
	size_t len;
	uint8_t *data = part_pack(p, &len);
	int r = data ? channel_send(&g->to, HUB_RESULT, data, len) : -ENOMEM;

	free(data);
	return r;
}

static int ranks_other_load(struct guest *g, const struct message *start, struct err *e)
{
	struct rbuf b = rbuf_of(start->data, start->len);
	uint64_t begin_ns = rbuf_u64(&b), now_ns = clock_now_ns();
	struct part part = { .late_ns = now_ns > begin_ns ? now_ns - begin_ns : 0 };
	int r = g->clients->start(g->user, begin_ns, e);

	if (r)
		return r;
	ranks_other_work(g);
	r = g->clients->join(g->user, &part.commands, e);
	part.load = part.commands.load;
	part.end = !cmd_stop                       ? PART_DONE
		   : launch_orphaned(g->o->launch) ? PART_ORPHANED
						   : PART_STOPPED;
	r = r ? r : send_part(g, &part);
	part_fini(&part);
	return r;
}

/* Load after load, until rank 0 has no more. */
static int ranks_other_do_loads(struct guest *g, struct err *e)
{
	struct message m;
	int r;

	do {
		r = await_any(g, &m);
		if (!r && m.type == HUB_REMOVE)
			return 0;
		if (!r)
			r = m.type == HUB_START ? ranks_other_load(g, &m, e) : -ECANCELED;
	} while (!r);
	return r;
}

/* Rank 0 knows why it ends, but for this. */
static void say_end(const struct guest *g, int r, const struct err *e)
{
	unsigned int rank = g->o->launch->rank;

	if (r == -ECONNRESET || r == -EPIPE)
		cmd_say("rank %u: rank 0 is gone: nothing was saved, and %s may still be there",
			rank, g->base);
	else if (g->to.fd < 0 && r != -EINVAL && *e->text)
		cmd_say("%s", e->text);
}

void ranks_other(const struct ranks_opts *o, struct session *session,
		 const struct ranks_clients *clients, void *user)
{
	struct guest g = { o, clients, user, .to.fd = -1, .session = session };
	struct err e = { 0 };
	int r;

	r = ranks_other_join(&g, &e);
	r = r ? r : ranks_other_open_sessions(&g, &e);
	r = r ? r : ranks_other_make_files(&g, &e);
	r = r ? r : ranks_other_do_loads(&g, &e);
	if (g.began)
		clients->close(user);
	channel_send(&g.to, HUB_BYE, NULL, 0);
	say_end(&g, r, &e);
	channel_close(&g.to);
}
