/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODERS_H
#define AFS_DECODERS_H

/*
 * What understands the bytes of a client's connection, or datagrams: a decoder for each protocol.
 * X(NAME, name): it is bpf/decode/name.h, which is included below and has the function name_step().
 */
#define AFS_DECODERS(X) X(DSI, dsi) X(SUNRPC, sunrpc) X(RX, rx) X(SMB2, smb2)

enum afs_decoder {
	AFS_DECODER_NONE,
#define X(NAME, name) AFS_DECODER_##NAME,
	AFS_DECODERS(X)
#undef X
};

/* Whether what it understands is datagrams, each for itself, and not a stream. */
#define AFS_IS_DATAGRAMS(decoder) ((decoder) == AFS_DECODER_RX)

#endif

/* Their code, for bpf/follow.h only. */
#ifdef AFS_DECODE
#undef AFS_DECODE
#include "bpf/decode/dsi.h"
#include "bpf/decode/rx.h"
#include "bpf/decode/smb2.h"
#include "bpf/decode/sunrpc.h"
#endif
