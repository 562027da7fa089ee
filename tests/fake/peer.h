/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_PEER_H
#define FAKE_PEER_H

/*
 * A DSI/AFP server for unit tests: a thread that serves one connection after the other on
 * 127.0.0.1, with a volume in memory ("Fake", and once that is open also "Other": the same tree)
 * and knobs for everything a server can do wrong. Set knobs between peer_new() and peer_start();
 * read the volume and the counts after peer_stop().
 */

#include "fake/serve.h"
#include "fake/volume.h"

/*
 * Two commands of its own, to test DSI without AFP:
 * PEER_GIVE, seed(1), n(4): a reply of n bytes, byte i = seed + 7 * i + i / 256.
 * PEER_TAKE, seed(1), n(4) and n such bytes of DSIWrite data: reply n(4), number of wrong bytes(4).
 */
#define PEER_GIVE     250
#define PEER_TAKE     251
#define PEER_GIVE_LEN 6

static inline uint8_t peer_byte(uint8_t seed, size_t i)
{
	return (uint8_t)(seed + 7 * i + i / 256);
}

enum peer_fault {
	PEER_FINE,
	PEER_WRONG_ID,
	PEER_WRONG_COMMAND,
	PEER_GARBAGE,     /* bytes that are no frame */
	PEER_HUGE_LEN,    /* length field of 0xffffffff */
	PEER_TWICE,       /* the same reply again */
	PEER_HANG_UP,     /* connection ended before byte .byte of the reply */
	PEER_RESET,       /* the same, by RST */
	PEER_CLOSE_FRAME, /* DSICloseSession instead, then the end */
	PEER_THEN_CLOSE,  /* the reply, and behind it in the same send DSICloseSession */
	PEER_SILENT,      /* nothing any more, the connection stays */
	PEER_SHORT,       /* half of the payload, result -5009 */
};

#define PEER_TICKLE    0x01
#define PEER_ATTENTION 0x02

struct peer_request {
	uint8_t dsi_command;
	uint16_t id;
	const uint8_t *command; /* AFP command without the data of a DSIWrite */
	size_t len, data_len;
	size_t data_bad; /* PEER_TAKE: bytes that are not what they should be */
};

struct peer_reply {
	uint8_t dsi_command;
	uint16_t id;
	int32_t result;
	uint8_t *frame; /* malloc'd: 16 bytes for the header, then the payload */
	size_t len;     /* of the payload */
};

struct peer {
	/* Knobs */
	uint32_t quantum;
	bool bounds_data; /* the quantum bounds the data of a write alone, else command and data */
	uint64_t room;    /* bytes free on its volumes */
	bool keeps_backups; /* they are destinations of Time Machine */
	bool busy;          /* refuse sessions with -1071 as afpd does at its limit */
	const void *status; /* another answer to DSIGetStatus */
	size_t status_len;
	size_t piece;           /* send replies in pieces of this many bytes; 0: whole */
	unsigned int piece_us;  /* and wait this long between two */
	bool split_walk;        /* cut reply n in two at byte n (modulo its length) */
	unsigned int delay_ms;  /* before each reply */
	unsigned int hold;      /* read this many requests before answering the first */
	bool shuffle;           /* answer those in random order */
	unsigned int unasked;   /* PEER_TICKLE, PEER_ATTENTION before each reply */
	unsigned int mute_id;   /* the request of this id is never answered; 0: none */
	unsigned int tickle_ms; /* between tickles once it is silent; 0: none */
	uint16_t attention;
	struct {
		unsigned int reply; /* which, counted from 1 over all connections; 0: none */
		enum peer_fault kind;
		size_t byte;
	} fault;
	struct {
		uint8_t code;     /* 0: any AFP command behind FPOpenVol */
		unsigned int nth; /* from 1; 0: never */
		int32_t result;
		bool executed; /* do it all the same, and lie */
	} refuse;
	bool early;                    /* answer a DSIWrite before its data have come */
	unsigned int deaf_at, deaf_ms; /* a pause in reading, before request number deaf_at */
	/*
	 * Sees every AFP command first, in the server's thread. true: *out holds the answer (see
	 * peer_reply_set()); false: go on as usual.
	 */
	bool (*answer)(void *user, struct peer *p, const struct peer_request *q,
		       struct peer_reply *out);
	void *user;

	/* What happened */
	struct volume volume;
	unsigned int count[256]; /* AFP commands received, by code */
	size_t data_most;        /* of one DSIWrite */
	unsigned int n_working;  /* of these, behind FPOpenVol */
	unsigned int n_requests; /* that get a reply, all layers */
	unsigned int n_replies, n_connections, n_tickles, n_closes;
	char complaint[160]; /* the first thing the client did wrong; "" */
	struct serve serve;  /* its port */

	/* Its own */
	int conn;
	bool opened, other_open, ended, silent;
	uint32_t random;
	size_t rx_at, rx_end;
	uint8_t rx[65536];
	size_t n_held;
	struct peer_reply *held;
};

/* With a quantum of 1 MiB and an empty volume "Fake". Aborts the test program on failure. */
struct peer *peer_new(void);
void peer_start(struct peer *p);
/* Ends the connection, if there is one, and the thread. May be called twice. */
void peer_stop(struct peer *p);
void peer_free(struct peer *p); /* stops it, too */

/* Makes an answer; payload NULL: zeros. */
void peer_reply_set(struct peer_reply *out, int32_t result, const void *payload, size_t len);

/* Notes what the client did wrong. */
void peer_complain(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Executes an AFP command on the volume (answer.c). */
void peer_execute(struct peer *p, const struct peer_request *q, struct peer_reply *out);

#endif
