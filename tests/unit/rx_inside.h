/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_RX_INSIDE_H
#define UNIT_RX_INSIDE_H

/* What tests look at inside calls and endpoints of Rx. */

#include "rx/endpoint_priv.h"

/* All of the peer's bytes were skipped, and there are no more. */
static inline bool rx_inside_is_read(const struct rx_call *c)
{
	return rx_receive_is_read(&c->in);
}

/* Calls that are not over. */
static inline unsigned int rx_inside_active(const struct rx_endpoint *ep)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ep->n_made; i++)
		n += ep->call[i]->state == RX_CALL_ACTIVE;
	return n;
}

#endif
