/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections, each with its requests under way in a ring. */
#include "trace/operations.h"

#include "trace/operation.h"

#include <stdlib.h>
#include <string.h>

/* Lists of connections: a power of two. */
#define BUCKET_BITS 10
#define N_BUCKETS   (1u << BUCKET_BITS)

/* A connection that has ended is kept so long: some of its records may be on their way. */
#define AFTER_NS 10000000000u

/* Requests of a connection that are not answered yet; the oldest of more are forgotten. */
#define FIRST_ROOM   16u
#define MOST_ROOM    4096u

#define DSI_HEAD_LEN 16
#define FP_READ      27
#define FP_READ_EXT  60

/* A request that was not answered yet. */
struct under_way {
	struct afs_record_operations r;
	bool replied; /* its reply was captured */
};

struct operations_of {
	struct operations_of *next;
	__u32 session, user;
	__u16 port;
	bool found;     /* it is older than the watch */
	bool lost;      /* something of it, since its last record */
	bool known;     /* seq is */
	__u32 seq;      /* of its next request */
	__u64 ended_ns; /* 0: it has not */
	/* Of the newest request, while not all of it has come. */
	bool partial;
	__u32 have, len;
	__u8 *bytes; /* AFS_COMMAND_LEN; NULL: not used yet */
	/* In the order in which they came; room is a power of two. */
	struct under_way *ring;
	__u32 first, n, room;
};

struct operations {
	struct names *names;
	struct operations_of *bucket[N_BUCKETS];
};

struct operations *operations_open(struct names *names)
{
	struct operations *o = calloc(1, sizeof(*o));

	if (o)
		o->names = names;
	return o;
}

static void of_free(struct operations_of *c)
{
	free(c->bytes);
	free(c->ring);
	free(c);
}

void operations_close(struct operations *o)
{
	struct operations_of *c;

	for (size_t i = 0; o && i < N_BUCKETS; i++)
		while ((c = o->bucket[i])) {
			o->bucket[i] = c->next;
			of_free(c);
		}
	free(o);
}

/* ---- connections ---- */

/* Removes those of a list that have ended long ago. */
static void of_sweep(struct operations_of **at, __u64 now)
{
	struct operations_of *c;

	while ((c = *at)) {
		if (!c->ended_ns || c->ended_ns + AFTER_NS > now) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		of_free(c);
	}
}

/* NULL: there is none, and it is not to be made, or there is no memory. */
static struct operations_of *of_find(struct operations *o, __u32 session, __u16 port, __u64 now,
				     bool make)
{
	const __u32 hash = (session ^ (__u32)port << 16) * 0x9e3779b1u;
	struct operations_of **list = &o->bucket[hash >> (32 - BUCKET_BITS)], *c = *list;

	while (c && (c->session != session || c->port != port))
		c = c->next;
	if (c || !make)
		return c;
	of_sweep(list, now);
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->session = session;
	c->port = port;
	c->next = *list;
	*list = c;
	return c;
}

void operations_session(struct operations *o, const struct afs_record_sessions *s)
{
	struct operations_of *c = of_find(o, s->session, s->port, s->t, false);

	if (c && s->event == AFS_EVENT_END)
		c->ended_ns = s->t;
	if (!c || s->event != AFS_EVENT_BEGIN || !c->ended_ns)
		return;
	/* the same numbers again */
	c->found = c->lost = c->known = c->partial = false;
	c->ended_ns = c->user = c->n = 0;
}

/* ---- requests under way ---- */

static struct under_way *of_at(struct operations_of *c, __u32 i)
{
	return &c->ring[(c->first + i) & (c->room - 1)];
}

static void of_drop(struct operations_of *c, __u32 n)
{
	c->first += n;
	c->n -= n;
	if (!c->n)
		c->partial = false;
}

static bool of_grow(struct operations_of *c)
{
	const __u32 room = c->room ? 2 * c->room : FIRST_ROOM;
	struct under_way *ring = room > MOST_ROOM ? NULL : calloc(room, sizeof(*ring));

	if (!ring)
		return false;
	for (__u32 i = 0; i < c->n; i++)
		ring[i] = *of_at(c, i);
	free(c->ring);
	c->ring = ring;
	c->room = room;
	c->first = 0;
	return true;
}

/* NULL: no memory. */
static struct under_way *of_add(struct operations_of *c)
{
	struct under_way *u;

	if (c->n == c->room && !of_grow(c)) {
		if (!c->n)
			return NULL;
		of_drop(c, 1);
		c->lost = true;
	}
	u = of_at(c, c->n++);
	*u = (struct under_way) { .r.size = AFS_SIZE_UNKNOWN };
	return u;
}

/* Its place in the ring; c->n: it is not there. */
static __u32 of_seek(struct operations_of *c, __u16 id)
{
	__u32 i = 0;

	while (i < c->n && of_at(c, i)->r.dsi_id != id)
		i++;
	return i;
}

/* What has come of the newest request is all of it. */
static void of_whole(struct operations *o, struct operations_of *c)
{
	if (!c->partial)
		return;
	c->partial = false;
	operation_request(&of_at(c, c->n - 1)->r, o->names, c->bytes, c->have, c->len);
}

