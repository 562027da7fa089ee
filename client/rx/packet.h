/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_PACKET_H
#define RX_PACKET_H

/*
 * Packets of Rx, the RPC of AFS over UDP: their bytes, and nothing else. All numbers are in network
 * order. A datagram has one packet, or, as a jumbogram, several DATA packets one after the other.
 */

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RX_HEADER_LEN  28
#define RX_JUMBO_LEN   4    /* header of each further packet of a jumbogram */
#define RX_DATA_LEN    1412 /* data of a full packet; of each but the last in a jumbogram */
#define RX_PACKET_LEN  1444 /* longest packet that every peer takes */
#define RX_VERSION_LEN 65

enum rx_packet_type {
	RX_DATA = 1,
	RX_ACK,
	RX_BUSY,
	RX_ABORT,
	RX_ACKALL,
	RX_CHALLENGE,
	RX_RESPONSE,
	RX_DEBUG,
	RX_PARAMS,
	RX_VERSION = 13,
};

#define RX_FROM_CLIENT 0x01u /* sent by the side that began the connection */
#define RX_REQUEST_ACK 0x02u
#define RX_LAST        0x04u /* of a call, in this direction */
#define RX_MORE        0x08u
#define RX_JUMBO       0x20u /* of DATA: another packet follows in the datagram */
#define RX_SLOW_START  0x20u /* of ACK: the sender of DATA may use slow start */

struct rx_header {
	uint32_t epoch, cid; /* cid: the lowest two bits are the channel */
	uint32_t call;       /* 0: the packet is about the whole connection */
	uint32_t seq;        /* of DATA, from 1 */
	uint32_t serial;
	uint8_t type, flags, status, security;
	uint16_t checksum, service;
};

#define RX_CHANNELS     4u
#define RX_CHANNEL_MASK 3u

/* b is bad afterwards if there was no header. */
void rx_header_take(struct rbuf *b, struct rx_header *out);
void rx_header_put(struct wbuf *b, const struct rx_header *h);

/*
 * The packets of a datagram, one after the other. begin: 0 or -EPROTO: no header. next: false when
 * there is no more; *h is the packet's own header, *data its payload. Where a further packet of a
 * jumbogram is incomplete it and what follows is not there.
 */
struct rx_parts {
	struct rbuf b;
	struct rx_header h;
	bool more;
};
int rx_parts_begin(struct rx_parts *p, const void *datagram, size_t len);
bool rx_parts_next(struct rx_parts *p, struct rx_header *h, struct rbuf *data);

/* The header of the next packet, h, in a jumbogram. */
void rx_jumbo_put(struct wbuf *b, const struct rx_header *h);

enum rx_ack_reason {
	RX_ACK_REQUESTED = 1,
	RX_ACK_DUPLICATE,
	RX_ACK_OUT_OF_ORDER,
	RX_ACK_EXCEEDS_WINDOW,
	RX_ACK_NO_SPACE,
	RX_ACK_PING,
	RX_ACK_PING_RESPONSE,
	RX_ACK_DELAY,
	RX_ACK_IDLE,
};

#define RX_ACK_MAX 255 /* packets that one ACK lists */
/* Longest payload of an ACK. */
#define RX_ACK_LEN (18 + RX_ACK_MAX + 3 + 16)

struct rx_ack {
	uint32_t first;    /* all packets before it are acknowledged for good */
	uint32_t previous; /* the one received last */
	uint32_t serial;   /* of the packet that is answered; 0: none */
	uint8_t reason;    /* enum rx_ack_reason */
	uint8_t n;
	const uint8_t *have; /* n bytes, borrowed: packet first + i is 1: there, 0: missing */
	/* What the sender of the ACK takes; 0: not said. */
	uint32_t packet_max;   /* bytes of a packet */
	uint32_t mtu;          /* bytes */
	uint32_t window;       /* packets */
	uint32_t datagram_max; /* packets of a jumbogram; 1: none */
};

/* 0 or -EPROTO. The last four may be missing, and are 0 then. */
int rx_ack_parse(struct rx_ack *out, struct rbuf b);
void rx_ack_put(struct wbuf *b, const struct rx_ack *a);

/* ABORT: an error. 0 or -EPROTO. */
int rx_abort_parse(int32_t *out, struct rbuf b);
void rx_abort_put(struct wbuf *b, int32_t code);

enum rx_error {
	RX_CALL_DEAD = -1,
	RX_INVALID_OPERATION = -2,
	RX_CALL_TIMEOUT = -3,
	RX_PROTOCOL_ERROR = -5,
	RX_USER_ABORT = -6,
	RX_RESTARTING = -100,
	RX_UNMARSHAL = -453,
	RX_UNKNOWN_OPCODE = -455,
};

/* "the call is dead"; NULL: no such error is known. */
const char *rx_error_text(int32_t code);

#endif
