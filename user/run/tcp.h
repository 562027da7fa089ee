/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_TCP_H
#define RUN_TCP_H

/* The kernel's figures of one end of a TCP connection, as in RUN_TCP of run/run.h. */

#include "run/run.h"

#include <string.h>

/* Length of the name of a congestion control: the kernel's TCP_CA_NAME_MAX. */
#define TCP_CONGESTION_LEN 16

/* Whether this congestion control limits its sending rate, even on one host, as BBR does. */
static inline bool tcp_is_paced(const char *congestion)
{
	return !strncmp(congestion, "bbr", 3);
}

struct tcp_info; /* of linux/tcp.h */

/*
 * Reads the first len bytes of a tcp_info, from getsockopt(TCP_INFO) or INET_DIAG_INFO: older
 * kernels give fewer than linux/tcp.h has, newer ones may give more. Need not be aligned. Missing
 * fields, and those for which the kernel has no measurement yet, become unknown; end, when, t_ns,
 * SNDBUF, RCVBUF, MSS, QUEUE and UNREAD, which are not in tcp_info, are not changed.
 */
void tcp_info_take(struct run_tcp *out, const struct tcp_info *info, size_t len);

#endif
