/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_CONN_H
#define DSI_CONN_H

/* The inside of a session. Only for client/dsi; everybody else uses dsi.h. */

#include "dsi/dsi.h"

#define DSI_RX_LEN 65536

/* Room for a reply from which on it is received straight into it, before its header is known. */
#define DSI_GUESS_LEN 4096

/* From here on nothing of it goes through the receive buffer, whatever came before it. */
#define DSI_BULK_LEN DSI_DISCARD_LEN

/* Bytes of a reply to wait for at a time while others are to come, and the fewest left for that. */
#define DSI_BATCH_LEN     (256u << 10)
#define DSI_BATCH_MIN_LEN (64u << 10)

/* From so much data on a request's header and command go out before it. */
#define DSI_APART_LEN 4096

struct dsi_queue {
	struct dsi_request *head, **tail;
};

struct dsi {
	int fd;
	int dead;            /* negative errno once the session is over */
	struct err why;      /* text that goes with it */
	char peer_name[160]; /* "host port N", for messages */
	struct dsi_opts opts;
	bool stop_ignored, opened;
	bool in_request; /* a part of one was sent, and not all of it */
	uint32_t quantum;
	uint16_t attention;

	/* Requests: queued (not fully sent), in flight (by id), done (to be reaped). */
	uint16_t next_id;
	unsigned int in_flight; /* submitted and not yet done */
	unsigned int lent;      /* submitted and not yet reaped */
	size_t mask;
	struct dsi_request **slot; /* by id & mask */
	struct dsi_queue queued, done;
	struct dsi_request *expected; /* the oldest that is not answered; NULL: none is in flight */
	bool overtaken;               /* a younger one was answered meanwhile */

	/* The frame being received: its header, then its payload. */
	uint8_t head[DSI_HEADER_LEN];
	size_t head_len;  /* bytes of a header that are here; 0 when it is whole */
	uint64_t head_ns; /* when its first byte was read */
	struct dsi_frame frame;
	bool in_frame;
	struct dsi_request *to; /* whose reply it is; NULL: not a reply */
	size_t got, want;       /* payload bytes of it */
	uint8_t other[64];      /* payload of frames that are no reply */

	size_t batch;         /* DSI_BATCH_LEN where that is of use, else 1 */
	size_t low_mark;      /* SO_RCVLOWAT as it stands */
	uint64_t progress_ns; /* the oldest request moved: tickles and the like do not count */
	uint64_t heard_ns;    /* last byte received, whatever it was of */
	uint64_t last_sent_ns;
	uint8_t rx[DSI_RX_LEN];
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

/*
 * Reads what there is, with MSG_DONTWAIT or 0 as flags, and completes requests. 0 (also when
 * nothing came: look at dsi->heard_ns), or the death of the session.
 */
int dsi_receive(struct dsi *d, int flags, struct err *e);

#endif
