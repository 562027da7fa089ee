/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of system calls. Some architectures lack calls and old C libraries lack new ones, so a
 * number is kept as the text that SYS_name expands to: a call that does not exist here remains a
 * name and is skipped, without a conditional for each.
 */

#include "host/syscalls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define READS  (AFS_COMPAT_READ | AFS_CALL_MOVES)
#define WRITES (AFS_COMPAT_WRITE | AFS_CALL_MOVES)
#define ALWAYS AFS_COMPAT_ALWAYS
#define MOVED  AFS_COMPAT_MOVED
#define MOVES  AFS_CALL_MOVES

struct calls_row {
	const char *nr, *name; /* nr: the text of the number */
	struct afs_call call;
};

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

#define ROW(text, text_name, cl, arg, closed, fl)                                                  \
	{                                                                                          \
		.nr = text, .name = text_name, .call = {                                           \
			.class = AFS_CLASS_##cl,                                                   \
			.fd = arg,                                                                 \
			.closes = AFS_CLOSES_##closed,                                             \
			.flags = fl,                                                               \
		}                                                                                  \
	}
/*
 * F: a call on the descriptor in argument "arg". P: one without. C: one that closes. N: one
 * without a descriptor that C libraries in use do not know yet, by its number, which is the
 * same everywhere since Linux 5.1.
 */
#define F(class, name, arg, flags)         ROW(TEXT(SYS_##name), #name, class, arg, NONE, flags)
#define P(class, name)                     F(class, name, AFS_FD_NONE, 0)
#define C(class, name, arg, closed, flags) ROW(TEXT(SYS_##name), #name, class, arg, closed, flags)
#define N(class, name, nr)                 ROW(#nr, #name, class, AFS_FD_NONE, NONE, 0)
/* D: like F, with the argument that holds the bytes moved. */
#define D(cl, call_name, arg, fl, where, flags_arg)                                                \
	{                                                                                          \
		.nr = TEXT(SYS_##call_name), .name = #call_name, .call = {                         \
			.class = AFS_CLASS_##cl,                                                   \
			.fd = arg,                                                                 \
			.flags = fl,                                                               \
			.data = AFS_DATA_##where,                                                  \
			.peek = flags_arg,                                                         \
		}                                                                                  \
	}

/* W: a wait for something other than ready descriptors. */
#define W(number, call_name, what)                                                                 \
	{                                                                                          \
		.nr = number, .name = #call_name, .call = {                                        \
			.class = AFS_CLASS_WAIT,                                                   \
			.fd = AFS_FD_NONE,                                                         \
			.waits = AFS_WAITS_##what,                                                 \
		}                                                                                  \
	}

