/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODE_RX_H
#define AFS_DECODE_RX_H

/*
 * Rx over UDP, all numbers big-endian. A datagram is a packet, or several (a jumbogram):
 *
 *   epoch 4, connection 4 (the last two bits: channel), call 4, sequence 4, serial 4, type 1,
 *   flags 1, user status 1, security 1, checksum 2, service 2; then data
 *   in a jumbogram, after 1412 bytes of data: flags 1, 1, 2; then the next packet's data
 *
 * Any number of calls at once, read and answered by any thread, in any order. A call begins with
 * the read of the first packet of its data, whichever that is, and ends with the write of the last
 * packet of its reply, or with an ABORT of either side, whose code is its result. Packets that come
 * or go again do not count again. Calls that the server makes to others are passed over.
 */

#include "bpf/cursor.h"
#include "bpf/request.h"
#include "bpf/services.h"

#define RX_LEN     28 /* of a header */
#define RX_HEAD    36 /* and the first two words of data */
#define RX_JUMBO   1412
#define RX_WINDOW  64 /* older packets are taken for ones that came before */
#define RX_CHANNEL 3

/* Flags */
#define RX_OF_CLIENT 0x01
#define RX_LAST      0x04
#define RX_MORE      0x20 /* DATA: another packet follows in the datagram */

/* Of an epoch: whose address the client uses does not matter. */
#define RX_ANY_ADDRESS 0x80000000u

/* "account" of a call whose first packet was not read yet */
#define RX_UNKNOWN 0xffff

static __always_inline __u32 rx_number(const struct afs_datagram *d)
{
	return be32(d->head + 8);
}

/* The packet is one of a call of a client to this server. */
static __always_inline bool rx_is_served(const struct afs_datagram *d, int way)
{
	return (d->head[21] & RX_OF_CLIENT) == (way == TO_SERVER ? RX_OF_CLIENT : 0);
}

/* Sets the key's address. Names are struct sockaddr_in or sockaddr_in6. */
static __always_inline void rx_address(struct afs_datagram *d)
{
	struct afs_rx_key *key = &d->key;
	struct {
		__u16 family, port;
		__u8 v4[4];
	} name = {};

	if (!d->name || bpf_probe_read_user(&name, sizeof(name), (void *)d->name))
		return;
	key->port = name.port;
	if (name.family == AFS_INET6)
		bpf_probe_read_user(key->ip, 16, (void *)(d->name + 8));
	else
		__builtin_memcpy(key->ip, name.v4, 4);
}

/* Sets the key to the channel's: call 0, of which there is none. */
static __always_inline void rx_channel(const struct afs_stream *s, struct afs_datagram *d)
{
	struct afs_rx_key *key = &d->key;

	__builtin_memset(key, 0, sizeof(*key));
	key->stream = s->handle;
	key->epoch = be32(d->head);
	key->id = be32(d->head + 4);
	if (!(key->epoch & RX_ANY_ADDRESS))
		rx_address(d);
}

static __always_inline struct afs_rx_call *rx_find(struct afs_datagram *d, __u32 number)
{
	d->key.number = number;
	return bpf_map_lookup_elem(&rx_call, &d->key);
}

/* Whether a packet was not seen yet. */
static __always_inline bool rx_is_new(struct afs_rx_seen *seen, __u32 sequence)
{
	__u32 ahead = sequence - seen->last, behind = seen->last - sequence;

	if ((__s32)ahead > 0) {
		seen->mask = ahead < RX_WINDOW ? seen->mask << ahead | 1 : 1;
		seen->last = sequence;
		return true;
	}
	if (behind >= RX_WINDOW || seen->mask >> behind & 1)
		return false;
	seen->mask |= 1ull << behind;
	return true;
}

static __always_inline __u16 rx_account(const struct afs_datagram *d)
{
	__u32 service = d->head[26] << 8 | d->head[27];

	if (d->head[23])
		return AFS_RX_SECURED;
	if (d->have < RX_LEN + 4)
		return AFS_RX_OTHER;
	if (service != AFS_RX_RXPERF_SERVICE)
		return afs_rx_account(service, be32(d->head + RX_LEN));
	return d->have < RX_HEAD ? AFS_RX_OTHER
				 : afs_rx_account(service, be32(d->head + RX_LEN + 4));
}

/* The call before the last one of a channel cannot be answered any more. */
static __always_inline void rx_drop(struct afs_stream *s, struct afs_datagram *d, __u32 number)
{
	const struct afs_rx_call *p = number ? rx_find(d, number) : NULL;

	if (p && p->account != RX_UNKNOWN && !bpf_map_delete_elem(&rx_call, &d->key))
		STREAM_ADD(s->dropped, 1);
}

