/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_HUB_H
#define RANKS_HUB_H

/*
 * The ranks of a load, as rank 0 sees them: a connection to each. One that dies or breaks the rules
 * is remembered with the reason and asked no more; nothing ever waits for it. hub_join() is the
 * other ranks' side.
 */

#include "ranks/channel.h"
#include "ranks/invite.h"
#include "ranks/offset.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Messages, in the order of a run. */
enum hub_message {
	HUB_HELLO = 1, /* rank: who it is */
	HUB_WELCOME,   /* rank 0: it belongs here */
	HUB_REFUSED,   /* rank 0: why not, a text; the run ends */
	HUB_BASE,      /* rank 0: name of the directory: open the sessions */
	HUB_OPENED,    /* rank: struct hub_report */
	HUB_MAKE,      /* rank 0: the directory is there: make the files */
	HUB_MADE,      /* rank: struct hub_report */
	HUB_PING,      /* rank 0: any bytes */
	HUB_PONG,      /* rank: the same, and when it came and left (u64, u64) */
	HUB_START,     /* rank 0: when, by the rank's own clock (u64); again for each load */
	HUB_STOP,      /* rank 0: end now */
	HUB_RESULT,    /* rank: ranks/part.h */
	HUB_REMOVE,    /* rank 0: remove the files, end the sessions */
	HUB_BYE,       /* rank: done */
};

/* How a step went. */
struct hub_report {
	int result; /* 0, or as the function that did it */
	unsigned int not_open;
	char text[256];
};
#define HUB_REPORT_LEN 264
size_t hub_report_pack(const struct hub_report *r, uint8_t out[static HUB_REPORT_LEN]);
int hub_report_unpack(struct hub_report *out, const struct message *m); /* 0 or -EPROTO */

/* What every rank must have been given alike. */
#define HUB_TERMS_MAX 512

struct hub_opts {
	unsigned int size;                 /* ranks, rank 0 included */
	const char *terms;                 /* at most HUB_TERMS_MAX bytes */
	const volatile sig_atomic_t *stop; /* set: waiting ends */
};

struct hub_rank {
	struct channel channel;
	bool here; /* it said hello, and is not lost */
	char host[65];
	pid_t pid;
	char why[256];    /* it is lost: why */
	uint64_t lost_ns; /* and when, CLOCK_MONOTONIC */
	struct offset offset;
	bool has_skew;
	uint64_t skew_ns;
	uint8_t *answer; /* the last one waited for, of this type; owned */
	size_t answer_len;
	uint8_t answer_type;
};

struct hub {
	struct hub_opts o;
	struct invite invite; /* to be told to the others */
	int listener;
	struct hub_rank *rank; /* by number; that of rank 0 is not used */
};

int hub_open(struct hub **out, const struct hub_opts *o, struct err *e);
void hub_close(struct hub *h); /* NULL is allowed */

/*
 * Waits for the others, at most HUB_HELLO_S. One that does not come is lost. 0; -EINVAL: one was
 * started with other options or is another version, and all are told; -EINTR.
 */
#define HUB_HELLO_S 60
int hub_accept(struct hub *h, struct err *e);

/* Tells all that are here. */
void hub_tell(struct hub *h, enum hub_message type, const void *data, size_t len);

/*
 * Waits until all that are here have sent a message of this type, which is then their answer. Who
 * has not after wait_ns is lost. 0, or -EINTR (stop is heeded only if heeds_stop).
 */
int hub_await(struct hub *h, enum hub_message type, uint64_t wait_ns, bool heeds_stop);

/*
 * Measures all clocks, tells all when to start, in about a second, and measures again: *start_ns by
 * our clock. It returns before that.
 */
void hub_start(struct hub *h, uint64_t *start_ns);

/* Has no more to do with a rank. */
void hub_lose(struct hub *h, unsigned int i, const char *why);

/* Notices who is lost; does not wait. */
void hub_look(struct hub *h);

/* The other side. -EINVAL: refused. */
struct hub_guest {
	unsigned int rank;
	const char *terms;
};
int hub_join(struct channel *out, const struct invite *to, const struct hub_guest *who,
	     struct err *e);

/* Answers a HUB_PING that was taken just now. 0 or a negative errno. */
int hub_pong(struct channel *c, const struct message *ping);

#endif
