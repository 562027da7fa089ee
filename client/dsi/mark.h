/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_MARK_H
#define DSI_MARK_H

/*
 * What another process needs to know of sessions in order to end them when the process that had
 * them has died. Both share their descriptors (CLONE_FILES), so that the connections stay, and a
 * table, which has a mark for each descriptor.
 *
 * A request may have been sent partly. How much of it went is asked of TCP when it is needed: a
 * process can be killed between a system call and the note of it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dsi_mark {
	atomic_bool is_open; /* the server has a session, which was not ended */
	uint64_t before;     /* bytes that TCP counts as sent before the first of the session */
	/* Of the message sent last, as positions in the stream: where it begins, where its data,
	 * where it ends. */
	uint64_t begin, data, end;
};

struct dsi_marks {
	size_t n;       /* marks */
	atomic_int top; /* no session has a descriptor above */
	struct dsi_mark mark[];
};

/* In memory that is shared with processes forked later, for as many descriptors as the process may
 * have. NULL: no memory. */
struct dsi_marks *dsi_marks_new(void);
/* NULL is allowed. */
void dsi_marks_free(struct dsi_marks *m);

/*
 * For the other process, when the one that had the sessions has died: completes what it sent
 * partly, if that was data, with zeros, sends DSICloseSession, and waits until the server has
 * closed, at most wait_ns. How many sessions were open; *ended: of them, those that were ended.
 */
unsigned int dsi_marks_end(struct dsi_marks *m, uint64_t wait_ns, unsigned int *ended);

/* For sessions. The mark of a descriptor that is connected; NULL: there is none. */
struct dsi_mark *dsi_mark_of(struct dsi_marks *m, int fd);

/* Before the first byte of a message of head_len + data_len bytes is sent. NULL is allowed. */
static inline void dsi_mark_message(struct dsi_mark *k, size_t head_len, size_t data_len)
{
	if (!k)
		return;
	/* in this order begin is where the stream ends until all of it is noted */
	k->begin = k->end;
	atomic_signal_fence(memory_order_seq_cst);
	k->data = k->begin + head_len;
	k->end = k->data + data_len;
}

/* Nothing of that message was taken. */
static inline void dsi_mark_none(struct dsi_mark *k)
{
	if (k)
		k->end = k->begin;
}

static inline void dsi_mark_set(struct dsi_mark *k, bool is_open)
{
	if (k)
		atomic_store(&k->is_open, is_open);
}

#endif
