/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_COMMANDS_H
#define AFS_COMMANDS_H

#include <linux/types.h>

/*
 * Commands of SMB2 and 3 (MS-SMB2, 2.2.1), and the accounts of what a client sends. X(NAME,
 * number). A request alone in its frame is counted in the account of its command's number; one that
 * the server told the client to wait for, by an interim reply, AFS_SMB2_WAITED further; a compound
 * by its first two commands; and its members, each in the account of its command, without a time.
 * A compound of which the server told the client to wait for a message goes on in the account
 * AFS_SMB2_CHAIN_WAITED + that message's command; of two such messages, the later one's.
 */
#define AFS_SMB2_COMMANDS(X)                                                                       \
	X(NEGOTIATE, 0)                                                                            \
	X(SESSION_SETUP, 1)                                                                        \
	X(LOGOFF, 2)                                                                               \
	X(TREE_CONNECT, 3)                                                                         \
	X(TREE_DISCONNECT, 4)                                                                      \
	X(CREATE, 5)                                                                               \
	X(CLOSE, 6)                                                                                \
	X(FLUSH, 7)                                                                                \
	X(READ, 8)                                                                                 \
	X(WRITE, 9)                                                                                \
	X(LOCK, 10)                                                                                \
	X(IOCTL, 11)                                                                               \
	X(CANCEL, 12)                                                                              \
	X(ECHO, 13)                                                                                \
	X(QUERY_DIRECTORY, 14)                                                                     \
	X(CHANGE_NOTIFY, 15)                                                                       \
	X(QUERY_INFO, 16)                                                                          \
	X(SET_INFO, 17)                                                                            \
	X(OPLOCK_BREAK, 18)

enum afs_smb2_command {
#define X(NAME, number) AFS_SMB2_##NAME = (number),
	AFS_SMB2_COMMANDS(X)
#undef X
};

#define AFS_SMB2_OTHER        19 /* commands that are not known */
#define AFS_SMB2_WAITED       32
#define AFS_SMB2_CREATE_AND   64                                     /* + the second command */
#define AFS_SMB2_COMPOUND     (AFS_SMB2_CREATE_AND + AFS_SMB2_OTHER) /* any other compound */
#define AFS_SMB2_ENCRYPTED    96 /* frames; what is in them cannot be seen */
#define AFS_SMB2_COMPRESSED   97 /* likewise */
#define AFS_SMB2_SMB1         98 /* frames of SMB1, but for its NEGOTIATE */
#define AFS_SMB2_CHAIN_WAITED 128

/* Statuses (MS-ERREF, 2.3) that say more than whether a request failed. */
#define AFS_SMB2_PENDING        0x00000103
#define AFS_SMB2_NOTIFY_CLEANUP 0x0000010b
#define AFS_SMB2_NOTIFY_ENUM    0x0000010c
#define AFS_SMB2_MORE_DATA      ((__s32)0x80000005) /* there is more than has room */
#define AFS_SMB2_NO_MORE_FILES  ((__s32)0x80000006)
#define AFS_SMB2_NO_FILE        ((__s32)0xc000000f)
#define AFS_SMB2_END_OF_FILE    ((__s32)0xc0000011)
#define AFS_SMB2_GO_ON          ((__s32)0xc0000016) /* the login needs another step */
#define AFS_SMB2_NO_NAME        ((__s32)0xc0000034)
#define AFS_SMB2_CANCELLED      ((__s32)0xc0000120)

/* Of a compound, by its first two commands. */
static inline __attribute__((always_inline)) __u32 afs_smb2_chain(__u32 first, __u32 second)
{
	return first == AFS_SMB2_CREATE && second < AFS_SMB2_OTHER ? AFS_SMB2_CREATE_AND + second
								   : AFS_SMB2_COMPOUND;
}

/*
 * Whether an interim reply says that the request waits for others: of reads, writes and syncs it
 * only says that a thread of the server is at work.
 */
static inline __attribute__((always_inline)) _Bool afs_smb2_waits(__u32 account)
{
	return account < AFS_SMB2_OTHER && account != AFS_SMB2_READ && account != AFS_SMB2_WRITE &&
	       account != AFS_SMB2_FLUSH;
}

#endif
