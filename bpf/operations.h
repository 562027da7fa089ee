/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_OPERATIONS_H
#define AFS_OPERATIONS_H

#include "bpf/paths.h"

/* The longest: FPMoveAndRename with three names of 255 bytes. */
#define AFS_COMMAND_LEN 800
/* Of most commands without a name. */
#define AFS_SMALL_LEN 40
/* What a Mac asks of a file, up to the length of its data: Finder's data are before its id. */
#define AFS_REPLY_LEN 80

/* How many bytes of a command that names something: its names, or not much of what follows one. */
#define AFS_COPY_NAMES 255
#define AFS_COPY_BEGIN 254

/*
 * AFP requests that records of operations know: X(number, bytes that are copied of one after its
 * number, bytes that are copied of the reply, layout of the request after its number, of the
 * reply; AFP reference, as client/afp sends them). Nothing is copied of other commands, and never
 * data of files, passwords, what is searched for, or values of attributes in replies.
 *
 * A layout has a letter for each field, in their order. Of requests: . a byte and _ four without
 * meaning here; F flags, a the same or a bitmap in two bytes, w which fork; v volume, V volume2;
 * d dir, D dir2, i id; b bitmap, B bitmap2; k fork; o offset in four bytes, O in eight; l length
 * in four, L in eight, z as the bitmap says; n, N length in two and four, s, S offset (of lists),
 * y the same of a search; m, M room in two and four; p path, P second path, q directory of the
 * second path, r new name in it; x name of an attribute; e what the bitmap says is set, h a length
 * in one byte, both at an even offset of the command; u what is searched by. client/afp/again.c
 * makes commands of the same layouts.
 * Of replies: i, k as before; 2, 4, 8 actual in so many bytes; c a bitmap, then f what it says of
 * an open file, v of a volume; g two bitmaps, what it is, and what they say of that.
 */
