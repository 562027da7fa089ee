/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts struct tcp_info to the figures of a run. No sockets here. */
#include "run/tcp.h"

#include <linux/tcp.h>
#include <string.h>

struct field {
	enum run_tcp_value value;
	size_t at, len;
	uint64_t none; /* its value while nothing was measured */
};

#define NEVER UINT64_MAX
#define F(value, name, none)                                                                       \
	{                                                                                          \
		value, offsetof(struct tcp_info, tcpi_##name),                                     \
		    sizeof(((struct tcp_info *)0)->tcpi_##name), none                              \
	}

static const struct field fields[] = {
	F(TCP_CWND, snd_cwnd, NEVER),
	F(TCP_SSTHRESH, snd_ssthresh, NEVER),
	F(TCP_RTT, rtt, NEVER),
	F(TCP_RTT_VAR, rttvar, NEVER),
	F(TCP_MIN_RTT, min_rtt, UINT32_MAX),
	F(TCP_RETRANS, retrans, NEVER),
	F(TCP_RETRANS_TOTAL, total_retrans, NEVER),
	F(TCP_LOST, lost, NEVER),
	F(TCP_REORDERING, reordering, NEVER),
	F(TCP_SND_MSS, snd_mss, NEVER),
	F(TCP_RCV_MSS, rcv_mss, NEVER),
	F(TCP_ADV_MSS, advmss, NEVER),
	F(TCP_RCV_SPACE, rcv_space, NEVER),
	F(TCP_DELIVERY_RATE, delivery_rate, 0),
	F(TCP_BYTES_ACKED, bytes_acked, NEVER),
	F(TCP_BYTES_RECEIVED, bytes_received, NEVER),
	F(TCP_SEGS_OUT, segs_out, NEVER),
	F(TCP_SEGS_IN, segs_in, NEVER),
	F(TCP_BUSY, busy_time, NEVER),
	F(TCP_RWND_LIMITED, rwnd_limited, NEVER),
	F(TCP_SNDBUF_LIMITED, sndbuf_limited, NEVER),
	F(TCP_UNSENT, notsent_bytes, NEVER),
};

_Static_assert(sizeof(fields) / sizeof(fields[0]) + 5 == N_TCP, "all but what is not in it");

void tcp_info_take(struct run_tcp *out, const struct tcp_info *info, size_t len)
{
	const uint8_t *raw = (const uint8_t *)info;
	const struct field *f;
	uint32_t narrow;
	uint64_t wide;

	for (f = fields; f < fields + sizeof(fields) / sizeof(fields[0]); f++) {
		out->known[f->value] = false;
		if (f->at + f->len > len)
			continue;
		if (f->len == sizeof(wide)) {
			memcpy(&wide, raw + f->at, sizeof(wide));
		} else {
			memcpy(&narrow, raw + f->at, sizeof(narrow));
			wide = narrow;
		}
		if (wide == f->none)
			continue;
		out->known[f->value] = true;
		out->value[f->value] = wide;
	}
}
