/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_CALL_PRIV_H
#define RX_CALL_PRIV_H

/* The two halves of a call: what it sends, and what it receives. Only for client/rx. */

#include "rx/call.h"

#define RX_NEVER UINT64_MAX

/* A packet that is sent, or will be. */
struct rx_outgoing {
	struct iovec piece[RX_PIECES];
	uint64_t sent_ns; /* last time */
	uint32_t serial;  /* of that */
	uint16_t len;
	uint8_t n;   /* of piece */
	bool there;  /* the peer has it, but may still forget it */
	bool resend; /* lost, as it seems */
	bool resent; /* since the present loss was noticed */
};

/* Packets have numbers from 1: first <= next <= open. */
struct rx_sending {
	uint32_t first;    /* the oldest that is not confirmed for good */
	uint32_t next;     /* the first that was never sent */
	uint32_t open;     /* the one that write() fills */
	bool ended;        /* and that is the last one */
	unsigned int room; /* of packet */
	unsigned int in_flight, n_resend;
	unsigned int window, threshold,
	    grown;               /* congestion window, slow start ends, part of growth */
	unsigned int n_negative; /* answers with gaps, one after the other */
	bool recovering;
	uint32_t recover_to;        /* until this one is the first */
	unsigned int backoff;       /* doublings of the timer */
	uint64_t due_ns;            /* when it runs out */
	uint32_t answer;            /* serial of the newest ACK */
	struct rx_outgoing *packet; /* by number modulo room */
};

struct rx_incoming {
	uint16_t len;
	bool there;
};

struct rx_receiving {
	uint32_t read;              /* the first that is not read */
	uint32_t next;              /* the first that is missing */
	uint32_t end;               /* after the highest that is there */
	uint32_t last;              /* the last of all; 0: not known */
	uint32_t previous;          /* received last */
	size_t offset;              /* read of packet "read" */
	unsigned int n_new, n_read; /* since the last ACK */
	uint8_t reason;             /* of the ACK to be sent now; 0: none */
	uint32_t serial;            /* that it answers */
	uint64_t due_ns;            /* of a delayed one */
	unsigned int window;
	size_t data_len;
	struct rx_incoming *packet; /* by number modulo window */
	uint8_t *data;              /* data_len of each */
};

struct rx_call {
	struct rx_call *ready_next;
	bool is_ready;
	enum rx_call_state state;
	struct rx_conn *conn;
	unsigned int channel;
	uint32_t number;
	int32_t error;
	const char *why;
	bool aborts; /* an ABORT is to be sent, also for each packet that still comes */
	bool abort_now, ping_now;
	uint32_t ping_serial; /* 0: none under way */
	uint64_t ping_ns, heard_ns;
	struct rx_sending out;
	struct rx_receiving in;
	void *user;
	bool held; /* by a user */
};

/* c may have something to send, and is due then. */
void rx_hub_enlist(struct rx_hub *hub, struct rx_call *c, uint64_t due_ns);
void rx_rtt_add(struct rx_conn *conn, uint64_t ns);

/* ---- send.c ---- */

void rx_send_begin(struct rx_sending *s);
size_t rx_send_write(struct rx_sending *s, const struct rx_conn *conn, const void *data,
		     size_t len);
/* All is confirmed for good. */
bool rx_send_is_done(const struct rx_sending *s);
void rx_send_answer(struct rx_sending *s, struct rx_conn *conn, const struct rx_ack *a,
		    uint32_t serial, uint64_t now_ns);
/* The peer has said without a list that it has all that was sent. */
void rx_send_confirm(struct rx_sending *s);
/* What was not sent yet will not be. */
void rx_send_stop(struct rx_sending *s);
void rx_send_timeout(struct rx_sending *s, struct rx_conn *conn, uint64_t now_ns);
/* Data that may be sent now, into out, which is empty. */
bool rx_send_output(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns);
/* A packet's header, with a new serial. */
struct rx_header rx_send_header(struct rx_call *c, uint8_t type, uint8_t flags);

/* ---- receive.c ---- */

void rx_receive_begin(struct rx_receiving *r);
void rx_receive_data(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
		     uint64_t now_ns);
const void *rx_receive_peek(const struct rx_receiving *r, size_t *len);
void rx_receive_skip(struct rx_receiving *r, size_t len, uint64_t now_ns);
bool rx_receive_is_read(const struct rx_receiving *r);
/* What was received, as an ACK; have: room for RX_ACK_MAX. */
struct rx_ack rx_receive_ack(struct rx_receiving *r, uint8_t reason, uint8_t *have);
/* Whatever was to be said of it has been said. */
void rx_receive_said(struct rx_receiving *r);

#endif
