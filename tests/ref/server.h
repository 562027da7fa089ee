/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_SERVER_H
#define REF_SERVER_H

/*
 * A server that speaks DSI, makes known calls for each AFP command (work.h) and keeps the truth
 * about them (tally.h). How it reads and writes the client's connection is the plan.
 */

#include "ref/tally.h"
#include "ref/work.h"

enum ref_read {
	REF_READ_RECV,    /* ahead, up to 8 KiB: as afpd does */
	REF_READ_READ,    /* the same with read */
	REF_READ_READV,   /* in three pieces of memory */
	REF_READ_RECVMSG, /* the same with recvmsg */
	REF_READ_PEEK,    /* looks first and leaves the bytes there */
	REF_READ_EXACT,   /* header, then the rest: never ahead */
	REF_READ_PIECES,  /* a few bytes at a time, so that headers are split everywhere */
	REF_READ_ALL,     /* one after the other */
};

enum ref_reply {
	REF_REPLY_WRITEV,   /* header and data in one call */
	REF_REPLY_SENDFILE, /* header with MSG_MORE, data from a file */
	REF_REPLY_SEND,     /* one send */
	REF_REPLY_SPLIT,    /* the header in two writes */
	REF_REPLY_BYTES,    /* the header and more in single bytes */
	REF_REPLY_SENDMSG,  /* three pieces of memory */
	REF_REPLY_BATCH,    /* several replies in one write, when several requests were read */
	REF_REPLY_ALL,      /* one after the other, not batched */
};

struct ref_plan {
	enum ref_read read;
	enum ref_reply reply;
	bool waits;       /* the socket does not block: poll and select */
	bool early;       /* waits at once after a reply was taken in part, without another try */
	bool tells;       /* sends tickles and attention in between */
	bool splices;     /* bulk data go from the socket into the file */
	bool swaps;       /* two threads take turns in serving the connection */
	uint32_t n_noise; /* threads that do something else all the time, up to REF_N_NOISE */
	uint32_t most;    /* longest data in a reply */
	uint32_t mute;    /* this AFP command is never answered; 0: all are */
};

#define REF_N_NOISE 2

/* In shared memory, made by ref_shared_new. */
struct ref_shared {
	struct ref_tally tally;
	struct ref_stream stream;
	uint64_t n_read;   /* bytes the server has read from the client */
	uint64_t n_served; /* requests answered */
	uint32_t garbage;  /* so many bytes that the client sends now are in no frame */
	uint32_t babble;   /* so many bytes that the server is to send before its next reply */
	uint32_t noise;    /* threads make noise */
	uint32_t parked;   /* threads that wait for it */
	uint32_t baton;    /* whose turn it is to serve: 0 or 1 */
	uint32_t taken;    /* turns whose thread has begun to read */
	uint32_t closed;   /* the client closed the session */
};

struct ref_shared *ref_shared_new(void);
void ref_shared_free(struct ref_shared *s);

/*
 * Serves until the client closes the session (DSICloseSession), not the connection: the next call
 * goes on. The first call starts the plan's threads, which stay; they rest between calls.
 */
void ref_serve(int client_fd, const struct ref_plan *plan, const struct ref_files *f,
	       struct ref_shared *s);

#endif
