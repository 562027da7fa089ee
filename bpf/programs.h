/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_PROGRAMS_H
#define AFS_PROGRAMS_H

#include <linux/types.h>

/*
 * Programs of SunRPC, and the accounts of their procedures: procedure k of a program is counted in
 * account first + k, or in its last one if it has fewer; a program that is not here in
 * AFS_RPC_OTHER. X(NAME, number, first, n, status); status: a result begins with a value that is
 * below 0 in case of an error, and an errno.
 *
 * The numbers are those of GlusterFS's servers, as Wireshark shows them.
 */
#define AFS_RPC_PROGRAMS(X)                                                                        \
	X(FOP, 1298437, 0, 64, 1)        /* file operations */                                     \
	X(HANDSHAKE, 14398633, 64, 8, 1) /* set up a connection, volume file, ping */              \
	X(PORTMAP, 34123456, 72, 8, 1)   /* which port a brick has */                              \
	X(DUMP, 123451501, 80, 4, 0)     /* which programs there are */                            \
	X(CALLBACK, 52743234, 84, 1, 0)                                                            \
	X(CLI, 1238463, 85, 1, 0)      /* the command line */                                      \
	X(MANAGE, 1238433, 86, 1, 0)   /* glusterd to glusterd */                                  \
	X(FRIEND, 1238437, 87, 1, 0)   /* likewise: who belongs to the pool */                     \
	X(BRICK_OP, 4867634, 88, 1, 0) /* glusterd to a brick */

#define AFS_RPC_OTHER 255

enum afs_rpc_first {
#define X(NAME, number, first, n, status) AFS_RPC_##NAME = (first),
	AFS_RPC_PROGRAMS(X)
#undef X
};

static inline __attribute__((always_inline)) _Bool afs_rpc_is_known(__u32 program)
{
#define X(NAME, number, first, n, status)                                                          \
	if (program == (number))                                                                   \
		return 1;
	AFS_RPC_PROGRAMS(X)
#undef X
	return 0;
}

static inline __attribute__((always_inline)) __u16 afs_rpc_account(__u32 program, __u32 procedure)
{
#define X(NAME, number, first, n, status)                                                          \
	if (program == (number))                                                                   \
		return (__u16)((first) + (procedure < (n) ? procedure : (n)-1));
	AFS_RPC_PROGRAMS(X)
#undef X
	return AFS_RPC_OTHER;
}

/* Whether the results of this account's procedures begin with a value and an errno. */
static inline __attribute__((always_inline)) _Bool afs_rpc_has_status(__u16 account)
{
#define X(NAME, number, first, n, status)                                                          \
	if ((__u32)account - (first) < (__u32)(n))                                                 \
		return status;
	AFS_RPC_PROGRAMS(X)
#undef X
	return 0;
}

/* Results of a request that the server did not carry out, below 0: an errno is above. */
#define AFS_RPC_ACCEPTED(stat) (-(__s32)(stat))       /* accept_stat, 1 to 5 */
#define AFS_RPC_DENIED(stat)   (-100 - (__s32)(stat)) /* reject_stat, 0 or 1 */

#endif
