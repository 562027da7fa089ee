/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_EVENTS_H
#define AFS_EVENTS_H

/*
 * What the programs in the kernel and the watch share: the only layouts that cross between
 * them. Fixed widths, no padding, sizes asserted. Included by BPF and by user space, so it
 * includes nothing but the kernel's integer types.
 */

#include <linux/types.h>

/*
 * Role: what a watched process is for. X(name, text: AFP's, which a kind of server may replace).
 * Their numbers are in traces: new ones come last.
 */
#define AFS_ROLES(X)                                                                               \
	X(SERVER, "afpd")      /* serves clients */                                                \
	X(BACKEND, "cnid_dbd") /* a process that the server asks */                                \
	X(OTHER, "other")      /* was the server's, and runs another program now */                \
	X(HELPER, "helper") /* what a process that serves a client forks: works for its request */ \
	X(CLIENT, "client") /* is itself a client of a file server: a FUSE daemon */

/* Class: what a system call does. X(name, text) */
#define AFS_CLASSES(X)                                                                             \
	X(READ, "read")         /* read, pread, readv, preadv */                                   \
	X(WRITE, "write")       /* write, pwrite, writev, pwritev */                               \
	X(RECV, "recv")         /* recvfrom, recvmsg, recvmmsg */                                  \
	X(SEND, "send")         /* sendto, sendmsg, sendmmsg */                                    \
	X(SENDFILE, "sendfile") /* sendfile */                                                     \
	X(COPY, "copy")         /* copy_file_range, splice, tee */                                 \
	X(OPEN, "open")         /* open, openat, creat */                                          \
	X(CLOSE, "close")                                                                          \
	X(STAT, "stat")   /* stat, lstat, fstat, statx, access, statfs */                          \
	X(XATTR, "xattr") /* get, set, list, remove, by path or descriptor */                      \
	X(LOCK, "lock")   /* fcntl locks, flock */                                                 \
	X(SYNC, "sync")   /* fsync, fdatasync, sync_file_range, msync */                           \
	X(DIR, "dir")     /* getdents, mkdir, rmdir, chdir, getcwd */                              \
	X(UNLINK, "unlink")                                                                        \
	X(RENAME, "rename")   /* rename, link, symlink */                                          \
	X(SETATTR, "setattr") /* chmod, chown, utimensat, truncate, fallocate */                   \
	X(WAIT, "wait")       /* poll, select, epoll_wait, nanosleep, futex, pause */              \
	X(SOCKET, "socket")   /* socket, connect, accept, setsockopt, pipe */                      \
	X(FD, "fd")           /* fcntl (no lock), dup, ioctl, lseek */                             \
	X(IDENT, "ident")     /* setresuid, setgroups, getuid */                                   \
	X(SIGNAL, "signal")   /* rt_sigaction, rt_sigprocmask, kill */                             \
	X(MEMORY, "memory")   /* mmap, munmap, brk */                                              \
	X(PROCESS, "process") /* clone, execve, wait4 */                                           \
	X(OTHER, "other")

/* Object: what the descriptor of a call is. X(name, text) */
#define AFS_OBJECTS(X)                                                                             \
	X(NONE, "-") /* the call takes a path, or no descriptor at all */                          \
	X(CLIENT, "client socket")                                                                 \
	X(BACKEND, "CNID socket")                                                                  \
	X(SOCKET, "other socket") /* afpd: cache hints to its parent */                            \
	X(DATA, "data file")                                                                       \
	X(META, "metadata file") /* AppleDouble: ._NAME or below .AppleDouble */                   \
	X(CNIDDB, "CNID database")                                                                 \
	X(DIR, "directory")                                                                        \
	X(LOG, "log")                                                                              \
	X(PIPE, "pipe") /* afpd 4.5: mostly its own self-pipe */                                   \
	X(OTHER, "other")                                                                          \
	X(UNKNOWN, "unknown") /* this rung does not distinguish objects */

enum afs_role {
#define X(name, text) AFS_ROLE_##name,
	AFS_ROLES(X)
#undef X
	    AFS_N_ROLES
};

enum afs_class {
#define X(name, text) AFS_CLASS_##name,
	AFS_CLASSES(X)
#undef X
	    AFS_N_CLASSES
};

