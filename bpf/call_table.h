/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_CALL_TABLE_H
#define AFS_CALL_TABLE_H

/* What the programs have to know of each system call; user/host/proc/syscalls.c fills the table. */

#include <linux/types.h>

/* System call numbers the table covers; higher ones are AFS_CLASS_OTHER. */
#define AFS_N_CALLS 512

/* How a call counts in the compatible ledger. */
#define AFS_COMPAT_READ   0x01 /* syscr, rchar */
#define AFS_COMPAT_WRITE  0x02 /* syscw, wchar */
#define AFS_COMPAT_ALWAYS 0x04 /* also when it answers EBADF or ESPIPE */
#define AFS_COMPAT_MOVED  0x08 /* only when it moved something */
#define AFS_CALL_MOVES    0x10 /* a positive result is a number of bytes */
#define AFS_CALL_LOCKS    0x20 /* fcntl: AFS_CLASS_LOCK when its second argument is a lock command */
#define AFS_CALL_NORESULT 0x40 /* its return value has no meaning: rt_sigreturn */
#define AFS_CALL_EXEC     0x80 /* the kernel's own reading of the program counts as syscr, rchar */

/* The argument that is the descriptor. */
#define AFS_FD_NONE 3

/* Which descriptors the call closes or replaces. */
enum afs_closes {
	AFS_CLOSES_NONE,
	AFS_CLOSES_ARG0,     /* close */
	AFS_CLOSES_ARG1,     /* dup2 */
	AFS_CLOSES_ALL,      /* exec, close_range */
	AFS_CLOSES_UNSHARES, /* none; but a thread may have others than its process afterwards */
};

/* Where the bytes are that a call moved, for following the client's connection. */
enum afs_data {
	AFS_DATA_NONE, /* not visible, or left in the socket (MSG_PEEK) */
	AFS_DATA_BUF,  /* at the second argument */
	AFS_DATA_IOV,  /* struct iovec at the second, their number in the third */
	AFS_DATA_MSG,  /* struct msghdr at the second */
	AFS_DATA_MMSG, /* struct mmsghdr at the second; only of datagrams */
	AFS_DATA_FILE, /* a file's: sendfile */
	AFS_DATA_UID,  /* none: the second argument is the new effective user id */
};

/* What a call of class WAIT waits for. */
enum afs_waits {
	AFS_WAITS_READY, /* descriptors, signals, work: poll, select, epoll */
	AFS_WAITS_TIME,  /* a time: nanosleep */
	AFS_WAITS_LOCK,  /* other threads: futex */
};

/* What a thread waits in for whatever comes next. */
enum afs_loop {
	AFS_LOOP_NONE,
	AFS_LOOP_EVENTS, /* an event loop */
	AFS_LOOP_IDLE,   /* a thread of a pool: futex, if the wait has an end */
};

/* futex(2): its second argument */
#define AFS_FUTEX_OP          0x7f
#define AFS_FUTEX_WAIT        0
#define AFS_FUTEX_WAIT_BITSET 9

/* One system call. */
struct afs_call {
	__u8 class;            /* enum afs_class */
	__u8 fd;               /* 0, 1, 2 or AFS_FD_NONE */
	__u8 flags;            /* AFS_COMPAT_, AFS_CALL_ */
	__u8 closes;           /* enum afs_closes */
	__u8 data;             /* enum afs_data */
	__u8 peek;             /* the argument with flags such as MSG_PEEK; 0: none */
	__u8 waits;            /* enum afs_waits, of class WAIT */
	__u8 loop;             /* enum afs_loop, of class WAIT */
} __attribute__((aligned(8))); /* it is read as a word */

#endif