static const struct calls_row rows[] = {
	D(READ, read, 0, READS, BUF, 0),
	F(READ, pread64, 0, READS),
	D(READ, readv, 0, READS | ALWAYS, IOV, 0),
	F(READ, preadv, 0, READS | ALWAYS),
	F(READ, preadv2, 0, READS | ALWAYS),
	D(WRITE, write, 0, WRITES, BUF, 0),
	F(WRITE, pwrite64, 0, WRITES),
	D(WRITE, writev, 0, WRITES | ALWAYS, IOV, 0),
	F(WRITE, pwritev, 0, WRITES | ALWAYS),
	F(WRITE, pwritev2, 0, WRITES | ALWAYS),
	D(RECV, recvfrom, 0, MOVES, BUF, 3),
	D(RECV, recvmsg, 0, MOVES, MSG, 2),
	D(RECV, recvmmsg, 0, 0, MMSG, 3),
	D(SEND, sendto, 0, MOVES, BUF, 0),
	D(SEND, sendmsg, 0, MOVES, MSG, 0),
	D(SEND, sendmmsg, 0, 0, MMSG, 0),
	/* The descriptor that is written to: for a file server, where the data go. */
	D(SENDFILE, sendfile, 0, READS | WRITES, FILE, 0),
	F(COPY, copy_file_range, 2, READS | WRITES | MOVED),
	D(COPY, splice, 2, MOVES, FILE, 0),
	F(COPY, tee, 1, MOVES),
	F(COPY, vmsplice, 0, MOVES),
	P(OPEN, open),
	P(OPEN, openat),
	P(OPEN, openat2),
	P(OPEN, creat),
	P(OPEN, open_by_handle_at),
	C(CLOSE, close, 0, ARG0, 0),
	C(CLOSE, close_range, AFS_FD_NONE, ALL, 0),
	P(STAT, stat),
	P(STAT, lstat),
	P(STAT, newfstatat),
	P(STAT, statx),
	P(STAT, access),
	P(STAT, faccessat),
	P(STAT, faccessat2),
	P(STAT, statfs),
	P(STAT, name_to_handle_at),
	P(STAT, readlink),
	P(STAT, readlinkat),
	P(STAT, ustat),
	F(STAT, fstat, 0, 0),
	F(STAT, fstatfs, 0, 0),
	P(XATTR, getxattr),
	P(XATTR, lgetxattr),
	P(XATTR, setxattr),
	P(XATTR, lsetxattr),
	P(XATTR, listxattr),
	P(XATTR, llistxattr),
	P(XATTR, removexattr),
	P(XATTR, lremovexattr),
	N(XATTR, setxattrat, 463),
	N(XATTR, getxattrat, 464),
	N(XATTR, listxattrat, 465),
	N(XATTR, removexattrat, 466),
	F(XATTR, fgetxattr, 0, 0),
	F(XATTR, fsetxattr, 0, 0),
	F(XATTR, flistxattr, 0, 0),
	F(XATTR, fremovexattr, 0, 0),
	F(LOCK, flock, 0, 0),
	F(SYNC, fsync, 0, 0),
	F(SYNC, fdatasync, 0, 0),
	F(SYNC, sync_file_range, 0, 0),
	F(SYNC, syncfs, 0, 0),
	P(SYNC, sync),
	P(SYNC, msync),
	F(DIR, getdents, 0, 0),
	F(DIR, getdents64, 0, 0),
	F(DIR, fchdir, 0, 0),
	P(DIR, mkdir),
	P(DIR, mkdirat),
	P(DIR, rmdir),
	P(DIR, chdir),
	P(DIR, getcwd),
	P(DIR, mknod),
	P(DIR, mknodat),
	P(DIR, chroot),
	P(UNLINK, unlink),
	P(UNLINK, unlinkat),
	P(RENAME, rename),
	P(RENAME, renameat),
	P(RENAME, renameat2),
	P(RENAME, link),
	P(RENAME, linkat),
	P(RENAME, symlink),
	P(RENAME, symlinkat),
	F(SETATTR, fchmod, 0, 0),
	F(SETATTR, fchown, 0, 0),
	F(SETATTR, ftruncate, 0, 0),
	F(SETATTR, fallocate, 0, 0),
	F(SETATTR, fadvise64, 0, 0),
	P(SETATTR, chmod),
	P(SETATTR, fchmodat),
	N(SETATTR, fchmodat2, 452),
	P(SETATTR, chown),
	P(SETATTR, lchown),
	P(SETATTR, fchownat),
	P(SETATTR, utime),
	P(SETATTR, utimes),
	P(SETATTR, utimensat),
	P(SETATTR, futimesat),
	P(SETATTR, truncate),
	P(SETATTR, umask),
	P(WAIT, poll),
	P(WAIT, ppoll),
	P(WAIT, select),
	P(WAIT, pselect6),
	P(WAIT, epoll_wait),
	P(WAIT, epoll_pwait),
	P(WAIT, epoll_pwait2),
	W(TEXT(SYS_nanosleep), nanosleep, TIME),
	W(TEXT(SYS_clock_nanosleep), clock_nanosleep, TIME),
	W(TEXT(SYS_futex), futex, LOCK),
	W(TEXT(SYS_futex_waitv), futex_waitv, LOCK),
	W("455", futex_wait, LOCK),
	P(WAIT, pause),
	P(WAIT, restart_syscall), /* goes on with one of the above */
	P(WAIT, rt_sigsuspend),
	P(WAIT, rt_sigtimedwait),
	P(WAIT, io_getevents),
	P(WAIT, io_pgetevents),
	F(SOCKET, connect, 0, 0),
	F(SOCKET, bind, 0, 0),
	F(SOCKET, listen, 0, 0),
	F(SOCKET, accept, 0, 0),
	F(SOCKET, accept4, 0, 0),
	F(SOCKET, getsockname, 0, 0),
	F(SOCKET, getpeername, 0, 0),
	F(SOCKET, getsockopt, 0, 0),
	F(SOCKET, setsockopt, 0, 0),
	F(SOCKET, shutdown, 0, 0),
	P(SOCKET, socket),
	P(SOCKET, socketpair),
	P(SOCKET, pipe),
	P(SOCKET, pipe2),
	F(FD, fcntl, 0, AFS_CALL_LOCKS),
	F(FD, dup, 0, 0),
	C(FD, dup2, 0, ARG1, 0),
	C(FD, dup3, 0, ARG1, 0),
	F(FD, ioctl, 0, 0),
	F(FD, lseek, 0, 0),
	F(FD, readahead, 0, 0),
	P(FD, epoll_create),
	P(FD, epoll_create1),
	P(FD, epoll_ctl),
	P(FD, eventfd),
	P(FD, eventfd2),
	P(FD, signalfd4),
	P(FD, timerfd_create),
	P(FD, timerfd_settime),
	P(FD, inotify_init1),
	P(FD, inotify_add_watch),
	P(FD, memfd_create),
	P(IDENT, getuid),
	P(IDENT, geteuid),
	P(IDENT, getgid),
	P(IDENT, getegid),
	P(IDENT, getresuid),
	P(IDENT, getresgid),
	P(IDENT, getgroups),
	P(IDENT, setuid),
	P(IDENT, setgid),
	D(IDENT, setreuid, AFS_FD_NONE, 0, UID, 0),
	P(IDENT, setregid),
	D(IDENT, setresuid, AFS_FD_NONE, 0, UID, 0),
	P(IDENT, setresgid),
	P(IDENT, setgroups),
	P(IDENT, setfsuid),
	P(IDENT, setfsgid),
	P(IDENT, getpid),
	P(IDENT, getppid),
	P(IDENT, gettid),
	P(IDENT, getpgrp),
	P(IDENT, getpgid),
	P(IDENT, setpgid),
	P(IDENT, getsid),
	P(IDENT, setsid),
	P(IDENT, capget),
	P(IDENT, capset),
	P(SIGNAL, rt_sigaction),
	P(SIGNAL, rt_sigprocmask),
	P(SIGNAL, rt_sigpending),
	P(SIGNAL, rt_sigqueueinfo),
	F(SIGNAL, rt_sigreturn, AFS_FD_NONE, AFS_CALL_NORESULT),
	P(SIGNAL, sigaltstack),
	P(SIGNAL, kill),
	P(SIGNAL, tkill),
	P(SIGNAL, tgkill),
	P(SIGNAL, alarm),
	P(SIGNAL, setitimer),
	P(SIGNAL, getitimer),
	P(MEMORY, mmap),
	P(MEMORY, munmap),
	P(MEMORY, mremap),
	P(MEMORY, mprotect),
	P(MEMORY, brk),
	P(MEMORY, madvise),
	P(MEMORY, mlock),
	P(MEMORY, munlock),
	P(MEMORY, mincore),
	P(PROCESS, clone),
	P(PROCESS, clone3),
	P(PROCESS, fork),
	P(PROCESS, vfork),
	C(PROCESS, execve, AFS_FD_NONE, ALL, AFS_CALL_EXEC),
	C(PROCESS, execveat, AFS_FD_NONE, ALL, AFS_CALL_EXEC),
	C(PROCESS, unshare, AFS_FD_NONE, UNSHARES, 0),
	P(PROCESS, wait4),
	P(PROCESS, waitid),
	P(PROCESS, exit),
	P(PROCESS, exit_group),
	P(PROCESS, prlimit64),
	P(PROCESS, getrlimit),
	P(PROCESS, setrlimit),
	P(PROCESS, getrusage),
	P(PROCESS, prctl),
	P(PROCESS, arch_prctl),
	P(PROCESS, set_tid_address),
	P(PROCESS, set_robust_list),
	P(PROCESS, rseq),
	P(PROCESS, sched_yield),
	P(PROCESS, sched_getaffinity),
	P(PROCESS, sched_setaffinity),
	P(PROCESS, getpriority),
	P(PROCESS, setpriority),
	P(PROCESS, pidfd_open),
};

