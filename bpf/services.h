/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_SERVICES_H
#define AFS_SERVICES_H

#include <linux/types.h>

/*
 * Services over Rx, and the accounts of their operations: operation first + k of a service is
 * counted in account at + k; any other one in AFS_RX_OTHER. X(NAME, service, first, n, at).
 *
 * The numbers of operations are those that Wireshark shows.
 */
#define AFS_RX_SERVICES(X)                                                                         \
	X(FS, 1, 130, 34, 0) /* files */                                                           \
	X(FS_LATER, 1, 65536, 12, 34)                                                              \
	X(BOS, 1, 80, 40, 46)   /* the overseer of the other servers */                            \
	X(VL, 52, 501, 40, 86)  /* which server has a volume */                                    \
	X(PT, 73, 500, 40, 126) /* users and groups */                                             \
	X(VOL, 4, 100, 32, 166) /* volumes */                                                      \
	X(VOL_LATER, 4, 65536, 6, 198)                                                             \
	X(VOTE, 50, 10000, 8, 204)  /* between the servers of a database */                        \
	X(DISK, 51, 20000, 16, 212) /* likewise */                                                 \
	X(RXPERF, 147, 0, 5, 228)   /* a test of throughput; its first word is a version */

#define AFS_RX_SECURED 254 /* encrypted or signed: the operation cannot be seen */
#define AFS_RX_OTHER   255

enum afs_rx_at {
#define X(NAME, service, first, n, at) AFS_RX_##NAME = (at),
	AFS_RX_SERVICES(X)
#undef X
};

#define AFS_RX_RXPERF_SERVICE 147

static inline __attribute__((always_inline)) __u16 afs_rx_account(__u32 service, __u32 operation)
{
#define X(NAME, number, first, n, at)                                                              \
	if (service == (number) && operation - (first) < (n))                                      \
		return (__u16)((at) + (operation - (first)));
	AFS_RX_SERVICES(X)
#undef X
	return AFS_RX_OTHER;
}

#endif
