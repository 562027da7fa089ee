/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes packets of Rx apart, and puts them together. */
#include "rx/packet.h"

#include <errno.h>

#define ACK_TAIL 3 /* bytes between the list and the limits */

void rx_header_take(struct rbuf *b, struct rx_header *out)
{
	out->epoch = rbuf_u32(b);
	out->cid = rbuf_u32(b);
	out->call = rbuf_u32(b);
	out->seq = rbuf_u32(b);
	out->serial = rbuf_u32(b);
	out->type = rbuf_u8(b);
	out->flags = rbuf_u8(b);
	out->status = rbuf_u8(b);
	out->security = rbuf_u8(b);
	out->checksum = rbuf_u16(b);
	out->service = rbuf_u16(b);
}

void rx_header_put(struct wbuf *b, const struct rx_header *h)
{
	wbuf_u32(b, h->epoch);
	wbuf_u32(b, h->cid);
	wbuf_u32(b, h->call);
	wbuf_u32(b, h->seq);
	wbuf_u32(b, h->serial);
	wbuf_u8(b, h->type);
	wbuf_u8(b, h->flags);
	wbuf_u8(b, h->status);
	wbuf_u8(b, h->security);
	wbuf_u16(b, h->checksum);
	wbuf_u16(b, h->service);
}

int rx_parts_begin(struct rx_parts *p, const void *datagram, size_t len)
{
	*p = (struct rx_parts) { .b = rbuf_of(datagram, len), .more = true };
	rx_header_take(&p->b, &p->h);
	p->more = !p->b.bad;
	return p->b.bad ? -EPROTO : 0;
}

static bool is_jumbo(const struct rx_header *h)
{
	return h->type == RX_DATA && h->flags & RX_JUMBO;
}

/* The header of the packet after this one: p->h. */
static void take_jumbo(struct rx_parts *p)
{
	p->h.flags = rbuf_u8(&p->b);
	rbuf_u8(&p->b);
	p->h.checksum = rbuf_u16(&p->b);
	p->h.seq++;
	p->h.serial++;
	p->more = !p->b.bad;
}

bool rx_parts_next(struct rx_parts *p, struct rx_header *h, struct rbuf *data)
{
	bool jumbo;
	size_t len;

	if (!p->more)
		return false;
	*h = p->h;
	jumbo = is_jumbo(h);
	len = jumbo ? RX_DATA_LEN : rbuf_left(&p->b);
	*data = (struct rbuf) { .at = rbuf_bytes(&p->b, len) };
	p->more = false;
	if (p->b.bad)
		return false;
	data->end = data->at + len;
	h->flags &= (uint8_t)(jumbo ? ~RX_JUMBO : 0xff);
	if (jumbo)
		take_jumbo(p);
	return true;
}

void rx_jumbo_put(struct wbuf *b, const struct rx_header *h)
{
	wbuf_u8(b, h->flags);
	wbuf_u8(b, 0);
	wbuf_u16(b, h->checksum);
}

int rx_ack_parse(struct rx_ack *out, struct rbuf b)
{
	rbuf_u32(&b); /* buffer space, skew */
	out->first = rbuf_u32(&b);
	out->previous = rbuf_u32(&b);
	out->serial = rbuf_u32(&b);
	out->reason = rbuf_u8(&b);
	out->n = rbuf_u8(&b);
	out->have = rbuf_bytes(&b, out->n);
	if (b.bad)
		return -EPROTO;
	rbuf_bytes(&b, ACK_TAIL);
	/* a list of limits may break off: what is missing was not said */
	out->packet_max = rbuf_u32(&b);
	out->mtu = rbuf_u32(&b);
	out->window = rbuf_u32(&b);
	out->datagram_max = rbuf_u32(&b);
	return 0;
}

void rx_ack_put(struct wbuf *b, const struct rx_ack *a)
{
	wbuf_u32(b, 0);
	wbuf_u32(b, a->first);
	wbuf_u32(b, a->previous);
	wbuf_u32(b, a->serial);
	wbuf_u8(b, a->reason);
	wbuf_u8(b, a->n);
	wbuf_bytes(b, a->have, a->n);
	wbuf_zero(b, ACK_TAIL);
	wbuf_u32(b, a->packet_max);
	wbuf_u32(b, a->mtu);
	wbuf_u32(b, a->window);
	wbuf_u32(b, a->datagram_max);
}

int rx_abort_parse(int32_t *out, struct rbuf b)
{
	*out = (int32_t)rbuf_u32(&b);
	return b.bad ? -EPROTO : 0;
}

void rx_abort_put(struct wbuf *b, int32_t code)
{
	wbuf_u32(b, (uint32_t)code);
}

const char *rx_error_text(int32_t code)
{
	static const struct {
		int32_t code;
		const char *text;
	} errors[] = {
		{ RX_CALL_DEAD, "no answer: the call is dead" },
		{ RX_INVALID_OPERATION, "the server has no such service" },
		{ RX_CALL_TIMEOUT, "the call took too long" },
		{ RX_PROTOCOL_ERROR, "protocol error" },
		{ RX_USER_ABORT, "the other end gave the call up" },
		{ RX_RESTARTING, "the server is restarting" },
		{ RX_UNMARSHAL, "the server could not read the request" },
		{ -454, "the server could not write the reply" },
		{ RX_UNKNOWN_OPCODE, "the server does not know this operation" },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code)
			return errors[i].text;
	return NULL;
}
