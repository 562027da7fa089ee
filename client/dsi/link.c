/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connecting, the greeting's answer and the end, as dsi_advance() goes on with them. */
#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/time.h>

#define TICKLE_MOST_NS   20000000000u
#define TICKLE_SPREAD_NS 10e9

/*
 * Not if the kernel's buffer is too small (SO_RCVBUF includes its overhead: as much again). Nor on
 * one host, unless TCP is paced: with a large low-water mark TCP acknowledges more often, which on
 * one host costs as much as the wake-ups, and more if both ends share a CPU (measured).
 */
static size_t batch_for(const struct dsi *d)
{
	int room = 0;
	socklen_t len = sizeof(room);

	if (dsi_is_near(d) && !dsi_is_paced(d))
		return 1;
	getsockopt(d->fd, SOL_SOCKET, SO_RCVBUF, &room, &len);
	return (unsigned int)room >= 4 * DSI_BATCH_LEN ? DSI_BATCH_LEN : 1;
}

/*
 * afpd wants to hear something every 30 s (tickleval). Sessions that fall silent together,
 * thousands of one process, do not send their tickles together: descriptors follow one another, and
 * their multiples of the golden ratio are spread evenly.
 */
static uint64_t tickle_after_ns(int fd)
{
	return TICKLE_MOST_NS - (uint64_t)(fmod(fd * 0.6180339887498949, 1) * TICKLE_SPREAD_NS);
}

static int advance_dial(struct dsi *d, struct err *e)
{
	const struct timeval slice = { .tv_usec = DSI_SLICE_MS * 1000 };
	struct err why = { 0 };
	int r;

	if (dsi_stopped(d))
		return err_set(e, -EINTR, "interrupted");
	r = net_dial_advance(&d->dial, &d->opts, &why);
	if (r == -EINPROGRESS)
		return 0;
	net_dial_end(&d->dial);
	if (r < 0)
		return dsi_die(d, e, r, "%s", why.text);
	d->fd = r;
	setsockopt(d->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
	d->batch = batch_for(d);
	d->low_mark = 1;
	d->tickle_after_ns = tickle_after_ns(d->fd);
	d->mark = dsi_mark_of(d->opts.marks, d->fd);
	d->progress_ns = d->heard_ns = d->last_sent_ns = clock_now_ns();
	return 0;
}

int dsi_check_welcome(struct dsi *d, const struct dsi_request *r, struct err *e)
{
	if (!r->result)
		return d->dead ? err_set(e, d->dead, "%s", d->why.text) : 0;
	d->dead = 0; /* where the connection ended as well, this is why */
	return dsi_die(d, e, -EBUSY, "%s: the server refuses the session (DSI %d%s)", d->peer_name,
		       r->result, r->result == -1071 ? ": busy, \"max connections\" reached" : "");
}

static uint32_t parse_quantum(const uint8_t *reply, size_t len)
{
	struct rbuf b = rbuf_of(reply, len);
	uint32_t quantum = 0;
	uint8_t type, n;

	while (rbuf_left(&b)) {
		type = rbuf_u8(&b);
		n = rbuf_u8(&b);
		if (type == 0 && n == 4)
			quantum = rbuf_u32(&b);
		else
			rbuf_bytes(&b, n);
	}
	return quantum;
}

int dsi_take_greeting(struct dsi *d, struct err *e)
{
	struct dsi_greeting *g = d->greeting;
	int r;

	dsi_queue_take(&d->done);
	d->lent--;
	d->greeting = NULL;
	r = dsi_check_welcome(d, &g->r, e);
	if (!r) {
		d->quantum = parse_quantum(g->reply, g->r.reply_len);
		d->opened = d->quantum >= 32;
		dsi_mark_set(d->mark, d->opened);
		if (!d->opened)
			r = dsi_die(d, e, -EPROTO,
				    "%s: the server offers a request quantum of %u bytes",
				    d->peer_name, d->quantum);
	}
	free(g);
	return r;
}

static int advance_end(struct dsi *d)
{
	/* one piece a turn: a server that never stops sending holds nobody */
	ssize_t n = recv(d->fd, d->rx, DSI_SCRATCH_LEN, MSG_DONTWAIT);

	d->finished |= !n || (n < 0 && errno != EAGAIN && errno != EINTR) ||
		       clock_now_ns() >= d->end_ns;
	return 0;
}

int dsi_link_advance(struct dsi *d, struct err *e)
{
	if (d->finished)
		return 0;
	return d->end_ns ? advance_end(d) : advance_dial(d, e);
}
