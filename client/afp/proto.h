/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_PROTO_H
#define AFP_PROTO_H

/*
 * Numbers of the Apple Filing Protocol, and their names. Source: AFP 3.x reference; each command
 * that a workload of ours makes was seen on the wire between netatalk's tools and afpd 4.5.1; the
 * others are only sent as a recording has them.
 */

#include "run/result.h"

#include <stdint.h>

/* AFP commands. X(name, number) */
#define AFP_COMMANDS(X)                                                                            \
	X(ByteRangeLock, 1)                                                                        \
	X(CloseVol, 2)                                                                             \
	X(CloseDir, 3)                                                                             \
	X(CloseFork, 4)                                                                            \
	X(CopyFile, 5)                                                                             \
	X(CreateDir, 6)                                                                            \
	X(CreateFile, 7)                                                                           \
	X(Delete, 8)                                                                               \
	X(Enumerate, 9)                                                                            \
	X(Flush, 10)                                                                               \
	X(FlushFork, 11)                                                                           \
	X(GetForkParms, 14)                                                                        \
	X(GetSrvrParms, 16)                                                                        \
	X(GetVolParms, 17)                                                                         \
	X(Login, 18)                                                                               \
	X(LoginCont, 19)                                                                           \
	X(Logout, 20)                                                                              \
	X(MoveAndRename, 23)                                                                       \
	X(OpenVol, 24)                                                                             \
	X(OpenDir, 25)                                                                             \
	X(OpenFork, 26)                                                                            \
	X(Read, 27)                                                                                \
	X(Rename, 28)                                                                              \
	X(SetDirParms, 29)                                                                         \
	X(SetFileParms, 30)                                                                        \
	X(SetForkParms, 31)                                                                        \
	X(Write, 33)                                                                               \
	X(GetFileDirParms, 34)                                                                     \
	X(SetFileDirParms, 35)                                                                     \
	X(GetUserInfo, 37)                                                                         \
	X(GetSrvrMsg, 38)                                                                          \
	X(CreateID, 39)                                                                            \
	X(DeleteID, 40)                                                                            \
	X(ResolveID, 41)                                                                           \
	X(ExchangeFiles, 42)                                                                       \
	X(CatSearch, 43)                                                                           \
	X(OpenDT, 48)                                                                              \
	X(CloseDT, 49)                                                                             \
	X(AddComment, 56)                                                                          \
	X(RemoveComment, 57)                                                                       \
	X(GetComment, 58)                                                                          \
	X(ByteRangeLockExt, 59)                                                                    \
	X(ReadExt, 60)                                                                             \
	X(WriteExt, 61)                                                                            \
	X(LoginExt, 63)                                                                            \
	X(GetSessionToken, 64)                                                                     \
	X(EnumerateExt, 66)                                                                        \
	X(CatSearchExt, 67)                                                                        \
	X(EnumerateExt2, 68)                                                                       \
	X(GetExtAttr, 69)                                                                          \
	X(SetExtAttr, 70)                                                                          \
	X(RemoveExtAttr, 71)                                                                       \
	X(ListExtAttrs, 72)                                                                        \
	X(GetACL, 73)                                                                              \
	X(SyncDir, 78)                                                                             \
	X(SyncFork, 79)

enum afp_command {
#define X(name, number) AFP_##name = number,
	AFP_COMMANDS(X)
#undef X
};

/* Our own result for a successful reply whose content is wrong; not on the wire. */
#define AFP_ERR_BAD_REPLY (-1)

/* Access modes and deny modes of FPOpenFork. */
#define AFP_READ       0x01
#define AFP_WRITE      0x02
#define AFP_DENY_READ  0x10
#define AFP_DENY_WRITE 0x20

/* Of FPOpenFork. */
#define AFP_RESOURCE_FORK 0x80

#define AFP_ROOT_ID       2

/* Bits of file and directory bitmaps, in the order of their fields. */
#define AFP_BIT_ATTRIBUTES 0x0001
#define AFP_BIT_PARENT     0x0002
#define AFP_BIT_CREATED    0x0004
#define AFP_BIT_MODIFIED   0x0008
#define AFP_BIT_BACKUP     0x0010
#define AFP_BIT_FINDER     0x0020
#define AFP_BIT_LONG_NAME  0x0040
#define AFP_BIT_SHORT_NAME 0x0080
#define AFP_BIT_ID         0x0100
#define AFP_BIT_DATA_LEN   0x0200 /* directory: offspring count */
#define AFP_BIT_RSRC_LEN   0x0400 /* directory: owner */
#define AFP_BIT_DATA_EXT   0x0800 /* directory: group */
#define AFP_BIT_ACCESS     0x1000 /* directory only: access rights */
#define AFP_BIT_NAME       0x2000 /* AFP 3: UTF-8 name */
#define AFP_BIT_RSRC_EXT   0x4000
#define AFP_BIT_UNIX       0x8000

/* When the clock of AFP's dates began, in seconds since 1970: 2000-01-01 00:00 UTC. */
#define AFP_EPOCH_S 946684800

/* Of a volume: bytes free, 64 bits; AFP 2.2 and later. */
#define AFP_VOLUME_EXT_FREE 0x0200
/* Of a volume: its attributes, and the one that destinations of Time Machine have. */
#define AFP_VOLUME_ATTRIBUTES 0x0001
#define AFP_ATTRIBUTE_BACKUPS 0x2000
/* What is asked before a load: whether it may write there. */
#define AFP_VOLUME_ROOM (AFP_VOLUME_ATTRIBUTES | AFP_VOLUME_EXT_FREE)

/* "FPOpenFork"; NULL for numbers not in the table. */
const char *afp_command_name(uint8_t code);

/* "no such object"; "unknown result" for those that have no name. */
const char *afp_result_text(int32_t result);

#endif
