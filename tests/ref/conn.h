/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_CONN_H
#define REF_CONN_H

/* The reference server's end of the client's connection: reading and replying as planned. */

#include "ref/server.h"

#define REF_AHEAD    8192
#define REF_N_BATCH  16
#define REF_OUT_ROOM (REF_REPLY_MAX + 4096)

struct ref_conn {
	int fd, pipe[2];
	struct ref_plan plan;
	const struct ref_files *f;
	struct ref_shared *s;
	uint64_t random;
	uint64_t turn; /* of reads */
	size_t from, to;
	uint8_t in[4 * REF_AHEAD];
	/* Replies that are not sent yet. */
	size_t n, len;
	struct {
		size_t end;
		int32_t result;
		uint32_t len;
	} reply[REF_N_BATCH];
	uint8_t out[REF_OUT_ROOM];
};

void ref_conn_init(struct ref_conn *c, int fd, const struct ref_plan *plan,
		   const struct ref_files *f, struct ref_shared *s);

/* One read of the connection, of which "want" bytes are missing. */
void ref_conn_fill(struct ref_conn *c, struct ref_worker *w, size_t want);

/* Takes at most so many bytes of a frame's data into the file. Returns how many. */
size_t ref_conn_splice(struct ref_conn *c, struct ref_worker *w, size_t most);

/* A reply (flags 1), or a message of the server's own (flags 0), behind what waits to be sent. */
void ref_conn_put(struct ref_conn *c, uint8_t flags, uint8_t command, uint16_t id, int32_t result,
		  uint32_t len);

/* Sends what was put. */
void ref_conn_send(struct ref_conn *c, struct ref_worker *w);

/* So many bytes that are no frame. */
void ref_conn_babble(struct ref_conn *c, struct ref_worker *w, uint32_t len);

#endif
