/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODE_NFS_H
#define AFS_DECODE_NFS_H

/*
 * Calls of NFS: what follows the number of their procedure, as far as it says what they are (RFC
 * 5531, 2203, 7530, 8881), all numbers big-endian.
 *
 *   credential  flavor 4, length 4, bytes; a verifier of the same form
 *   RPCSEC_GSS  the bytes of such a credential: version 4, what for 4, sequence 4, service 4, ...
 *   COMPOUND    tag: length 4, bytes; minor version 4, number of operations 4, operations
 *   operation   number 4, arguments
 *
 * A COMPOUND is named after its first operation that does more than go to a file and say which it
 * is; if there is none, after the first of LOOKUP, GETATTR, GETFH and SEQUENCE, in this order, that
 * it has. A call that Kerberos signs or encrypts has no name: the begin of its results is not seen.
 *
 * Words are read into the place after the procedure's number, whatever comes between is passed
 * over; where it is, and what it has found, is in f->passed.
 */

#include "bpf/cursor.h"
#include "bpf/programs.h"

#define NFS_WORDS 24 /* where the words are in f->head */

/* What is read next. */
enum nfs_at {
	NFS_AT_CREDENTIAL, /* two words, as all up to NFS_AT_COUNT */
	NFS_AT_GSS,
	NFS_AT_SERVICE,
	NFS_AT_VERIFIER,
	NFS_AT_COUNT,
	NFS_AT_TAG, /* one word, as all from here on */
	NFS_AT_OPERATION,
	NFS_AT_BYTES, /* the length of what an operation has with it, in bytes */
	NFS_AT_LIST,  /* the same in words */
	NFS_AT_END,   /* nothing */
};

#define NFS_AT(f)       ((f)->passed & 0xff)
#define NFS_OP(f)       ((f)->passed >> 8 & 0x7f) /* that names the COMPOUND; 0: none yet */
#define NFS_SEALED      0x8000u
#define NFS_LEN(f)      ((f)->passed >> 16) /* of the credential */
#define NFS_LEN_MAX     0xffffu             /* a longer tag, name, ... is not believed */

#define RPCSEC_GSS      6
#define GSS_HEAD        16 /* to the end of the service */
#define GSS_DATA        0
#define GSS_INTEGRITY   2
#define NFS_SESSION_LEN 32 /* what SEQUENCE has with it */

/* It is a call of NFS, of which the first NFS_WORDS bytes are there. */
static __always_inline bool nfs_is_call(const struct afs_flow *f)
{
	return be32(f->head + 12) == AFS_RPC_NFS_PROGRAM;
}

/* Bytes of the header until the words that are read next are complete. */
static __always_inline __u32 nfs_needs(const struct afs_flow *f)
{
	return NFS_WORDS + (NFS_AT(f) < NFS_AT_TAG ? 8 : 4);
}

static __always_inline bool nfs_is_compound(const struct afs_flow *f)
{
	return afs_rpc_is_compound(be32(f->head + 12), be32(f->head + 16), be32(f->head + 20));
}

/* The account of the call, as far as it was read. */
static __always_inline __u16 nfs_account(const struct afs_flow *f)
{
	if (f->passed & NFS_SEALED)
		return AFS_RPC_SEALED;
	if (nfs_is_compound(f))
		return AFS_RPC_COMPOUND + NFS_OP(f);
	return afs_rpc_account(be32(f->head + 12), be32(f->head + 16), be32(f->head + 20));
}

static __always_inline void nfs_go_to(struct afs_flow *f, __u32 at)
{
	f->passed = (f->passed & ~0xffu) | at;
}

/* Passes over so many bytes, and those that fill up the last word. */
static __always_inline void nfs_go_past(struct afs_flow *f, __u32 len, __u32 at)
{
	if (len > NFS_LEN_MAX) {
		nfs_go_to(f, NFS_AT_END);
		return;
	}
	f->pass = (len + 3) & ~3u;
	nfs_go_to(f, at);
}