/* -1: this architecture has no such call. */
static int row_nr(const struct calls_row *row)
{
	long nr;

	if (!isdigit((unsigned char)row->nr[0]))
		return -1;
	nr = strtol(row->nr, NULL, 10);
	return nr < AFS_N_CALLS ? (int)nr : -1;
}

void syscalls_table(struct afs_call out[AFS_N_CALLS])
{
	int nr;

	for (size_t i = 0; i < AFS_N_CALLS; i++)
		out[i] = (struct afs_call) { .class = AFS_CLASS_OTHER, .fd = AFS_FD_NONE };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		nr = row_nr(&rows[i]);
		if (nr >= 0)
			out[nr] = rows[i].call;
	}
}

static const struct calls_row *row_of(int nr)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (row_nr(&rows[i]) == nr && nr >= 0)
			return &rows[i];
	return NULL;
}

const char *syscalls_name(int nr)
{
	const struct calls_row *row = row_of(nr);

	return row ? row->name : NULL;
}

bool syscalls_is_sleep(int nr)
{
	const struct calls_row *row = row_of(nr);

	return row && row->call.waits == AFS_WAITS_TIME;
}

struct afs_call syscalls_call(int nr)
{
	const struct calls_row *row = row_of(nr);

	return row ? row->call : (struct afs_call) { .class = AFS_CLASS_OTHER, .fd = AFS_FD_NONE };
}
