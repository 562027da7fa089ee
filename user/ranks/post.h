/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_POST_H
#define RANKS_POST_H

/*
 * Messages between the two processes of a rank (ranks/launch.h), over a socket pair; the same form
 * is what the ranks bring each other by MPI. All hosts of a run have one byte order.
 */

#include <stddef.h>
#include <stdint.h>

enum post_type {
	POST_LAUNCHED = 1, /* to the one that works: struct launch_told */
	/* Orders, which rank 0 gives, in this order; but for the last one each has an answer. */
	POST_HELLO,  /* who the others are; struct ranks_run */
	POST_OPEN,   /* the sessions; to some ranks after the others: struct ranks_turn */
	POST_MAKE,   /* the files: their directory is there */
	POST_CLOCKS, /* nothing: only round trips */
	POST_LOAD,   /* once for each load; when it begins, by each rank's own clock: uint64_t[] */
	POST_REMOVE, /* the files, and end the sessions */
	POST_END,    /* 1: rank 0 has ended by itself, 0: it was killed; uint8_t */
	/* All else. */
	POST_ANSWER, /* to an order, from rank arg */
	POST_LOST,   /* in its place: struct post_lost */
	POST_TRIPS,  /* what round trips have shown of each rank's clock: struct offset[] */
	POST_WORD,   /* rank 0: arg is an enum post_word */
};

/* What rank 0 tells all while an order is carried out. */
enum post_word {
	POST_STOP,    /* end the load now */
	POST_GIVE_UP, /* who has not answered this order yet has no more part in the run */
	POST_LAST,    /* there are no more words */
};

struct post_head {
	uint32_t type; /* enum post_type */
	uint32_t arg;  /* of an order: ms of round trips, while it is carried out */
	uint64_t len;  /* of the bytes that follow */
};

/* No answer will come any more. */
struct post_lost {
	uint64_t at_ns; /* CLOCK_MONOTONIC of its host */
	char why[256];
};

struct post {
	struct post_head head;
	uint8_t *data; /* owned; NULL: none */
};

/* 0 or a negative errno: the other one is gone. */
int post_send(int fd, enum post_type type, uint32_t arg, const void *data, size_t len);

/*
 * The next message, within wait_ns: 1; 0: none, also if a signal came; a negative errno: the other
 * one is gone. What out had is freed.
 */
int post_take(struct post *out, int fd, uint64_t wait_ns);

/* Copies the bytes, where there are len of them: 0 or -EPROTO. */
int post_read(const struct post *p, void *out, size_t len);

void post_fini(struct post *p);

#endif
