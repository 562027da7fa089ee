/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_CONN_H
#define DSI_CONN_H

/* Internals of a session. Only for client/dsi; others use dsi.h. */

#include "dsi/dsi.h"
#include "dsi/mark.h"
#include "dsi/net.h"

/* How soon a stop that came just before a wait is noticed. */
#define DSI_SLICE_MS 250
#define DSI_SLICE_NS (DSI_SLICE_MS * 1000000ull)

/* A reply buffer of this size or more is received into before the header is known. */
#define DSI_GUESS_LEN 4096

/* A reply of this size or more never goes through the receive buffer. */
#define DSI_BULK_LEN DSI_DISCARD_LEN

/* Bytes of a reply to wait for at a time while others are to come, and the least left to do so. */
#define DSI_BATCH_LEN     (256u << 10)
#define DSI_BATCH_MIN_LEN (64u << 10)

/* With this much data or more, a request's header and command are sent before it. */
#define DSI_APART_LEN 4096

struct dsi_queue {
	struct dsi_request *head, **tail;
};

/* The first request of a session. */
struct dsi_greeting {
	struct dsi_request r;
	uint8_t reply[256];
};

struct dsi {
	int fd; /* -1: not connected yet */
	struct net_dial dial;
	struct dsi_greeting *greeting; /* while it is in flight */
	uint64_t end_ns; /* when to stop waiting for the server's close; 0: not begun */
	bool finished;
	int dead;            /* negative errno once the session is over */
	struct err why;      /* text that goes with it */
	char peer_name[160]; /* "host port N", for messages */
	struct dsi_opts opts;
	bool stop_ignored, opened;
	bool in_request;       /* a request was sent partly */
	struct dsi_mark *mark; /* NULL: none */
	uint32_t quantum;
	uint16_t attention;

	/* Requests: queued (not fully sent), in flight (by id), done (to be reaped). */
	uint16_t next_id;
	unsigned int in_flight; /* submitted and not yet done */
	unsigned int lent;      /* submitted and not yet reaped */
	size_t mask;
	struct dsi_request **slot; /* by id & mask */
	struct dsi_queue queued, done;
	struct dsi_request *expected; /* the oldest unanswered one; NULL: none in flight */
	bool overtaken;               /* a younger one was answered before it */

	/* The frame being received: its header, then its payload. */
	uint8_t head[DSI_HEADER_LEN];
	size_t head_len;  /* bytes received of a header; 0 when it is complete */
	uint64_t head_ns; /* when its first byte was read */
	struct dsi_frame frame;
	bool in_frame;
	struct dsi_request *to; /* whose reply it is; NULL: not a reply */
	size_t got, want;       /* payload bytes of it */
	uint8_t other[64];      /* payload of frames other than replies */

	size_t batch;         /* DSI_BATCH_LEN where that is useful, else 1 */
	size_t low_mark;      /* present SO_RCVLOWAT */
	uint64_t progress_ns; /* last progress of the oldest request; tickles do not count */
	uint64_t heard_ns;    /* last byte received, of whatever */
	uint64_t last_sent_ns, tickle_ns; /* the next tickle, unless something is sent before */
	uint64_t tickle_after_ns;         /* of silence */
	uint8_t *rx;                      /* DSI_SCRATCH_LEN */
	uint8_t *own_rx;                  /* NULL: it is borrowed */
};

static inline void dsi_queue_init(struct dsi_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void dsi_queue_put(struct dsi_queue *q, struct dsi_request *r)
{
	r->next = NULL;
	*q->tail = r;
	q->tail = &r->next;
}

static inline struct dsi_request *dsi_queue_take(struct dsi_queue *q)
{
	struct dsi_request *r = q->head;

	if (!r)
		return NULL;
	q->head = r->next;
	if (!q->head)
		q->tail = &q->head;
	return r;
}

/* Marks the session dead (first reason wins) and returns the reason's errno, text in e. */
int dsi_die(struct dsi *d, struct err *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether the caller wants the session to end its waits. */
static inline bool dsi_stopped(const struct dsi *d)
{
	return !d->stop_ignored && d->opts.stop && *d->opts.stop;
}

/* Goes on with connecting or ending: dsi_advance() of a session that does so. */
int dsi_link_advance(struct dsi *d, struct err *e);

/* Checks the answer to the first request: whether the server accepts the session. */
int dsi_check_welcome(struct dsi *d, const struct dsi_request *r, struct err *e);

/* The greeting has been answered: whether the server accepts the session, and its quantum. */
int dsi_take_greeting(struct dsi *d, struct err *e);

/*
 * Reads what has arrived, with MSG_DONTWAIT or 0 as flags, and completes requests. 0 (also when
 * nothing came: see dsi->heard_ns), or the errno of a dead session.
 */
int dsi_receive(struct dsi *d, int flags, struct err *e);

#endif
