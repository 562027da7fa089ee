/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of system calls, by their names: the Makefile makes a list of those that the C library
 * has for this architecture, with their numbers. The table may name others, too.
 */

#include "host/proc/syscalls.h"

#include "base/text.h"

#include <sys/syscall.h>

#define READS  (AFS_COMPAT_READ | AFS_CALL_MOVES)
#define WRITES (AFS_COMPAT_WRITE | AFS_CALL_MOVES)
#define ALWAYS AFS_COMPAT_ALWAYS
#define MOVED  AFS_COMPAT_MOVED
#define MOVES  AFS_CALL_MOVES

static const char *const call_names[AFS_N_CALLS] = {
#include "host/proc/syscall_names.h"
};

/* Calls that C libraries in use do not know yet; their numbers are the same everywhere. */
static const struct {
	int nr;
	const char *name;
} newer[] = {
	{ 452, "fchmodat2" },  { 455, "futex_wait" },  { 463, "setxattrat" },
	{ 464, "getxattrat" }, { 465, "listxattrat" }, { 466, "removexattrat" },
};

/* What is to be known of each call. */
static const struct {
	const char *names; /* with blanks between */
	struct afs_call call;
} rows[] = {
	{ "read", { .class = AFS_CLASS_READ, .fd = 0, .flags = READS, .data = AFS_DATA_BUF } },
	{ "pread64", { .class = AFS_CLASS_READ, .fd = 0, .flags = READS } },
	{ "readv",
	  { .class = AFS_CLASS_READ, .fd = 0, .flags = READS | ALWAYS, .data = AFS_DATA_IOV } },
	{ "preadv preadv2", { .class = AFS_CLASS_READ, .fd = 0, .flags = READS | ALWAYS } },
	{ "write", { .class = AFS_CLASS_WRITE, .fd = 0, .flags = WRITES, .data = AFS_DATA_BUF } },
	{ "pwrite64", { .class = AFS_CLASS_WRITE, .fd = 0, .flags = WRITES } },
	{ "writev",
	  { .class = AFS_CLASS_WRITE, .fd = 0, .flags = WRITES | ALWAYS, .data = AFS_DATA_IOV } },
	{ "pwritev pwritev2", { .class = AFS_CLASS_WRITE, .fd = 0, .flags = WRITES | ALWAYS } },
	{ "recvfrom",
	  { .class = AFS_CLASS_RECV, .fd = 0, .flags = MOVES, .data = AFS_DATA_BUF, .peek = 3 } },
	{ "recvmsg",
	  { .class = AFS_CLASS_RECV, .fd = 0, .flags = MOVES, .data = AFS_DATA_MSG, .peek = 2 } },
	{ "recvmmsg", { .class = AFS_CLASS_RECV, .fd = 0, .data = AFS_DATA_MMSG, .peek = 3 } },
	{ "sendto", { .class = AFS_CLASS_SEND, .fd = 0, .flags = MOVES, .data = AFS_DATA_BUF } },
	{ "sendmsg", { .class = AFS_CLASS_SEND, .fd = 0, .flags = MOVES, .data = AFS_DATA_MSG } },
	{ "sendmmsg", { .class = AFS_CLASS_SEND, .fd = 0, .data = AFS_DATA_MMSG } },
	/* The descriptor that is written to: for a file server, where the data go. */
	{ "sendfile",
	  { .class = AFS_CLASS_SENDFILE,
	    .fd = 0,
	    .flags = READS | WRITES,
	    .data = AFS_DATA_FILE } },
	{ "copy_file_range",
	  { .class = AFS_CLASS_COPY, .fd = 2, .flags = READS | WRITES | MOVED } },
	{ "splice", { .class = AFS_CLASS_COPY, .fd = 2, .flags = MOVES, .data = AFS_DATA_FILE } },
	{ "tee", { .class = AFS_CLASS_COPY, .fd = 1, .flags = MOVES } },
	{ "vmsplice", { .class = AFS_CLASS_COPY, .fd = 0, .flags = MOVES } },
	{ "open openat openat2 creat open_by_handle_at",
	  { .class = AFS_CLASS_OPEN, .fd = AFS_FD_NONE } },
	{ "close", { .class = AFS_CLASS_CLOSE, .fd = 0, .closes = AFS_CLOSES_ARG0 } },
	{ "close_range",
	  { .class = AFS_CLASS_CLOSE, .fd = AFS_FD_NONE, .closes = AFS_CLOSES_ALL } },
	{ "stat lstat newfstatat statx access faccessat faccessat2 statfs "
	  "name_to_handle_at readlink readlinkat ustat",
	  { .class = AFS_CLASS_STAT, .fd = AFS_FD_NONE } },
	{ "fstat fstatfs", { .class = AFS_CLASS_STAT, .fd = 0 } },
	{ "getxattr lgetxattr setxattr lsetxattr listxattr llistxattr removexattr "
	  "lremovexattr setxattrat getxattrat listxattrat removexattrat",
	  { .class = AFS_CLASS_XATTR, .fd = AFS_FD_NONE } },
	{ "fgetxattr fsetxattr flistxattr fremovexattr", { .class = AFS_CLASS_XATTR, .fd = 0 } },
	{ "flock", { .class = AFS_CLASS_LOCK, .fd = 0 } },
	{ "fsync fdatasync sync_file_range syncfs", { .class = AFS_CLASS_SYNC, .fd = 0 } },
	{ "sync msync", { .class = AFS_CLASS_SYNC, .fd = AFS_FD_NONE } },
	{ "getdents getdents64 fchdir", { .class = AFS_CLASS_DIR, .fd = 0 } },
	{ "mkdir mkdirat rmdir chdir getcwd mknod mknodat chroot",
	  { .class = AFS_CLASS_DIR, .fd = AFS_FD_NONE } },
	{ "unlink unlinkat", { .class = AFS_CLASS_UNLINK, .fd = AFS_FD_NONE } },
	{ "rename renameat renameat2 link linkat symlink symlinkat",
	  { .class = AFS_CLASS_RENAME, .fd = AFS_FD_NONE } },
	{ "fchmod fchown ftruncate fallocate fadvise64", { .class = AFS_CLASS_SETATTR, .fd = 0 } },
	{ "chmod fchmodat fchmodat2 chown lchown fchownat utime utimes utimensat "
	  "futimesat truncate umask",
	  { .class = AFS_CLASS_SETATTR, .fd = AFS_FD_NONE } },
	/* restart_syscall goes on with one of the others. */
	{ "epoll_wait epoll_pwait epoll_pwait2",
	  { .class = AFS_CLASS_WAIT, .fd = AFS_FD_NONE, .loop = AFS_LOOP_EVENTS } },
	{ "poll ppoll select pselect6 pause "
	  "restart_syscall rt_sigsuspend rt_sigtimedwait io_getevents io_pgetevents",
	  { .class = AFS_CLASS_WAIT, .fd = AFS_FD_NONE } },
	{ "nanosleep clock_nanosleep",
	  { .class = AFS_CLASS_WAIT, .fd = AFS_FD_NONE, .waits = AFS_WAITS_TIME } },
	{ "futex",
	  { .class = AFS_CLASS_WAIT,
	    .fd = AFS_FD_NONE,
	    .waits = AFS_WAITS_LOCK,
	    .loop = AFS_LOOP_IDLE } },
	{ "futex_waitv futex_wait",
	  { .class = AFS_CLASS_WAIT, .fd = AFS_FD_NONE, .waits = AFS_WAITS_LOCK } },
	{ "connect bind listen accept accept4 getsockname getpeername getsockopt "
	  "setsockopt shutdown",
	  { .class = AFS_CLASS_SOCKET, .fd = 0 } },
	{ "socket socketpair pipe pipe2", { .class = AFS_CLASS_SOCKET, .fd = AFS_FD_NONE } },
	{ "fcntl", { .class = AFS_CLASS_FD, .fd = 0, .flags = AFS_CALL_LOCKS } },
	{ "dup ioctl lseek readahead", { .class = AFS_CLASS_FD, .fd = 0 } },
	{ "dup2 dup3", { .class = AFS_CLASS_FD, .fd = 0, .closes = AFS_CLOSES_ARG1 } },
	{ "epoll_create epoll_create1 epoll_ctl eventfd eventfd2 signalfd4 timerfd_create "
	  "timerfd_settime inotify_init1 inotify_add_watch memfd_create",
	  { .class = AFS_CLASS_FD, .fd = AFS_FD_NONE } },
	{ "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid "
	  "setregid setresgid setgroups setfsuid setfsgid getpid getppid gettid getpgrp "
	  "getpgid setpgid getsid setsid capget capset",
	  { .class = AFS_CLASS_IDENT, .fd = AFS_FD_NONE } },
	{ "setreuid setresuid",
	  { .class = AFS_CLASS_IDENT, .fd = AFS_FD_NONE, .data = AFS_DATA_UID } },
	{ "rt_sigaction rt_sigprocmask rt_sigpending rt_sigqueueinfo sigaltstack kill "
	  "tkill tgkill alarm setitimer getitimer",
	  { .class = AFS_CLASS_SIGNAL, .fd = AFS_FD_NONE } },
	{ "rt_sigreturn",
	  { .class = AFS_CLASS_SIGNAL, .fd = AFS_FD_NONE, .flags = AFS_CALL_NORESULT } },
	{ "mmap munmap mremap mprotect brk madvise mlock munlock mincore",
	  { .class = AFS_CLASS_MEMORY, .fd = AFS_FD_NONE } },
	{ "clone clone3 fork vfork wait4 waitid exit exit_group prlimit64 getrlimit "
	  "setrlimit getrusage prctl arch_prctl set_tid_address set_robust_list rseq "
	  "sched_yield sched_getaffinity sched_setaffinity getpriority setpriority "
	  "pidfd_open",
	  { .class = AFS_CLASS_PROCESS, .fd = AFS_FD_NONE } },
	{ "execve execveat",
	  { .class = AFS_CLASS_PROCESS,
	    .fd = AFS_FD_NONE,
	    .flags = AFS_CALL_EXEC,
	    .closes = AFS_CLOSES_ALL } },
	{ "unshare",
	  { .class = AFS_CLASS_PROCESS, .fd = AFS_FD_NONE, .closes = AFS_CLOSES_UNSHARES } },
};

/* NULL: there is no call of this number. */
static const char *name_of_number(int nr)
{
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (newer[i].nr == nr)
			return newer[i].name;
	return nr >= 0 && nr < AFS_N_CALLS ? call_names[nr] : NULL;
}

struct afs_call syscalls_call(int nr)
{
	const char *name = name_of_number(nr);

	for (size_t i = 0; name && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_has_word(rows[i].names, ' ', name))
			return rows[i].call;
	return (struct afs_call) { .class = AFS_CLASS_OTHER, .fd = AFS_FD_NONE };
}

const char *syscalls_name(int nr)
{
	return syscalls_call(nr).class == AFS_CLASS_OTHER ? NULL : name_of_number(nr);
}
