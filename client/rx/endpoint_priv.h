/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_ENDPOINT_PRIV_H
#define RX_ENDPOINT_PRIV_H

/* The parts of an endpoint. Only for client/rx. */

#include "rx/call_priv.h"
#include "rx/endpoint.h"

#define RX_OUTBOX 32u

/* A connection here: its peer, and its calls by channel. */
struct rx_peer {
	struct rx_conn conn;
	struct rx_endpoint *ep;
	struct sockaddr_in address;
	struct rx_call *call[RX_CHANNELS]; /* NULL: none yet, or not kept any more */
	uint32_t number[RX_CHANNELS];      /* of the newest call */
	bool used, heard;
	uint64_t used_ns;
	struct rx_peer *next; /* with the same hash, or free */
};

/* Datagrams on their way to the kernel. */
struct rx_outbox {
	unsigned int used; /* of datagram */
	unsigned int n;    /* of order: to be sent */
	uint8_t order[RX_OUTBOX];
	struct rx_datagram datagram[RX_OUTBOX];
};

/* Datagrams from the kernel. */
struct rx_inbox {
	unsigned int n, room;
	size_t each; /* bytes of one */
	uint8_t *bytes;
	size_t *len;
	struct sockaddr_in *from;
};

struct rx_endpoint {
	int fd;
	uint16_t port, service;
	struct rx_events events;
	struct rx_buffers buffers;
	struct rx_hub hub;
	int refusal;     /* negative errno: nobody can be reached; 0: not known, or looked at */
	int refused;     /* the last of these */
	bool hears;      /* is told of that */
	bool has_errors; /* the kernel may have more to say about what was sent */
	uint32_t epoch, next_cid;

	unsigned int n_peers, n_hash;
	struct rx_peer *peer, *free_peer, **hash;
	size_t call_size, memory_len;
	uint8_t *memory; /* of calls */
	unsigned int n_calls, n_made;
	struct rx_call **call; /* n_made */

	struct rx_inbox in;
	void *own_bytes;
	struct rx_outbox out;
};

/* ---- outbox.c ---- */

/* What c has to send, as far as there is room; the rest later. */
void rx_outbox_collect(struct rx_endpoint *ep, struct rx_call *c, uint64_t now_ns);
/* A packet outside of calls. */
void rx_outbox_plain(struct rx_endpoint *ep, struct rx_conn *conn, const struct rx_header *h);
/* Nothing that c has lent is sent any more, and nothing of conn; both may be NULL. */
void rx_outbox_forget(struct rx_endpoint *ep, const struct rx_call *c, const struct rx_conn *conn);
/* Whether an error says that a peer cannot be reached. */
bool rx_is_refusal(int code);
/* 0, -EAGAIN, or the errno of a lost socket. */
int rx_outbox_send(struct rx_endpoint *ep);

/* ---- peers.c ---- */

int rx_peers_init(struct rx_endpoint *ep, const struct rx_endpoint_opts *o, struct err *e);
void rx_peers_fini(struct rx_endpoint *ep);
void rx_peers_datagram(struct rx_endpoint *ep, const struct sockaddr_in *from, const uint8_t *bytes,
		       size_t len, uint64_t now_ns);
/* Nobody can be reached: calls that never heard of their peer fail. */
void rx_peers_refused(struct rx_endpoint *ep, int code);

#endif
