/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SPEEDTEST_SPEEDTEST_H
#define WORK_SPEEDTEST_SPEEDTEST_H

/*
 * Reads, writes and copies files of given sizes through a store, as netatalk 4.5's afp_speedtest
 * does: what is sent when is in docs/speedtest.md. Three sets of requests: those of 4.5's and
 * of 4.6's afp_speedtest, and ours, which differ only in the data commands and their length.
 */

#include "load/load.h"

#include <signal.h>

#define SPEEDTEST_SET        "speedtest"
#define SPEEDTEST_PEER_SET   "speedtest-4.5"
#define SPEEDTEST_4_6_SET    "speedtest-4.6"

#define SPEEDTEST_WINDOW_MAX 128

enum speed_work {
	SPEED_READ,
	SPEED_WRITE,
	SPEED_COPY,        /* this program reads and writes back */
	SPEED_SERVER_COPY, /* the server does it: one request */
	N_SPEED_WORKS
};

enum speed_data {
	SPEED_ZERO,
	SPEED_RANDOM,  /* no two blocks of 4 KiB are the same */
	SPEED_PATTERN, /* depends on the offset, so that it can be checked */
};

/* What is done with the data of Read. */
enum speed_receive {
	SPEED_RECEIVE_AUTO, /* dropped; copied from this host, and in afp_speedtest's set */
	SPEED_RECEIVE_COPY, /* into this program's buffers */
	SPEED_RECEIVE_DROP, /* counted, and dropped by the kernel */
};

struct speedtest_opts {
	unsigned int n_works;
	enum speed_work work[N_SPEED_WORKS]; /* in the order in which they run, for each size */
	size_t n_sizes;                      /* 0: one size, the length of file */
	const uint64_t *size;                /* bytes, at least 1 each; borrowed */
	unsigned int iterations;             /* measured; from 0 */
	unsigned int warmups;
	unsigned int window; /* requests in flight, 1 to SPEEDTEST_WINDOW_MAX */
	size_t chunk;        /* bytes of a data request; 0: the most that the store accepts */
	bool peer;           /* exactly the requests of an afp_speedtest, even useless ones */
	bool flush;          /* after writing, inside the timed region */
	bool sparse;         /* sources get their length without being written */
	bool recreate;       /* files are deleted and made anew after every iteration */
	bool verify;         /* compare what is read with what was written; needs SPEED_PATTERN */
	bool second;         /* copies go to the store's second root */
	enum speed_data data;
	enum speed_receive receive;
	const char *file;   /* of the root: the source of reads and copies; NULL: one of our own */
	uint64_t delay_ns;  /* between iterations */
	bool force;         /* whatever is free */
	struct store *null; /* the same transfers against it, for comparison; NULL: no */
	/* Before a work of a size. 0; 1: leave it out; negative: end the run (text in e). */
	int (*next)(void *user, enum speed_work work, uint64_t size, struct err *e);
	void *user;
};

const char *speedtest_name(enum speed_work work);

/* Bytes of a data request of a work with this store. */
size_t speedtest_chunk(const struct store *s, const struct speedtest_opts *opts,
		       enum speed_work work);

/*
 * Whether the store supports the options: length of requests, largest file, second root. 0, or
 * -EINVAL and a text. Sends nothing.
 */
int speedtest_check(const struct store *s, const struct speedtest_opts *opts, struct err *e);

/*
 * Runs it through l->store: a phase for each size and work. base receives the names of the
 * directories in the roots; each becomes "" again when it has been removed, whatever happened.
 * Returns as workloads do (load.h).
 */
int speedtest_run(struct load *l, const struct speedtest_opts *opts, char base[2][32],
		  struct err *e);

#endif