enum afs_object {
#define X(name, text) AFS_OBJECT_##name,
	AFS_OBJECTS(X)
#undef X
	    AFS_N_OBJECTS
};

/*
 * Time histogram of a cell: the buckets of base/hist.h with AFS_HIST_BITS sub-bucket bits;
 * the last bucket also holds everything longer.
 */
#define AFS_HIST_BITS    1
#define AFS_HIST_BUCKETS 72 /* up to 2^36 ns = 68 s */

/*
 * One cell of the calls ledger: what one role did in one class on one object. Only its histogram is
 * counted as such; the rest is the sum of the parts of all accounts.
 */
struct afs_cell {
	__u64 calls;  /* returned calls */
	__u64 errors; /* of these, with a negative result */
	__u64 bytes;  /* moved, as returned; only classes that move data */
	__u64 ns;     /* between entry and return, or since entry */
	__u64 hist[AFS_HIST_BUCKETS];
};

/*
 * State: what a thread's time goes into. One for each class and object, and its own code: every
 * moment of a watched thread is in exactly one, on a CPU, blocked, or waiting for a CPU.
 */
#define AFS_CLASS_USER  AFS_N_CLASSES
#define AFS_N_STATES    ((AFS_N_CLASSES + 1) * AFS_N_OBJECTS)
#define AFS_STATE(c, o) ((c)*AFS_N_OBJECTS + (o))
#define AFS_STATE_USER  AFS_STATE(AFS_CLASS_USER, AFS_OBJECT_NONE)

/*
 * Account: what a thread works for. Numbers below 256 are AFP commands. A request's account
 * holds the calls from the read that completed its header to the one that completed its reply;
 * what a CNID server or a helper program does for it is in the same account under its own role.
 */
#define AFS_N_IDLE 2 /* accounts of requests that wait until something happens, at most */

enum afs_account_number {
	AFS_ACCOUNT_UNNAMED = 255, /* of AFP: all commands without a name */
	AFS_ACCOUNT_DSI = 256,     /* + the number of a DSI command that gets a reply: 3, 4 */
	AFS_ACCOUNT_BETWEEN = 272, /* the serving thread between requests */
	AFS_ACCOUNT_THREADS,       /* other threads of a process that serves a client */
	AFS_ACCOUNT_NONE,          /* no client: the parent of all sessions, helpers */
	AFS_ACCOUNT_MORE,          /* no room: counted, but not by account */
	AFS_N_ACCOUNTS
};

/* One part of an account: what one role did for it in one state. */
struct afs_part {
	__u64 calls, errors, bytes; /* as in struct afs_cell */
	__u64 cpu_ns;               /* on a CPU */
	__u64 blocked_ns;           /* asleep until woken */
	__u64 runq_ns;              /* runnable, waiting for a CPU */
	__u64 stopped_ns;           /* stopped by a signal, held by a debugger, or frozen */
	__u64 room;                 /* up to a cache line */
};

/* What a CNID server did while the thread that serves a request waited for it. X(name, text) */
#define AFS_INSIDE(X)                                                                              \
	X(CPU, "on a CPU")                                                                         \
	X(RUNQ, "waiting for a CPU")                                                               \
	X(SYNC, "fsync, fdatasync")                                                                \
	X(LOCK, "lock")                                                                            \
	X(IO, "other I/O")                                                                         \
	X(STOPPED, "stopped by a signal, held by a debugger, or frozen")                           \
	X(IDLE, "idle: the request or its answer is on its way")                                   \
	X(UNKNOWN, "not seen")

enum afs_inside {
#define X(name, text) AFS_INSIDE_##name,
	AFS_INSIDE(X)
#undef X
	    AFS_N_INSIDE
};

