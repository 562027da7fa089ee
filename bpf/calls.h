/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_CALLS_H
#define AFS_CALLS_H

/*
 * What calls.bpf.c and the rung that loads it share besides the ledgers of events.h: the table
 * of system calls going in, the state of threads and processes coming out.
 */

#include "bpf/events.h"

/* System call numbers the table covers; higher ones are AFS_CLASS_OTHER. */
#define AFS_N_CALLS 512

/* How a call counts in the compatible ledger. */
#define AFS_COMPAT_READ   0x01 /* syscr, rchar */
#define AFS_COMPAT_WRITE  0x02 /* syscw, wchar */
#define AFS_COMPAT_ALWAYS 0x04 /* also when it answers EBADF or ESPIPE */
#define AFS_COMPAT_MOVED  0x08 /* only when it moved something */
#define AFS_CALL_MOVES    0x10 /* a positive result is a number of bytes */
#define AFS_CALL_LOCKS    0x20 /* fcntl: AFS_CLASS_LOCK when its second argument is a lock command */
#define AFS_CALL_NORESULT 0x40 /* what it returns says nothing: rt_sigreturn */
#define AFS_CALL_EXEC     0x80 /* the kernel's own reading of the program counts as syscr, rchar */

/* The argument that is the descriptor. */
#define AFS_FD_NONE 3

/* Which descriptors mean something else after the call than before. */
enum afs_closes {
	AFS_CLOSES_NONE,
	AFS_CLOSES_ARG0, /* close */
	AFS_CLOSES_ARG1, /* dup2 */
	AFS_CLOSES_ALL,  /* exec, close_range */
};

/* One system call. */
struct afs_call {
	__u8 class;  /* enum afs_class */
	__u8 fd;     /* 0, 1, 2 or AFS_FD_NONE */
	__u8 flags;  /* AFS_COMPAT_, AFS_CALL_ */
	__u8 closes; /* enum afs_closes */
};

#define AFS_N_THREADS   4096
#define AFS_N_PROCESSES 1024

#define AFS_NR_NONE     (-1) /* in user code */
#define AFS_NR_ASLEEP   (-2) /* found asleep in a call, nothing known about it */

/* A watched thread. Only the programs write; user space looks without a system call. */
struct afs_thread {
	__u64 seq;        /* moves at every entry and every return */
	__u64 entered_ns; /* when the call in progress was entered */
	__s32 nr;         /* the call in progress; AFS_NR_ */
	__u32 cell;       /* where it will count */
	__s32 tid;        /* 0: slot not in use yet */
	__u32 process;    /* its slot */
	__u32 base;       /* first cell of its role */
	__u32 closes;     /* descriptor that the call in progress closes; AFS_FD_ */
	__u8 flags;       /* of the call in progress */
	__u8 ended;
	__u8 spare[6];
	__u64 syscr, rchar; /* AFS_CALL_EXEC: the kernel's account at the entry */
};

#define AFS_FD_ALL  0xffffffffu
#define AFS_FD_KEEP 0xfffffffeu /* closes none */

/* Descriptors whose object is remembered, as long as no call closes them. */
#define AFS_N_FDS 256

/* A watched process. */
struct afs_process {
	__s32 tgid;
	__u32 role;   /* enum afs_role */
	__s32 parent; /* slot; -1: chosen by user space */
	__u32 threads;
	__u32 ended;            /* threads that have ended */
	__u32 epoch;            /* of struct afs_inodes when "object" was begun */
	__u8 object[AFS_N_FDS]; /* enum afs_object + 1; 0: not told yet */
};

/* An inode with a meaning that the kernel cannot know. */
struct afs_inode {
	__u64 ino;
	__u32 dev;    /* the kernel's: major << 20 | minor; 0: any */
	__u32 object; /* enum afs_object */
};

#define AFS_N_INODES 8

/* The inodes user space knows about. A new epoch makes the programs look at descriptors anew. */
struct afs_inodes {
	__u32 n_sockets, n_files, n_dirs, epoch;
	struct afs_inode socket[AFS_N_INODES];
	struct afs_inode file[AFS_N_INODES];
	struct afs_inode dir[AFS_N_INODES]; /* every regular file in it */
};

/* What the programs could not do. */
struct afs_lost {
	__u64 thread_slots;  /* threads not watched: no slot */
	__u64 process_slots; /* threads not watched: no slot for their process */
	__u64 storage;       /* threads not watched: the kernel refused a task storage */
};

/* Which process the iterator marks, and what came of it. */
struct afs_mark {
	__s32 tgid;
	__u32 role;
	__s32 slot;   /* -1 before the first */
	__u32 marked; /* threads, in this pass */
	__u32 failed; /* threads, in this pass: no slot, or no task storage */
};

#ifndef __bpf__
_Static_assert(sizeof(struct afs_thread) == 64, "one cache line");
_Static_assert(sizeof(struct afs_process) == 24 + AFS_N_FDS, "no padding");
_Static_assert(sizeof(struct afs_inode) == 16, "no padding");
_Static_assert(sizeof(struct afs_cell) == 32 + 8 * AFS_HIST_BUCKETS, "no padding");
#endif

#endif
