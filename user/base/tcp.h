/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_TCP_H
#define BASE_TCP_H

/* What the kernel says about one end of a TCP connection, as RUN_TCP of base/run.h counts it. */

#include "base/run.h"

#include <string.h>

/* Of the name of a congestion control: the kernel's TCP_CA_NAME_MAX. */
#define TCP_CONGESTION_LEN 16

/* Does this congestion control send at a rate of its own choice, on one host as well? BBR does. */
static inline bool tcp_is_paced(const char *congestion)
{
	return !strncmp(congestion, "bbr", 3);
}

struct tcp_info; /* of linux/tcp.h */

/*
 * The first len bytes of a tcp_info, from getsockopt(TCP_INFO) or INET_DIAG_INFO: older kernels
 * give fewer than linux/tcp.h has, newer ones may give more. Need not be aligned. Fields that lie
 * beyond, or for which the kernel has no measurement yet, stay unknown; end, when, t_ns, SNDBUF,
 * RCVBUF and MSS, which tcp_info does not hold, are left alone.
 */
void tcp_info_take(struct run_tcp *out, const struct tcp_info *info, size_t len);

#endif
