/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_CHILD_H
#define APP_CHILD_H

/* A command that is forked now, with all rights of this program, and executed by child_go(). */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: none */
	int gate;  /* -1: opened */
	int status;
	uint64_t cpu_ns;  /* of it and what it waited for, once it has ended */
	const char *name; /* argv[0], the caller's */
};

/* 0: a program of that name is there, where execvp looks, and may be run; else -errno. */
int child_check(const char *name, struct err *e);

int child_start(struct child *c, char *const argv[], struct err *e);

/* 0: its program runs; -errno: there is no such program, or it may not be run. */
int child_go(struct child *c, struct err *e);

/* Whether it has ended; its status is in c->status then, as of waitpid. */
bool child_ended(struct child *c);

/* Ends it where it has not yet, and waits. */
void child_end(struct child *c);

#endif
