/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_PATHS_H
#define AFS_PATHS_H

#include "bpf/events.h"

/*
 * AFP commands that name a file or a directory: X(number, offset of the path's type in the
 * command). In all of them the volume is at 2 and the directory's id at 4; of two names the first
 * is used (AFP reference; for those that this program sends the tests compare with the server).
 */
#define AFS_PATHS(X)                                                                               \
	X(5, 14)  /* FPCopyFile */                                                                 \
	X(6, 8)   /* FPCreateDir */                                                                \
	X(7, 8)   /* FPCreateFile */                                                               \
	X(8, 8)   /* FPDelete */                                                                   \
	X(9, 18)  /* FPEnumerate */                                                                \
	X(23, 12) /* FPMoveAndRename */                                                            \
	X(25, 8)  /* FPOpenDir */                                                                  \
	X(26, 12) /* FPOpenFork */                                                                 \
	X(28, 8)  /* FPRename */                                                                   \
	X(29, 10) /* FPSetDirParms */                                                              \
	X(30, 10) /* FPSetFileParms */                                                             \
	X(34, 12) /* FPGetFileDirParms */                                                          \
	X(35, 10) /* FPSetFileDirParms */                                                          \
	X(39, 8)  /* FPCreateID */                                                                 \
	X(42, 12) /* FPExchangeFiles */                                                            \
	X(56, 8)  /* FPAddComment */                                                               \
	X(57, 8)  /* FPRemoveComment */                                                            \
	X(58, 8)  /* FPGetComment */                                                               \
	X(66, 18) /* FPEnumerateExt */                                                             \
	X(68, 22) /* FPEnumerateExt2 */                                                            \
	X(69, 30) /* FPGetExtAttr */                                                               \
	X(70, 18) /* FPSetExtAttr */                                                               \
	X(71, 10) /* FPRemoveExtAttr */                                                            \
	X(72, 20) /* FPListExtAttrs */                                                             \
	X(73, 14) /* FPGetACL */                                                                   \
	X(74, 10) /* FPSetACL */                                                                   \
	X(75, 30) /* FPAccess */

/* Where a command's path begins; 0: it has none. */
static const __u8 afs_path_at[256] = {
#define X(number, path) [number] = (path),
	AFS_PATHS(X)
#undef X
};

#define AFS_PATH_VOLUME 2
#define AFS_PATH_DIR    4

/* The longest: offset 30, then type, hint and length of UTF-8, and 255 bytes. */
#define AFS_NAMED_LEN 292

/* Such a command as received: only sent to user space, which makes a record of it. */
struct afs_named {
	__u64 timestamp; /* the read that brought it returned */
	__u32 session;
	__u16 dsi_id;
	__u8 command;
	__u8 spare;
	__u16 len; /* of bytes that could be read; the rest had not arrived yet */
	__u16 spare2;
	__u8 bytes[AFS_NAMED_LEN]; /* of the command, after its number */
};

/* Whether it is of the request with this id; timestamp 0: of none. */
static inline __attribute__((always_inline)) _Bool afs_named_is(const struct afs_named *n, __u16 id,
								__u16 command)
{
	return n->timestamp && n->dsi_id == id && n->command == command && n->len <= AFS_NAMED_LEN;
}

#endif