/* ---- what is captured ---- */

/* Bytes of the newest request: decoded at once if that is all, else kept. */
static void of_take(struct operations *o, struct operations_of *c, struct under_way *u,
		    const struct afs_captured *captured)
{
	const struct afs_captured_head *h = &captured->head;
	const __u32 wanted = operation_wants(u->r.command, h->len);

	if (!h->at && h->n >= wanted) {
		c->partial = false;
		operation_request(&u->r, o->names, captured->bytes, h->n, h->len);
		return;
	}
	if (!c->bytes)
		c->bytes = malloc(AFS_COMMAND_LEN);
	if (!c->bytes) {
		u->r.marks |= AFS_MARK_ARGUMENTS;
		return;
	}
	if (!c->partial) {
		c->have = 0;
		c->len = h->len;
		c->partial = true;
	}
	/* a gap stays one: what comes behind it is not taken */
	if (h->at != c->have || h->n > AFS_COMMAND_LEN - c->have)
		return;
	memcpy(c->bytes + c->have, captured->bytes, h->n);
	c->have += h->n;
	if (c->have >= wanted)
		of_whole(o, c);
}

static void of_begin(struct operations *o, struct operations_of *c,
		     const struct afs_captured *captured)
{
	const struct afs_captured_head *h = &captured->head;
	struct under_way *u;

	of_whole(o, c);
	/* of a connection that is older than the watch the first number is anything */
	c->lost |= c->known ? h->seq != c->seq : !h->found && h->seq;
	c->known = true;
	c->seq = h->seq + 1;
	c->found = h->found;
	u = of_add(c);
	if (!u)
		return;
	u->r.command = h->command;
	u->r.dsi_id = h->dsi_id;
	of_take(o, c, u, captured);
}

static void of_more(struct operations *o, struct operations_of *c,
		    const struct afs_captured *captured)
{
	struct under_way *u = c->n ? of_at(c, c->n - 1) : NULL;

	if (u && c->partial && u->r.dsi_id == captured->head.dsi_id)
		of_take(o, c, u, captured);
}

static void of_reply(struct operations *o, struct operations_of *c,
		     const struct afs_captured *captured)
{
	const struct afs_captured_head *h = &captured->head;
	const __u32 i = of_seek(c, h->dsi_id);
	struct under_way *u;

	if (i == c->n || h->at)
		return;
	u = of_at(c, i);
	if (h->n < operation_reply_wants(u->r.command, h->len))
		return;
	if (i + 1 == c->n)
		of_whole(o, c);
	operation_reply(&u->r, o->names, captured->bytes, h->n);
	u->replied = true;
}

void operations_captured(struct operations *o, const struct afs_captured *captured)
{
	const struct afs_captured_head *h = &captured->head;
	struct operations_of *c = of_find(o, h->session, h->port, h->timestamp, true);

	if (!c || h->n > AFS_COMMAND_LEN)
		return;
	c->user = h->user;
	switch (h->part) {
	case AFS_CAPTURED_BEGIN:
		of_begin(o, c, captured);
		break;
	case AFS_CAPTURED_MORE:
		of_more(o, c, captured);
		break;
	default:
		of_reply(o, c, captured);
		break;
	}
}

/* ---- answers ---- */

/* What is known of the request, whose record was made: those before it have none. */
static void of_answer(struct operations *o, struct operations_of *c, __u16 id,
		      struct under_way *out)
{
	const __u32 i = of_seek(c, id);

	if (i < c->n) {
		if (i + 1 == c->n)
			of_whole(o, c);
		*out = *of_at(c, i);
		c->lost |= i > 0;
		of_drop(c, i + 1);
	}
	out->r.user = c->user;
	out->r.marks |= (c->found ? AFS_MARK_BEFORE : 0) | (c->lost ? AFS_MARK_LOST : 0);
	c->lost = false;
}

void operations_answered(struct operations *o, const struct afs_record_requests *r,
			 struct afs_record_operations *out)
{
	struct operations_of *c = of_find(o, r->session, r->port, r->timestamp, false);
	struct under_way u = { .r = { .marks = AFS_MARK_ARGUMENTS, .size = AFS_SIZE_UNKNOWN } };

	if (c)
		of_answer(o, c, r->dsi_id, &u);
	*out = u.r;
	out->timestamp = r->timestamp;
	out->t = r->t;
	out->time_ns = r->time_ns;
	out->session = r->session;
	out->port = r->port;
	out->dsi_id = r->dsi_id;
	out->result = r->result;
	if (!out->command || r->command != AFS_ACCOUNT_UNNAMED)
		out->command = r->command;
	if (!out->fork)
		out->fork = r->fork;
	if (out->command == FP_READ || out->command == FP_READ_EXT)
		out->actual = r->bytes_out > DSI_HEAD_LEN ? r->bytes_out - DSI_HEAD_LEN : 0;
	if (!r->result && !u.replied && operation_expects(out->command))
		out->marks |= AFS_MARK_REPLY;
}
