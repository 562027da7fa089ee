/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLOW_SLOW_KEEP_H
#define SLOW_SLOW_KEEP_H

/*
 * What afpscope slow remembers between two records: of each session what it was told of the
 * request in service; and how many lines it has printed in this second. The memory is bounded.
 */

#include "bpf/paths.h"
#include "report/slow.h"

/* Of one session. */
struct slow_kept {
	uint32_t session;         /* its process; 0: none */
	uint16_t dsi_id, command; /* of the request that "calls" is of */
	struct slow_calls calls;
	struct afs_named named; /* the name that came last; timestamp 0: none */
};

/* Of a request that was shown while it ran. */
struct slow_told {
	uint32_t session; /* 0: none */
	uint16_t dsi_id;
	uint64_t t, ns; /* when it began, and how old it was */
};

struct slow_keep;

struct slow_keep *slow_keep_new(void); /* NULL: no memory */
void slow_keep_free(struct slow_keep *k);

/*
 * The entry of a session. It may take the place of another one, whose process has the same number
 * modulo their number: of that one's request the name and the calls are not known then.
 */
struct slow_kept *slow_keep_of(struct slow_keep *k, uint32_t session);

/* A call or a wait of the session's process for a request: it is kept if it is among the longest.
 */
void slow_keep_call(struct slow_keep *k, uint32_t session, uint16_t dsi_id, uint16_t command,
		    const struct slow_call *call);

/* NULL: none is known of this request. */
const struct slow_calls *slow_keep_calls(struct slow_keep *k, const struct afs_record_requests *r);

/* NULL: none is known of this request. */
const struct afs_named *slow_keep_named(struct slow_keep *k, const struct afs_record_requests *r);

/*
 * Whether to show a request that has not ended, and will be remembered as shown then: at first, and
 * each time when it has become twice as old. A session may have several. slow_keep_told_of: what is
 * remembered of one with its session and id; it may take the place of another.
 */
struct slow_told *slow_keep_told_of(struct slow_keep *k, const struct afs_record_requests *r);
bool slow_keep_due(struct slow_keep *k, const struct afs_record_requests *r);
void slow_keep_told(struct slow_keep *k, const struct afs_record_requests *r);

/* Lines in a second. */
struct slow_rate {
	unsigned int most; /* 0: no limit */
	unsigned int n;
	uint64_t second, left_out, left_out_all;
};

/* At now_ns: how many were left out in the second that is over, to be told; 0: none, or it goes on.
 */
uint64_t slow_rate_turn(struct slow_rate *r, uint64_t now_ns);

/* Whether one more line may be printed in this second. */
bool slow_rate_take(struct slow_rate *r);

#endif
