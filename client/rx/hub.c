/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the calls of one end share. */
#include "rx/call_priv.h"

#include <string.h>

void rx_hub_init(struct rx_hub *hub, const struct rx_limits *own)
{
	memset(hub, 0, sizeof(*hub));
	hub->own = *own;
	hub->first_rtt_ns = RX_FIRST_RTT_NS;
	hub->dead_ns = RX_DEAD_NS;
	hub->least_rtt_ns = RX_LEAST_RTT_NS;
	hub->ready_tail = &hub->ready;
	hub->due_ns = RX_NEVER;
}

void rx_hub_enlist(struct rx_hub *hub, struct rx_call *c, uint64_t due_ns)
{
	if (due_ns < hub->due_ns)
		hub->due_ns = due_ns;
	if (c->is_ready)
		return;
	c->is_ready = true;
	c->ready_next = NULL;
	*hub->ready_tail = c;
	hub->ready_tail = &c->ready_next;
}

struct rx_call *rx_hub_ready(struct rx_hub *hub)
{
	struct rx_call *c = hub->ready;

	if (!c)
		return NULL;
	hub->ready = c->ready_next;
	if (!hub->ready)
		hub->ready_tail = &hub->ready;
	c->is_ready = false;
	return c;
}

static void rx_hub_add_rtt(struct rx_rtt *r, uint64_t ns)
{
	r->n++;
	r->sum_ns += ns;
	if (r->n == 1 || ns < r->min_ns)
		r->min_ns = ns;
	if (ns > r->max_ns)
		r->max_ns = ns;
}

/* An eighth of a new one counts, a quarter for the deviation. */
void rx_rtt_add(struct rx_conn *conn, uint64_t ns)
{
	struct rx_rtt *r = &conn->rtt;
	uint64_t off_ns = ns > r->smooth_ns ? ns - r->smooth_ns : r->smooth_ns - ns;

	if (!r->n) {
		r->smooth_ns = ns;
		r->deviation_ns = ns / 2;
	} else {
		r->smooth_ns = (7 * r->smooth_ns + ns) / 8;
		r->deviation_ns = (3 * r->deviation_ns + off_ns) / 4;
	}
	rx_hub_add_rtt(r, ns);
	rx_hub_add_rtt(&conn->hub->rtt, ns);
}

void rx_counts_add(struct rx_counts *to, const struct rx_counts *from)
{
#define X(name, meaning) to->name += from->name;
	RX_COUNTS(X)
#undef X
}