/* Which of the operations that say little says more; 0: it says nothing. */
static __always_inline __u32 nfs_rank(__u32 op)
{
	return op == AFS_NFS4_LOOKUP || op == AFS_NFS4_LOOKUPP ? 4
	       : op == AFS_NFS4_GETATTR                        ? 3
	       : op == AFS_NFS4_GETFH                          ? 2
	       : op == AFS_NFS4_SEQUENCE                       ? 1
							       : 0;
}

static __always_inline void nfs_name(struct afs_flow *f, __u32 op)
{
	f->passed = (f->passed & ~0x7f00u) | op << 8;
}

static __always_inline void nfs_operation(struct afs_flow *f, __u32 op)
{
	if (nfs_rank(op) > nfs_rank(NFS_OP(f)))
		nfs_name(f, op);
	if (op == AFS_NFS4_LOOKUP || op == AFS_NFS4_PUTFH) {
		nfs_go_to(f, NFS_AT_BYTES);
	} else if (op == AFS_NFS4_GETATTR) {
		nfs_go_to(f, NFS_AT_LIST);
	} else if (op == AFS_NFS4_SEQUENCE) {
		f->pass = NFS_SESSION_LEN;
	} else if (op != AFS_NFS4_GETFH && op != AFS_NFS4_LOOKUPP && op != AFS_NFS4_PUTPUBFH &&
		   op != AFS_NFS4_PUTROOTFH && op != AFS_NFS4_RESTOREFH && op != AFS_NFS4_SAVEFH) {
		nfs_name(f, op < AFS_RPC_N_NFS4 ? op : 0);
		nfs_go_to(f, NFS_AT_END);
	}
}

/* Of a credential so many bytes are left. */
static __always_inline void nfs_go_past_credential(struct afs_flow *f, __u32 len)
{
	if (nfs_is_compound(f))
		nfs_go_past(f, len, NFS_AT_VERIFIER);
	else
		nfs_go_to(f, NFS_AT_END);
}

/* The two words of a credential or, of RPCSEC_GSS, in it. */
static __always_inline void nfs_credential(struct afs_flow *f, __u32 at, __u32 first, __u32 second)
{
	if (at == NFS_AT_CREDENTIAL && first != RPCSEC_GSS) {
		nfs_go_past_credential(f, second);
	} else if (at == NFS_AT_CREDENTIAL && (second < GSS_HEAD || second > NFS_LEN_MAX)) {
		nfs_go_to(f, NFS_AT_END);
	} else if (at == NFS_AT_CREDENTIAL) {
		f->passed = second << 16 | NFS_AT_GSS;
	} else if (at == NFS_AT_GSS) {
		nfs_go_to(f, second == GSS_DATA ? NFS_AT_SERVICE : NFS_AT_END);
	} else if (second >= GSS_INTEGRITY) {
		f->passed |= NFS_SEALED;
		nfs_go_to(f, NFS_AT_END);
	} else {
		nfs_go_past_credential(f, NFS_LEN(f) - GSS_HEAD);
	}
}

/* The words that were read next are complete. */
static __always_inline void nfs_words(struct afs_flow *f)
{
	__u32 at = NFS_AT(f), first = be32(f->head + NFS_WORDS);
	__u32 second = be32(f->head + NFS_WORDS + 4);

	f->have = NFS_WORDS;
	if (at < NFS_AT_VERIFIER)
		nfs_credential(f, at, first, second);
	else if (at == NFS_AT_VERIFIER)
		nfs_go_past(f, second, NFS_AT_TAG);
	else if (at == NFS_AT_TAG)
		nfs_go_past(f, first, NFS_AT_COUNT);
	else if (at == NFS_AT_COUNT)
		nfs_go_to(f, second ? NFS_AT_OPERATION : NFS_AT_END);
	else if (at == NFS_AT_OPERATION)
		nfs_operation(f, first);
	else if (at == NFS_AT_BYTES)
		nfs_go_past(f, first, NFS_AT_OPERATION);
	else
		nfs_go_past(f, first > NFS_LEN_MAX ? first : first * 4, NFS_AT_OPERATION);
}

#endif
