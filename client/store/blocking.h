/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_BLOCKING_H
#define STORE_BLOCKING_H

/*
 * The head of a store whose operations can only be waited for. Only for client/store. An operation
 * is carried out when its caller waits for it (store_reap), or, for a caller that never does, by a
 * thread of the store. A kind of store brings what carries it out, and how it is opened and closed.
 */

#include "store/store_priv.h"

struct blocking_pool;

struct blocking {
	struct store s;
	const char *const *what; /* the name of each verb here: "pread" */
	/* Carries op out in this thread, and waits for it: result and times. One thread at a time.
	 */
	void (*carry_out)(struct blocking *b, struct store_op *op);
	struct store_queue waiting, answered;
	struct blocking_pool *pool; /* NULL: the caller has always waited until now */
};

#define BLOCKING_CHUNK (1u << 20) /* as in afp_speedtest's local mode */

/* The type of such a store: close() begins with blocking_fini(). */
#define BLOCKING_TYPE(name, close)                                                                 \
	{                                                                                          \
		name, blocking_submit, blocking_take, blocking_wait, blocking_advance,             \
		    blocking_work, blocking_finish, close                                          \
	}
int blocking_submit(struct store *s, struct store_op *op, struct err *e);
struct store_op *blocking_take(struct store *s);
void blocking_wait(struct store *s, struct io_wait *w);
int blocking_advance(struct store *s, short events, struct err *e);
int blocking_work(struct store *s, uint64_t ns, struct err *e);
void blocking_finish(struct store *s);

/* b is all 0 before. It is open then, without limits, and its directories are all 0. */
void blocking_init(struct blocking *b, const struct store_type *type, const char *const *what,
		   void (*carry_out)(struct blocking *b, struct store_op *op));

/* Waits for the operation under way; those after it are not carried out. */
void blocking_fini(struct blocking *b);

#endif
