/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROCFS_H
#define HOST_PROCFS_H

/*
 * What /proc says about other processes. All functions that return int return 0 or a negative
 * errno; -ESRCH or -ENOENT: that process does not exist (any more).
 */

#include "bpf/calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procfs_stat {
	char comm[32];
	char state; /* 'R', 'S', ... */
	pid_t ppid;
	int cpu;          /* where it last ran */
	uint64_t started; /* ticks after boot: identifies the process together with the pid */
};

int procfs_stat(struct procfs_stat *out, pid_t pid);

/* The I/O account: of the process, its ended threads and waited-for children included, ... */
int procfs_io(struct afs_compat *out, pid_t pid);
/* ... or one living thread's own. */
int procfs_io_thread(struct afs_compat *out, pid_t pid, pid_t tid);

/* Sampled. */
struct procfs_times {
	uint64_t cpu_ns;  /* on a CPU */
	uint64_t runq_ns; /* runnable, waiting for one */
};

/* A living thread's. */
int procfs_thread_times(struct procfs_times *out, pid_t pid, pid_t tid);

/* Its name, cleaned (base/text.h), cut to fit. */
int procfs_thread_name(char *out, size_t len, pid_t pid, pid_t tid);

/* Calls fn for each living thread until it returns other than 0, which is returned. */
int procfs_each_thread(pid_t pid, int (*fn)(void *arg, int tid), void *arg);

/* The value of "key:" in /proc/PID/status, cut to fit; pid 0: this process. */
int procfs_status(char *out, size_t out_len, pid_t pid, const char *key);

/*
 * Calls fn for each "NAME=VALUE" of the environment in which a process began (its first 16 KiB),
 * until fn returns other than 0, which is returned.
 */
int procfs_each_variable(pid_t pid, int (*fn)(void *arg, const char *word), void *arg);

/* Calls fn for each process until it returns other than 0, which is returned. */
int procfs_each(int (*fn)(void *arg, pid_t pid), void *arg);

/*
 * Calls fn for each open descriptor of a process with its name ("socket:[123]", "/a/path"), until
 * fn returns other than 0, which is returned.
 */
int procfs_each_fd(pid_t pid, int (*fn)(void *arg, pid_t pid, int fd, const char *name), void *arg);

/* The inode number in "socket:[123]"; 0: not a socket. */
uint64_t procfs_socket(const char *name);

/* Open flags of a descriptor (O_APPEND, ...). */
int procfs_fd_flags(unsigned int *out, pid_t pid, int fd);

/*
 * Whether a descriptor's file is on a local file system, so that no server and no FUSE daemon can
 * block a look at it. Involves none itself.
 */
bool procfs_fd_is_local(pid_t pid, int fd);

/*
 * The kernel's own numbers of the inode that path leads to, links followed; stat() may give others
 * on btrfs and overlayfs. pid: the process in whose mounts path is. Does not set out->object.
 */
int procfs_inode(struct afs_inode *out, pid_t pid, const char *path);

/* false: process numbers are not the host's, as in most containers. */
bool procfs_first_pid_namespace(void);

/* Seconds since a process was started, from its ticks after boot (struct procfs_stat). */
double procfs_age_s(uint64_t started);

#endif