/* The requests of one account. */
struct afs_account {
	__u64 begun, answered;
	__u64 errors; /* of these, with a result other than 0 */
	__u64 bytes_in, bytes_out;
	__u64 ns;             /* of the answered, begin to end */
	__u64 unexplained_ns; /* of these ns, in no part */
	__u64 unexplained;    /* requests of whose time more than 1 % is in no part */
	__u64 handed;         /* requests handed over between threads: in "ns", but in no part */
	__u64 inside[AFS_N_INSIDE];
	/* Of a server whose threads park requests (bpf/park.h). */
	__u64 parked;    /* requests that were parked, and are answered */
	__u64 parked_ns; /* of "ns", those of the requests answered after they were parked */
	/* For parked requests, from their thread's last wait to the reply; of parked_ns. */
	__u64 later_calls, later_ns;
	__u64 had_ns;  /* in parts before the requests were parked, answered or not */
	__u64 waited;  /* of "begun": the client was told to wait; they go on elsewhere */
	__u64 untimed; /* not in "begun": counted without a time, as members of a compound */
};

/*
 * Time histogram of the requests of one account, of the same kind but finer: a bucket is at most
 * 1/16 of its value wide.
 */
#define AFS_REQUEST_BITS    4
#define AFS_REQUEST_BUCKETS 528 /* up to 2^36 ns */

/* One result code of an account. */
struct afs_result {
	__u32 account; /* + 1; 0: empty */
	__s32 code;
	__u64 n;
};

/* A table of results, and how many places are tried for one; a spectest makes some 400. */
#define AFS_RESULT_BITS  10
#define AFS_N_RESULTS    (1 << AFS_RESULT_BITS)
#define AFS_RESULT_TRIES 32

/* The first of these places: a hash, as codes are close to each other. */
static inline __u32 afs_result_index(__u32 account, __s32 code)
{
	return (((__u32)code ^ account << 16) * 0x9e3779b1u) >> (32 - AFS_RESULT_BITS);
}

/*
 * How a client sends its requests. A pause is from the last byte of a reply, when no other request
 * is there, to the read of the next request. Histogram of the same kind, in units of 2^16 ns.
 */
#define AFS_PAUSE_SHIFT   16
#define AFS_PAUSE_BITS    2
#define AFS_PAUSE_BUCKETS 64 /* up to 8 s */

struct afs_habit {
	__u64 pause_ns;                 /* sum */
	__u32 pause[AFS_PAUSE_BUCKETS]; /* how many */
	/* An account: if more than half of the requests are one's, that. At least so many are. */
	__u32 most;
	__u32 most_n;
	__u64 upload_ns; /* in which a request was in service and the rest of it had not come */
};

/*
 * What a session asked its CNID server about files and folders in requests that change nothing. A
 * histogram of the same kind: how many questions ago it had asked the same before, exact powers of
 * two; at least so many, as a question may be forgotten.
 */
#define AFS_ASKING_BUCKETS 24

struct afs_asking {
	__u32 n;
	__u32 again[AFS_ASKING_BUCKETS];
};

/* Types of Rx packets. X(number, name) */
#define AFS_RX_TYPES(X)                                                                            \
	X(1, DATA)                                                                                 \
	X(2, ACK)                                                                                  \
	X(3, BUSY)                                                                                 \
	X(4, ABORT)                                                                                \
	X(5, ACKALL)                                                                               \
	X(6, CHALLENGE)                                                                            \
	X(7, RESPONSE)                                                                             \
	X(8, DEBUG)                                                                                \
	X(9, PARAMS9)                                                                              \
	X(10, PARAMS10)                                                                            \
	X(11, PARAMS11)                                                                            \
	X(12, PARAMS12)                                                                            \
	X(13, VERSION)

#define AFS_RX_N_TYPES 14

enum afs_rx_type {
#define X(number, name) AFS_RX_##name = (number),
	AFS_RX_TYPES(X)
#undef X
};

/* Datagrams one way, and the packets in them. */
struct afs_packets {
	__u64 datagrams, bytes;
	__u64 again; /* data that were read or sent before */
	__u64 own;   /* data of calls that the server makes itself, as a client of others */
	__u64 type[16];
};

/* One process's compatible ledger: what /proc/PID/io calls syscr, syscw, rchar, wchar. */
struct afs_compat {
	__u64 syscr, syscw, rchar, wchar;
};

#define AFS_N_CELLS                   (AFS_N_ROLES * AFS_N_CLASSES * AFS_N_OBJECTS)
#define AFS_CELL(role, class, object) (((role)*AFS_N_CLASSES + (class)) * AFS_N_OBJECTS + (object))

#endif
