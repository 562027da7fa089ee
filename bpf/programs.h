/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_PROGRAMS_H
#define AFS_PROGRAMS_H

#include <linux/types.h>

/* What the results of a program's procedures begin with. */
enum afs_rpc_results {
	AFS_RPC_PLAIN,  /* nothing that says how they ended */
	AFS_RPC_ERRNO,  /* a value that is below 0 in case of an error, and an errno */
	AFS_RPC_STATUS, /* a status, 0 if they went well */
};

/*
 * Programs of SunRPC, and the accounts of their procedures: procedure k of a program is counted in
 * account first + k, or in its last one if it has fewer; a program that is not here in
 * AFS_RPC_OTHER. X(NAME, number, first, n, results).
 *
 * The numbers are those of GlusterFS's servers, as Wireshark shows them, and of NFS's (RFC 1813).
 */
#define AFS_RPC_PROGRAMS(X)                                                                        \
	X(FOP, 1298437, 0, 64, AFS_RPC_ERRNO) /* file operations */                                \
	/* set up a connection, volume file, ping */                                               \
	X(HANDSHAKE, 14398633, 64, 8, AFS_RPC_ERRNO)                                               \
	X(PORTMAP, 34123456, 72, 8, AFS_RPC_ERRNO) /* which port a brick has */                    \
	X(DUMP, 123451501, 80, 4, AFS_RPC_PLAIN)   /* which programs there are */                  \
	X(CALLBACK, 52743234, 84, 1, AFS_RPC_PLAIN)                                                \
	X(CLI, 1238463, 85, 1, AFS_RPC_ERRNO)      /* the command line */                          \
	X(MANAGE, 1238433, 86, 1, AFS_RPC_ERRNO)   /* glusterd to glusterd */                      \
	X(FRIEND, 1238437, 87, 1, AFS_RPC_ERRNO)   /* likewise: who belongs to the pool */         \
	X(BRICK_OP, 4867634, 88, 1, AFS_RPC_ERRNO) /* glusterd to a brick */                       \
	X(NFS, 100003, 96, 22, AFS_RPC_STATUS)     /* version 3, and NULL of version 4 */          \
	X(MOUNT, 100005, 118, 6, AFS_RPC_PLAIN)    /* what is exported */                          \
	X(NLM, 100021, 124, 1, AFS_RPC_PLAIN)      /* locks */

/*
 * NFSv4's COMPOUND (RFC 7530, 8881, 7862): the account of an operation is AFS_RPC_COMPOUND + its
 * number; the first one is that of compounds without an operation that is known.
 */
#define AFS_RPC_COMPOUND 148
#define AFS_RPC_N_NFS4   76

#define AFS_RPC_SEALED   254 /* of NFS, signed or encrypted by Kerberos: its results are not seen */
#define AFS_RPC_OTHER    255

enum afs_rpc_first {
#define X(NAME, number, first, n, results) AFS_RPC_##NAME = (first),
	AFS_RPC_PROGRAMS(X)
#undef X
};

#define AFS_RPC_NFS_PROGRAM 100003
#define AFS_RPC_MNT         (AFS_RPC_MOUNT + 1)

static inline __attribute__((always_inline)) _Bool afs_rpc_is_known(__u32 program)
{
#define X(NAME, number, first, n, results)                                                         \
	if (program == (number))                                                                   \
		return 1;
	AFS_RPC_PROGRAMS(X)
#undef X
	return 0;
}

/* Whether a call is a COMPOUND of NFSv4, whose account its operations say. */
static inline __attribute__((always_inline)) _Bool afs_rpc_is_compound(__u32 program, __u32 version,
								       __u32 procedure)
{
	return program == AFS_RPC_NFS_PROGRAM && version == 4 && procedure;
}

static inline __attribute__((always_inline)) __u16 afs_rpc_account(__u32 program, __u32 version,
								   __u32 procedure)
{
	if (afs_rpc_is_compound(program, version, procedure))
		return AFS_RPC_COMPOUND;
	if (program == AFS_RPC_NFS_PROGRAM && version != 3 && procedure)
		return AFS_RPC_OTHER;
#define X(NAME, number, first, n, results)                                                         \
	if (program == (number))                                                                   \
		return (__u16)((first) + (procedure < (n) ? procedure : (n)-1));
	AFS_RPC_PROGRAMS(X)
#undef X
	return AFS_RPC_OTHER;
}

/* Of this account's procedures. */
static inline __attribute__((always_inline)) enum afs_rpc_results afs_rpc_results_of(__u16 account)
{
	if (account == AFS_RPC_MNT || (__u32)account - AFS_RPC_COMPOUND < AFS_RPC_N_NFS4)
		return AFS_RPC_STATUS;
#define X(NAME, number, first, n, results)                                                         \
	if ((__u32)account - (first) < (__u32)(n))                                                 \
		return results;
	AFS_RPC_PROGRAMS(X)
#undef X
	return AFS_RPC_PLAIN;
}

/* Operations of NFSv4 that say nothing of what a COMPOUND does, and what they have with them. */
enum afs_nfs4_op {
	AFS_NFS4_GETATTR = 9,
	AFS_NFS4_GETFH = 10,
	AFS_NFS4_LOOKUP = 15,
	AFS_NFS4_LOOKUPP = 16,
	AFS_NFS4_PUTFH = 22,
	AFS_NFS4_PUTPUBFH = 23,
	AFS_NFS4_PUTROOTFH = 24,
	AFS_NFS4_RESTOREFH = 31,
	AFS_NFS4_SAVEFH = 32,
	AFS_NFS4_SEQUENCE = 53,
};

/* Results of a request that the server did not carry out, below 0: an errno, or a
 * status of NFS, is above. */
#define AFS_RPC_ACCEPTED(stat) (-(__s32)(stat))       /* accept_stat, 1 to 5 */
#define AFS_RPC_DENIED(stat)   (-100 - (__s32)(stat)) /* reject_stat, 0 or 1 */

#endif
