/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_TALLY_H
#define REF_TALLY_H

/*
 * The truth that a reference server keeps about itself: each of its calls, written down where it
 * makes it, under the account that the rules give it. Lives in shared memory, so that the test
 * reads what the server wrote. Made without a look at the programs that are judged by it: the
 * client's bytes are followed one by one.
 */

#include "bpf/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REF_N_ROLES   2 /* AFS_ROLE_SERVER, AFS_ROLE_BACKEND */
#define REF_N_RESULTS 512
#define REF_N_QUEUED  2048

struct ref_cell {
	uint64_t calls, errors, bytes;
};

struct ref_account {
	uint64_t begun, answered, errors, bytes_in, bytes_out;
};

struct ref_result {
	uint32_t account;
	int32_t code;
	uint64_t n;
};

/* A plain sum: two of them can be subtracted. */
struct ref_tally {
	struct ref_cell cell[REF_N_ROLES][AFS_N_ACCOUNTS][AFS_N_CLASSES][AFS_N_OBJECTS];
	struct ref_account account[AFS_N_ACCOUNTS];
	uint64_t n_results;
	struct ref_result result[REF_N_RESULTS];
};

/* The client's connection as the rules see it, and what is in service. In shared memory, too. */
struct ref_stream {
	struct ref_tally *tally;
	uint8_t head[17];
	uint32_t have;
	uint64_t body; /* bytes to the end of the frame */
	uint32_t first, n;
	struct {
		uint32_t account, bytes;
		bool mute; /* will not be answered */
	} queue[REF_N_QUEUED];
	uint32_t account; /* in service; AFS_ACCOUNT_BETWEEN when nothing is */
	bool blocked;     /* the last call on the connection was a write that found no room */
	bool reads;       /* the last call was a read of the client's bytes */
};

/* Who makes a call. One for each thread. */
struct ref_worker {
	struct ref_stream *stream;
	struct ref_tally *tally;
	enum afs_role role;
	uint32_t account; /* of a thread that does not serve the connection */
	bool serves;
};

void ref_stream_init(struct ref_stream *s, struct ref_tally *tally);

/* A read moved these bytes. Before the read itself is counted: it belongs to what it begins. */
void ref_stream_in(struct ref_stream *s, const uint8_t *buf, size_t len);

/* A call took so many bytes out of the middle of a frame. */
void ref_stream_skip(struct ref_stream *s, size_t len);

/* The oldest request was answered; after the write that did it was counted. */
void ref_stream_answered(struct ref_stream *s, int32_t result, uint32_t len);

/* The oldest but those before it will not be answered: it ends when one after it is. */
void ref_stream_mute(struct ref_stream *s);

/* A call returned r (negative: failed). Returns r. */
long ref_count(struct ref_worker *w, enum afs_class class, enum afs_object object, long r);

/* Earlier is taken from later. */
void ref_tally_subtract(struct ref_tally *later, const struct ref_tally *earlier);

/* All calls of an account, waits apart. */
uint64_t ref_tally_calls(const struct ref_tally *t, enum afs_role role, unsigned int account);

#endif
