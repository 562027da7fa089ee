/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_SLEEPING_H
#define HOST_PROC_SLEEPING_H

/*
 * What a thread of another process waits for in the system call in which it sleeps, from /proc and
 * its memory: also if it fell asleep long before. Needs the right to trace it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SLEEPING_FDS 16

struct sleeping {
	bool running; /* it does not sleep: nothing else is known */
	int nr;       /* the system call; -1: in none, such as in a page fault */
	bool ready;   /* it waits until one of the descriptors is ready: poll, select, epoll */
	bool timed;   /* it goes on by itself after some time */
	/* It only sleeps (nanosleep, or select of no descriptor), and is not stopped. */
	bool naps;
	bool writes;          /* of poll and select: one of the descriptors is to take bytes */
	size_t n_fds;         /* 0: for no descriptor */
	int fd[SLEEPING_FDS]; /* the first of them, as the call names them */
};

/* 0 or a negative errno: -EACCES, -EPERM: no right; -ESRCH, -ENOENT: no such thread. */
int sleeping_read(struct sleeping *out, pid_t pid, pid_t tid);

#endif
