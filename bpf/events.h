/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_EVENTS_H
#define AFS_EVENTS_H

/*
 * What the programs in the kernel and the watch share: the only layouts that cross between
 * them. Fixed widths, no padding, sizes asserted. Included by BPF and by user space, so it
 * includes nothing but the kernel's integer types.
 */

#include <linux/types.h>

/* Role: what a watched process is. X(name, text) */
#define AFS_ROLES(X)                                                                               \
	X(AFPD, "afpd")     /* the process that serves the client's connection */                  \
	X(CNID, "cnid_dbd") /* the CNID server it asks */                                          \
	X(OTHER, "other")   /* what these two started */

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
	X(CNID, "CNID socket")                                                                     \
	X(SOCKET, "other socket") /* afpd: cache hints to its parent */                            \
	X(DATA, "data file")                                                                       \
	X(META, "metadata file") /* AppleDouble: ._NAME or below .AppleDouble */                   \
	X(CNIDDB, "CNID database")                                                                 \
	X(DIR, "directory")                                                                        \
	X(LOG, "log")                                                                              \
	X(PIPE, "pipe") /* afpd 4.5: mostly its own self-pipe */                                   \
	X(OTHER, "other")                                                                          \
	X(UNKNOWN, "unknown") /* this rung cannot tell */

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

/* One cell of the calls ledger: what one role did in one class on one object. */
struct afs_cell {
	__u64 calls;  /* returned calls */
	__u64 errors; /* of these, with a negative result */
	__u64 bytes;  /* moved, as returned; only classes that move data */
	__u64 ns;     /* between entry and return */
	__u64 hist[AFS_HIST_BUCKETS];
};

/* One process's compatible ledger: what /proc/PID/io calls syscr, syscw, rchar, wchar. */
struct afs_compat {
	__u64 syscr, syscw, rchar, wchar;
};

#define AFS_N_CELLS                   (AFS_N_ROLES * AFS_N_CLASSES * AFS_N_OBJECTS)
#define AFS_CELL(role, class, object) (((role)*AFS_N_CLASSES + (class)) * AFS_N_OBJECTS + (object))

#endif