/* A packet of this call was read. false: it is an earlier one than the channel's last. */
static __always_inline bool rx_begin(struct afs_stream *s, struct afs_datagram *d, __u64 now)
{
	struct afs_rx_call *made = &d->made, *channel = rx_find(d, 0);
	__u32 number = rx_number(d);

	if (channel && channel->number == number)
		return true;
	if (channel && (__s32)(number - channel->number) < 0)
		return false;
	__builtin_memset(made, 0, sizeof(*made));
	made->number = number;
	if (channel) {
		made->before = channel->number;
		rx_drop(s, d, channel->before);
	}
	d->key.number = 0;
	bpf_map_update_elem(&rx_call, &d->key, made, BPF_ANY);
	made->ns = now;
	made->account = RX_UNKNOWN;
	d->key.number = number;
	bpf_map_update_elem(&rx_call, &d->key, made, BPF_NOEXIST);
	return true;
}

/* len bytes of data of a call were read. false: not for the first time. */
static __always_inline bool rx_request(struct afs_stripe *stripe, struct afs_stream *s,
				       struct afs_datagram *d, __u32 len, __u64 now)
{
	struct afs_account *a;
	struct afs_rx_call *p;

	if (!rx_begin(s, d, now))
		return false;
	p = rx_find(d, rx_number(d));
	if (!p || !rx_is_new(&p->in, d->sequence))
		return false;
	__sync_fetch_and_add(&p->bytes_in, len);
	if (d->sequence != 1 || p->account != RX_UNKNOWN)
		return true;
	p->account = rx_account(d);
	STREAM_ADD(s->begun, 1);
	a = account_at(stripe, p->account);
	if (a)
		a->begun++;
	return true;
}

/* What is known of a call that has ended, by the key; it is counted once. */
static __always_inline void rx_count(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, struct afs_datagram *d, __u64 now)
{
	const struct afs_rx_call *p = bpf_map_lookup_elem(&rx_call, &d->key);
	struct afs_queued q = {};
	__u64 ns, more;

	if (!p)
		return;
	ns = p->ns;
	q.account = p->account;
	q.bytes = p->bytes_in;
	more = p->bytes_in - q.bytes;
	d->flow.bytes = p->bytes_out;
	if (bpf_map_delete_elem(&rx_call, &d->key))
		return;
	if (q.account == RX_UNKNOWN) {
		STREAM_ADD(s->before, 1);
		return;
	}
	request_add(stripe, t, s, &q, false, now - ns);
	if (more)
		request_more(stripe, s, &q, more);
}

/* A call on the channel of the thread's datagram has ended, with the result in its flow. */
__noinline int rx_end(__u32 slot, __u32 number, __u64 now)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_stripe *stripe = stripe_here();
	struct afs_datagram *d;

	if (setup.decoder != AFS_DECODER_RX || !t || !s || !stripe)
		return 0;
	d = datagram_of(t);
	if (!d)
		return 0;
	d->key.number = number;
	rx_count(stripe, t, s, d, now);
	return 0;
}

/* A call that nothing was read of has ended: remembers it, as its end may come again. */
static __always_inline void rx_end_unknown(struct afs_stream *s, struct afs_datagram *d)
{
	__builtin_memset(&d->made, 0, sizeof(d->made));
	d->made.number = rx_number(d);
	d->key.number = 0;
	if (!bpf_map_update_elem(&rx_call, &d->key, &d->made, BPF_NOEXIST))
		STREAM_ADD(s->before, 1);
}

/* len bytes of a reply were sent. false: not for the first time. */
static __always_inline bool rx_reply(struct afs_thread *t, struct afs_stream *s,
				     struct afs_datagram *d, __u32 len, __u64 now)
{
	struct afs_rx_call *p = rx_find(d, rx_number(d));

	if (!p) {
		p = rx_find(d, 0);
		if (!p && d->flags & RX_LAST)
			rx_end_unknown(s, d);
		return !p;
	}
	if (!rx_is_new(&p->out, d->sequence))
		return false;
	__sync_fetch_and_add(&p->bytes_out, len);
	d->flow.result = 0;
	if (d->flags & RX_LAST)
		rx_end(t->slot, rx_number(d), now);
	return true;
}

/* A packet of data with len bytes: the first of a datagram, or one that follows. */
static __always_inline void rx_data(struct afs_stripe *stripe, struct afs_thread *t,
				    struct afs_stream *s, struct afs_datagram *d, int way, __u64 ns)
{
	__u32 len = d->flags & RX_MORE ? RX_JUMBO : d->len;
	bool new = true;

	packets_of(stripe, way)->type[AFS_RX_DATA]++;
	if (!rx_is_served(d, way)) {
		packets_of(stripe, way)->own++;
		return;
	}
	if (!rx_number(d))
		return;
	if (way == TO_SERVER)
		new = rx_request(stripe, s, d, len, ns);
	else
		t->replied += new = rx_reply(t, s, d, len, ns);
	packets_of(stripe, way)->again += !new;
}

