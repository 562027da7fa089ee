/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_DRIVER_H
#define REF_DRIVER_H

/*
 * The client of a reference server: sends a pseudo-random mix of requests, which is the same for
 * the same seed, and checks every reply.
 */

#include "ref/server.h"

struct ref_mix {
	uint64_t seed;
	uint32_t n;          /* requests */
	uint32_t batch_most; /* that are sent without waiting for a reply, up to REF_BATCH_MAX */
	uint32_t bulk;       /* of 1000 requests are DSIWrite with data */
	uint32_t bulk_most;  /* bytes, up to REF_BULK_MAX */
	uint32_t commands;   /* AFP commands below this number; 0: all */
	bool pieces;         /* sends in odd pieces */
	bool slow;           /* lets replies wait */
	bool bare;           /* DSICommand without any data, too */
};

#define REF_BATCH_MAX 200
#define REF_BULK_MAX  (100 * 1024)

struct ref_driver {
	int fd;
	const struct ref_plan *plan;
	struct ref_shared *s;
	uint64_t random;
	uint16_t id;
	uint8_t *out;
	size_t out_len;
	/* Answers that are owed. */
	size_t first, n;
	struct {
		uint16_t id;
		int32_t result;
		uint32_t len;
	} owed[512];
	/* Of the frame that is coming in. */
	uint8_t head[16];
	uint32_t have, body;
	uint32_t skip;       /* bytes to come that are in no frame */
	uint64_t n_answered; /* in all */
	uint64_t n_told;     /* messages of the server's own */
};

void ref_driver_init(struct ref_driver *d, int fd, const struct ref_plan *plan,
		     struct ref_shared *s);
void ref_driver_fini(struct ref_driver *d);

/* Requests until mix->n are answered. */
void ref_driver_run(struct ref_driver *d, const struct ref_mix *mix);

/* Puts one frame behind what is not sent yet; data: NULL, or what follows the command. */
void ref_driver_put(struct ref_driver *d, uint8_t dsi, int command, const uint8_t *data,
		    uint32_t len);

/* Sends what was put and waits for what is owed. */
void ref_driver_send(struct ref_driver *d, const struct ref_mix *mix);

/* Sends the first bytes of it and waits until the server has read them. */
void ref_driver_send_part(struct ref_driver *d, size_t len);

/* Ends a ref_serve. */
void ref_driver_close(struct ref_driver *d);

#endif
