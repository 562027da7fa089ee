/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_PROCFS_H
#define HOST_PROC_PROCFS_H

/*
 * What /proc says about other processes; the only reader of each of its files, but of PID/stat,
 * which is base/procstat.h's. All functions that return int return 0 or a negative errno; -ESRCH or
 * -ENOENT: that process does not exist (any more), -EPROTO: the file has another form. pid 0: this
 * process.
 */

#include "base/procstat.h"
#include "bpf/calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * The I/O account: of the process, its ended threads and waited-for children included (tid 0), or
 * one living thread's own.
 */
int procfs_io(struct afs_compat *out, pid_t pid, pid_t tid);

/*
 * Bytes that the process, with its ended threads and waited-for children, has read from storage and
 * written to it; a write counts when it is made, and not if the file was removed before it reached
 * the storage.
 */
int procfs_storage(uint64_t *bytes, pid_t pid);

/* Sampled. */
struct procfs_times {
	uint64_t cpu_ns;  /* on a CPU */
	uint64_t runq_ns; /* runnable, waiting for one */
	uint64_t slices;  /* times put on one */
	/* Switches because it waited, and because it was preempted. */
	uint64_t voluntary, involuntary;
};

/* A living thread's, without its switches; */
int procfs_thread_times(struct procfs_times *out, pid_t pid, pid_t tid);
/* these alone. */
int procfs_thread_switches(struct procfs_times *out, pid_t pid, pid_t tid);

/* The system call in which a thread sleeps. */
struct procfs_call {
	bool running; /* it does not sleep: nothing else is known */
	int nr;       /* -1: it sleeps outside of one, as in a page fault */
	uint64_t arg[6];
};

/* -EACCES, -EPERM: no right, or the kernel does not say. */
int procfs_thread_call(struct procfs_call *out, pid_t pid, pid_t tid);

/* Its name, cleaned (base/text.h), cut to fit. */
int procfs_thread_name(char *out, size_t len, pid_t pid, pid_t tid);

/* Numbers, one after the other: of processes, of threads or of open descriptors. */
struct procfs_numbers {
	void *folder;
	int number;
	const pid_t *but; /* these are passed over, in ascending order; borrowed */
	size_t n_but;
};

/* All processes, or the living threads or the descriptors of one. 0, or a negative errno: none. */
int procfs_processes(struct procfs_numbers *out);
/* All processes but n, which the caller keeps in ascending order meanwhile. */
int procfs_others(struct procfs_numbers *out, const pid_t *but, size_t n);
int procfs_threads(struct procfs_numbers *out, pid_t pid);
int procfs_fds(struct procfs_numbers *out, pid_t pid);
/* The next one. false: there is none, and nothing is left open. */
bool procfs_next(struct procfs_numbers *n);
/* For who has not read them all. */
void procfs_end(struct procfs_numbers *n);

/* Whether this kernel lists children. */
bool procfs_lists_children(void);
/* Calls fn for each living child of any thread until it returns other than 0, which is returned. */
int procfs_each_child(pid_t pid, int (*fn)(void *arg, pid_t child), void *arg);

/* The value of "key:" in /proc/PID/status, cut to fit. -ENODATA: no such line. */
int procfs_status(char *out, size_t out_len, pid_t pid, const char *key);

/* Its user ids. */
int procfs_uids(uint32_t *real, uint32_t *effective, pid_t pid);

/* Whether it runs a 32-bit program. false also if that cannot be seen. */
bool procfs_is_32bit(pid_t pid);

/* Whether the kernel is writing its memory to a file or a program. */
bool procfs_dumps_core(pid_t pid);

/*
 * A variable of the environment in which a process began (its first 16 KiB), cut to fit; "": it has
 * none of that name, or that is not readable.
 */
void procfs_variable(char *out, size_t len, pid_t pid, const char *name);

/*
 * The argument of an option ("-F", "-name", "--name") in the first 4 KiB of its command line.
 * -ENODATA: none.
 */
int procfs_argument(char *out, size_t len, pid_t pid, const char *option);

/* Whether one of those is the word. */
bool procfs_has_word(pid_t pid, const char *word);

/* The first of these names that a file mapped by the process has in its path; NULL: none. */
const char *procfs_mapped(pid_t pid, const char *const *names);

/* Where a link leads ("exe", "cwd", "root", "fd/3"), cut to fit; out is empty after an error. */
int procfs_link(char *out, size_t len, pid_t pid, const char *name);

/*
 * A number that is equal for the same file ("root", "ns/net"); 0: not readable. Involves no file
 * server and no FUSE daemon, which might not answer.
 */
uint64_t procfs_identity(pid_t pid, const char *name);

/* Where this process finds a file of another one's root; "" is that root. Cut to fit. */
void procfs_inside(char *out, size_t len, pid_t pid, const char *path);

/* Calls fn for each process until it returns other than 0, which is returned. */
int procfs_each(int (*fn)(void *arg, pid_t pid), void *arg);
/* The same of those whose numbers are in a file, such as a cgroup's. */
int procfs_each_in(const char *path, int (*fn)(void *arg, pid_t pid), void *arg);

/* What a descriptor of a process is ("socket:[123]", "/a/path"), as procfs_link(). */
int procfs_fd_name(char *out, size_t len, pid_t pid, int fd);
/* The inode number of the socket that it is; 0: it is none. */
uint64_t procfs_fd_socket(pid_t pid, int fd);
/* The same from its name. */
uint64_t procfs_socket(const char *name);

/* The number of the mount that the file of a descriptor of this process is on. */
int procfs_mount_of(uint64_t *mount, int fd);

/* false: process numbers are not the host's, as in most containers. */
bool procfs_first_pid_namespace(void);

/* Why processes may be missing, to be added to an error; empty: all are seen. */
#define PROCFS_HIDDEN    "/proc hides the processes of other users (hidepid): run as root"
#define PROCFS_UNMOUNTED "/proc is not mounted here: mount -t proc proc /proc"
const char *procfs_hides(void);
bool procfs_is_mounted(void);

/* How far CLOCK_MONOTONIC is ahead of the kernel's own: other than 0 only in a time namespace. */
long procfs_clock_ahead_s(void);

/* Seconds since a process was started, from its ticks after boot (struct procstat). */
double procfs_age_s(uint64_t started);

/* A line of /proc/meminfo, such as "SwapFree", in KiB. false: not known. */
bool procfs_memory(uint64_t *kib, const char *key);

/*
 * A file of a process, or of its thread tid (0: none), that is to be read often: a descriptor for
 * file_text_again() and a function of host/proctext.h, or a negative errno.
 */
int procfs_open(pid_t pid, pid_t tid, const char *name);

/* The lines of a file of a process, one after the other. */
struct procfs_lines {
	FILE *file;
	char *text; /* the line */
	size_t room;
};

/* 0, or a negative errno: there are no lines. */
int procfs_lines(struct procfs_lines *out, pid_t pid, const char *name);
/* The next one. false: there is none, and nothing is left open. */
bool procfs_line(struct procfs_lines *l);
/* For who has not read them all. */
void procfs_lines_end(struct procfs_lines *l);

#endif