#define AFS_OPERATIONS(X)                                                                          \
	/* FPByteRangeLock */ X(1, 11, 4, "Fkol", "4")                                             \
	/* FPCloseVol */ X(2, 3, 0, ".v", "")                                                      \
	/* FPCloseDir */ X(3, 7, 0, ".vd", "")                                                     \
	/* FPCloseFork */ X(4, 3, 0, ".k", "")                                                     \
	/* FPCopyFile */ X(5, AFS_COPY_NAMES, 0, ".vdVDpqr", "")                                   \
	/* FPCreateDir */ X(6, AFS_COPY_NAMES, 4, ".vdp", "i")                                     \
	/* FPCreateFile */ X(7, AFS_COPY_NAMES, 0, "Fvdp", "")                                     \
	/* FPDelete */ X(8, AFS_COPY_NAMES, 0, ".vdp", "")                                         \
	/* FPEnumerate */ X(9, AFS_COPY_NAMES, 6, ".vdbBnsmp", "_2")                               \
	/* FPFlush */ X(10, 3, 0, ".v", "")                                                        \
	/* FPFlushFork */ X(11, 3, 0, ".k", "")                                                    \
	/* FPGetForkParms */ X(14, 5, AFS_REPLY_LEN, ".kb", "cf")                                  \
	/* FPGetVolParms */ X(17, 5, 0, ".vb", "")                                                 \
	/* FPMoveAndRename */ X(23, AFS_COPY_NAMES, 0, ".vdDpqr", "")                              \
	/* FPOpenVol */ X(24, 3, AFS_REPLY_LEN, ".b", "cv")                                        \
	/* FPOpenDir */ X(25, AFS_COPY_NAMES, 4, ".vdp", "i")                                      \
	/* FPOpenFork */ X(26, AFS_COPY_NAMES, AFS_REPLY_LEN, "wvdbap", "ckf")                     \
	/* FPRead */ X(27, 11, 0, ".kol", "")                                                      \
	/* FPRename */ X(28, AFS_COPY_NAMES, 0, ".vdpr", "")                                       \
	/* FPSetDirParms */ X(29, AFS_COPY_NAMES, 0, ".vdbpe", "")                                 \
	/* FPSetFileParms */ X(30, AFS_COPY_NAMES, 0, ".vdbpe", "")                                \
	/* FPSetForkParms */ X(31, 13, 0, ".kbz", "")                                              \
	/* FPWrite */ X(33, 11, 4, "Fkol", "4")                                                    \
	/* FPGetFileDirParms */ X(34, AFS_COPY_NAMES, AFS_REPLY_LEN, ".vdbBp", "g")                \
	/* FPSetFileDirParms */ X(35, AFS_COPY_NAMES, 0, ".vdbpe", "")                             \
	/* FPGetUserInfo */ X(37, 7, 0, "F_b", "")                                                 \
	/* FPGetSrvrMsg */ X(38, 5, 0, ".ab", "")                                                  \
	/* FPCreateID */ X(39, AFS_COPY_NAMES, 4, ".vdp", "i")                                     \
	/* FPDeleteID */ X(40, 7, 0, ".vi", "")                                                    \
	/* FPResolveID */ X(41, 9, AFS_REPLY_LEN, ".vib", "cf")                                    \
	/* FPExchangeFiles */ X(42, AFS_COPY_NAMES, 0, ".vdDpP", "")                               \
	/* FPCatSearch */ X(43, 35, 24, ".vN_ybBu", "_____4")                                      \
	/* FPOpenDT */ X(48, 3, 0, ".v", "")                                                       \
	/* FPCloseDT */ X(49, 3, 0, ".v", "")                                                      \
	/* FPAddComment */ X(56, AFS_COPY_NAMES, 0, ".vdph", "")                                   \
	/* FPRemoveComment */ X(57, AFS_COPY_NAMES, 0, ".vdp", "")                                 \
	/* FPGetComment */ X(58, AFS_COPY_NAMES, 0, ".vdp", "")                                    \
	/* FPByteRangeLockExt */ X(59, 19, 8, "FkOL", "8")                                         \
	/* FPReadExt */ X(60, 19, 0, ".kOL", "")                                                   \
	/* FPWriteExt */ X(61, 19, 8, "FkOL", "8")                                                 \
	/* FPEnumerateExt */ X(66, AFS_COPY_NAMES, 6, ".vdbBnsmp", "_2")                           \
	/* FPCatSearchExt */ X(67, 35, 24, ".vN_ybBu", "_____4")                                   \
	/* FPEnumerateExt2 */ X(68, AFS_COPY_NAMES, 6, ".vdbBnSMp", "_2")                          \
	/* FPGetExtAttr */ X(69, AFS_COPY_NAMES, 6, ".vdaO__Mpx", "..4")                           \
	/* FPSetExtAttr */ X(70, AFS_COPY_BEGIN, 0, ".vdaOpxl", "")                                \
	/* FPRemoveExtAttr */ X(71, AFS_COPY_NAMES, 0, ".vdapx", "")                               \
	/* FPListExtAttrs */ X(72, AFS_COPY_NAMES, 6, ".vdanSMp", "..4")                           \
	/* FPGetACL */ X(73, AFS_COPY_NAMES, 0, ".vdaMp", "")                                      \
	/* FPSetACL */ X(74, AFS_COPY_BEGIN, 0, ".vdap", "")                                       \
	/* FPAccess */ X(75, AFS_COPY_NAMES, 0, ".vda_____p", "")                                  \
	/* FPSyncDir */ X(78, 7, 0, ".vd", "")                                                     \
	/* FPSyncFork */ X(79, 3, 0, ".k", "")

/* A part of an operation as received or sent: only sent to user space, which makes records of it.
 */
struct afs_captured_head {
	__u64 timestamp; /* the call that moved it returned */
	__u32 session;
	__u32 seq;  /* requests of its connection before it */
	__u32 user; /* 0: not known */
	__u32 len;  /* of all of the command, or of the reply */
	__u16 port, dsi_id;
	__u16 command; /* AFS_ACCOUNT_DSI + n: not of AFP */
	__u16 at;      /* of the first byte; 0: of the one after the command's number */
	__u16 n;       /* bytes here */
	__u8 part;     /* enum afs_captured_part */
	__u8 found;    /* its connection is older than the watch */
	__u32 spare;
};

enum afs_captured_part {
	AFS_CAPTURED_BEGIN, /* of a request, with its first bytes, if more than its number had come
			     */
	AFS_CAPTURED_MORE,  /* of the same */
	AFS_CAPTURED_REPLY,
};

struct afs_captured {
	struct afs_captured_head head;
	__u8 bytes[AFS_COMMAND_LEN];
};

/* The same with less room. */
struct afs_captured_small {
	struct afs_captured_head head;
	__u8 bytes[AFS_SMALL_LEN];
};

_Static_assert(sizeof(struct afs_captured_head) == 40, "no padding");

#endif