/* Ends a call, or all of the connection. */
static __always_inline void rx_abort(struct afs_thread *t, struct afs_datagram *d, __u64 now)
{
	const struct afs_rx_call *channel;

	if (d->have < RX_LEN + 4)
		return;
	d->flow.result = be32(d->head + RX_LEN);
	if (rx_number(d)) {
		rx_end(t->slot, rx_number(d), now);
		return;
	}
	for (__u32 i = 0; i <= RX_CHANNEL; i++) {
		d->key.id = (d->key.id & ~RX_CHANNEL) | i;
		channel = rx_find(d, 0);
		if (channel)
			rx_end(t->slot, channel->number, now);
	}
}

/* Passes over the data, to what follows it in a jumbogram. */
static __always_inline void rx_pass(struct afs_datagram *d, __u64 len)
{
	struct afs_cursor *c = &d->flow.cursor;

	d->mini_have = 0;
	d->skip = 0;
	if (!(d->flags & RX_MORE))
		c->total = 0;
	else
		d->skip = len;
}

/* The header, as much of it as there is, was read. false: it is none. */
static __always_inline bool rx_packet(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, struct afs_datagram *d, int way,
				      __u64 ns)
{
	__u32 type;

	if (d->have < RX_LEN)
		return false;
	type = d->head[20];
	if (!type || type >= AFS_RX_N_TYPES)
		return false;
	rx_channel(s, d);
	d->sequence = be32(d->head + 12);
	d->flags = type == AFS_RX_DATA ? d->head[21] : 0;
	d->len = d->flow.cursor.total + d->have - RX_LEN;
	if (d->flags & RX_MORE && d->len < RX_JUMBO + FRAME_MARK)
		return false;
	if (type == AFS_RX_DATA) {
		rx_data(stripe, t, s, d, way, ns);
	} else {
		packets_of(stripe, way)->type[type & 15]++;
		if (type == AFS_RX_ABORT && rx_is_served(d, way))
			rx_abort(t, d, ns);
	}
	rx_pass(d, RX_JUMBO + RX_LEN - d->have);
	return true;
}

/* What lies between two packets of a jumbogram was read. */
static __always_inline bool rx_next(struct afs_stripe *stripe, struct afs_thread *t,
				    struct afs_stream *s, struct afs_datagram *d, int way, __u64 ns)
{
	d->sequence++;
	d->flags = d->mini[0];
	d->len = d->flow.cursor.total;
	if (d->flags & RX_MORE && d->len < RX_JUMBO + FRAME_MARK)
		return false;
	rx_data(stripe, t, s, d, way, ns);
	rx_pass(d, RX_JUMBO);
	return true;
}

/* Reads bytes of the header, or of the next packet's; false: not readable. */
static __always_inline bool rx_take(struct afs_datagram *d)
{
	struct afs_cursor *c = &d->flow.cursor;
	__u32 have = d->have & 63, n;

	if (!c->left && !next_piece(c))
		return false;
	if (d->skip) {
		n = c->left < d->skip ? c->left : d->skip;
		d->skip -= n;
		advance(c, n);
		return true;
	}
	if (d->whole)
		return mark_take(c, d->mini, &d->mini_have);
	n = c->left < RX_HEAD - have ? c->left : RX_HEAD - have;
	barrier_var(n);
	n &= 63;
	if (have + n > RX_HEAD || bpf_probe_read_user(d->head + have, n, (void *)c->at))
		return false;
	d->have = have + n;
	d->whole = d->have == RX_HEAD || n == c->total;
	advance(c, n);
	return true;
}

/* One step through the datagrams that a call moved. false: that was all. */
static __always_inline bool rx_step(struct afs_stripe *stripe, struct afs_thread *t,
				    struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	__u64 ns = way == TO_SERVER ? begin_ns : end_ns;
	struct afs_datagram *d = datagram_of(t);
	bool first, good = true;

	if (!d)
		return false;
	if (!d->flow.cursor.total && !datagram_next(d))
		return false;
	if (!d->begun)
		datagram_begin(stripe, t, d, way);
	first = !d->whole;
	if (d->flow.cursor.total)
		good = rx_take(d);
	else
		d->whole = 1;
	if (good && d->whole && first)
		good = rx_packet(stripe, t, s, d, way, ns);
	else if (good && d->mini_have == FRAME_MARK)
		good = rx_next(stripe, t, s, d, way, ns);
	if (!good)
		datagram_lose(s, d, way, first ? d->have : d->mini_have);
	if (d->flow.cursor.total)
		return true;
	d->begun = 0;
	return d->n_msg;
}

#endif
