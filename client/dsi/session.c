/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a session: dial, greet, end. Each step is begun here and advanced in link.c. */
#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSE_WAIT_NS 2000000000ull

/* ---- to connect ---- */

/* Memory for the requests that can be in flight, and for what is received. */
static int allocate(struct dsi *d)
{
	size_t n = 1;

	while (n < d->opts.window + 1u)
		n *= 2;
	d->mask = n - 1;
	d->slot = calloc(n, sizeof(struct dsi_request *));
	if (!d->opts.scratch)
		d->own_rx = malloc(DSI_SCRATCH_LEN);
	d->rx = d->own_rx ? d->own_rx : d->opts.scratch;
	return d->slot && d->rx ? 0 : -ENOMEM;
}

int dsi_dial(struct dsi **out, const struct dsi_opts *opts, struct err *e)
{
	struct dsi *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	d->fd = d->dial.fd = -1;
	d->opts = *opts;
	dsi_queue_init(&d->queued);
	dsi_queue_init(&d->done);
	snprintf(d->peer_name, sizeof(d->peer_name), "%s port %s", opts->host, opts->port);
	r = allocate(d) ? err_set(e, -ENOMEM, "out of memory") : net_dial(&d->dial, opts, e);
	if (r)
		dsi_close(d);
	else
		*out = d;
	return r;
}

bool dsi_is_connected(const struct dsi *d)
{
	return d->fd >= 0;
}

int dsi_connect(struct dsi **out, const struct dsi_opts *opts, struct err *e)
{
	struct dsi *d;
	int r = dsi_dial(&d, opts, e);

	if (r)
		return r;
	while (!r && !dsi_is_connected(d))
		r = dsi_work(d, DSI_SLICE_NS, e);
	if (r)
		dsi_close(d);
	else
		*out = d;
	return r;
}

/* ---- to open ---- */

int dsi_status(struct dsi *d, void *out, size_t *len, struct err *e)
{
	struct dsi_request r = { .command = DSI_STATUS, .reply = out, .reply_cap = *len }, *back;
	int rc = dsi_submit(d, &r, e);

	rc = rc ? rc : dsi_reap(d, &back, e);
	*len = r.reply_len;
	return rc ? rc : dsi_check_welcome(d, &r, e);
}

int dsi_greet(struct dsi *d, struct err *e)
{
	/* one option: attention quantum (type 1), 4 bytes, value 2 */
	static const uint8_t option[] = { 1, 4, 0, 0, 0, 2 };
	struct dsi_greeting *g = calloc(1, sizeof(*g));

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	free(d->greeting);
	d->greeting = g;
	g->r = (struct dsi_request) { .command = DSI_OPEN,
				      .len = sizeof(option),
				      .reply = g->reply,
				      .reply_cap = sizeof(g->reply) };
	memcpy(g->r.wire + DSI_HEADER_LEN, option, sizeof(option));
	return dsi_submit(d, &g->r, e);
}

int dsi_open(struct dsi *d, struct err *e)
{
	int r = dsi_greet(d, e);

	while (!r && !d->opened)
		r = dsi_work(d, DSI_SLICE_NS, e);
	return r;
}

/* ---- to end ---- */

/*
 * Whether to send DSICloseSession, also after an error: without it afpd keeps the session, and its
 * open files, for up to a day. Not in the middle of a request, where it would be taken for data:
 * then the connection is cut.
 */
static bool may_say_goodbye(const struct dsi *d)
{
	return !d->in_request && (!d->dead || d->dead == -EPROTO || d->dead == -ETIMEDOUT);
}

static bool say_goodbye(struct dsi *d)
{
	const struct dsi_frame f = { .flag = DSI_REQUEST, .command = DSI_CLOSE, .id = d->next_id };
	uint8_t raw[DSI_HEADER_LEN];

	dsi_frame_put(raw, &f);
	if (d->opened && send(d->fd, raw, sizeof(raw), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	dsi_mark_set(d->mark, false);
	return !shutdown(d->fd, SHUT_WR);
}

void dsi_finish(struct dsi *d)
{
	if (d->end_ns)
		return;
	d->end_ns = clock_now_ns() + CLOSE_WAIT_NS;
	d->finished = d->fd < 0 || !may_say_goodbye(d) || !say_goodbye(d);
}

bool dsi_is_finished(const struct dsi *d)
{
	return d->finished;
}

void dsi_close(struct dsi *d)
{
	if (!d)
		return;
	dsi_finish(d);
	while (!d->finished)
		dsi_work(d, DSI_SLICE_NS, NULL);
	dsi_mark_set(d->mark, false);
	if (d->fd >= 0)
		close(d->fd);
	net_dial_end(&d->dial);
	free(d->greeting);
	free(d->own_rx);
	free(d->slot);
	free(d);
}
