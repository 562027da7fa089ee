/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_STORE_PRIV_H
#define STORE_STORE_PRIV_H

/* Shared by the kinds of store. Only for client/store; others use store.h. */

#include "afp/afp.h"
#include "store/kinds.h"
#include "store/store.h"

/* Operations that are answered and wait to be reaped; linked by store_op.next. */
struct store_queue {
	struct store_op *head, **tail;
};

static inline void store_queue_init(struct store_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void store_queue_put(struct store_queue *q, struct store_op *op)
{
	op->next = NULL;
	*q->tail = op;
	q->tail = &op->next;
}

/* NULL: none waits. */
static inline struct store_op *store_queue_take(struct store_queue *q)
{
	struct store_op *op = q->head;

	if (!op)
		return NULL;
	q->head = op->next;
	if (!q->head)
		q->tail = &q->head;
	return op;
}

/* result, code and why in one. */
static inline void store_answer(struct store_op *op, enum store_result result, int32_t code,
				const char *why)
{
	op->result = result;
	op->code = code;
	op->why = result == STORE_OK ? NULL : why;
}

/* op's answer is an errno; 0: it was done. */
void store_answer_errno(struct store_op *op, int code);

/* One AFP command in flight. */
struct store_slot {
	struct afp_op op;
	struct store_slot *next;
};

/* A session beside that of the store: login.c. */
struct store_login;

struct store_afp {
	struct store s;
	struct afp *session;
	struct afp own;            /* the session, if it is the store's */
	struct afp volume[2];      /* views of the session: only for encoding */
	const char *machine;       /* the server's, if the session is the store's; borrowed */
	struct store_login *login; /* owned; NULL: LOGIN and LOGOUT cannot be done */
	bool narrow;               /* 32-bit commands only */
	bool legacy;               /* lists as netatalk's tools */
	unsigned int window;
	struct store_queue answered; /* without asking the server */
	struct store_slot *free;
	struct store_slot slot[];
};

/* Where offset + length of a command must end. afpd takes 32-bit offsets as signed. */
#define STORE_AFP_NARROW_END ((uint64_t)INT32_MAX)
#define STORE_AFP_WIDE_END   ((uint64_t)INT64_MAX)

/* What cannot be sent as it is gets its answer here: true. Sets command and what in any case. */
bool store_afp_refuse(const struct store_afp *a, struct store_op *op);
/* false: it cannot be, and has its answer. */
bool store_afp_encode(const struct store_afp *a, struct afp_op *out, struct store_op *op);
/* What the server answered, in op's words. */
void store_afp_answer(const struct store_afp *a, struct store_op *op, const struct afp_op *in);

/*
 * LOGIN and LOGOUT of an AFP store. store_login_new: NULL without memory; how as
 * store_afp_begin.logins says. submit: begins op, which is answered by an advance, or at once.
 * wait: changes what the store waits for, to that of a login under way, whose the events of the
 * next advance are then. finish: begins the end, which advance goes on with until is_finished. All
 * allow NULL but new and submit.
 */
struct store_login *store_login_new(const struct store_afp_begin *how);
void store_login_submit(struct store_afp *a, struct store_op *op);
void store_login_advance(struct store_afp *a, short events);
void store_login_wait(const struct store_afp *a, struct io_wait *w);
bool store_login_is_under_way(const struct store_afp *a);
void store_login_finish(struct store_login *l);
bool store_login_is_finished(const struct store_login *l);
void store_login_free(struct store_login *l);

/*
 * A kind of store that a place names; kinds.h has the table. where: what the user wrote, behind
 * the prefix.
 */
struct store_kind {
	const char *prefix; /* by which it is chosen, "toy:"; "": it is the kind of all others */
	/* Begins one. direct: past the page cache, if there is one. 0 or a negative errno with a
	 * text. */
	int (*open)(struct store **out, const char *where, bool direct, struct err *e);
	/* Makes the place if it is not there; NULL: it always is. */
	int (*make)(const char *where, struct err *e);
	/* As store_place_login(); NULL: nobody logs in, and any place is taken. */
	int (*login)(struct store_place_login *out, const char *where, struct err *e);
	bool never_waits; /* its stores do not block (struct store) */
	bool low_ports;   /* store_place_low_ports(), for root */
	/* A place as a line of usage has it, for commands that work on files; NULL: it has none. */
	const char *usage;
};

#define X(name, ...) extern const struct store_kind store_##name##_kind;
STORE_KINDS(X)
#undef X

/* Those of store_keep_password(), "" before. */
const char *store_user(void);
const char *store_password(void);
/* Advances s until it is open. 0; a negative errno with a text, and s is closed. */
int store_await_open(struct store *s, struct err *e);

/* wait, advance and work of a store whose ops are answered when they are submitted. */
void store_never_wait(struct store *s, struct io_wait *w);
int store_nothing_to_advance(struct store *s, short events, struct err *e);
int store_only_sleep(struct store *s, uint64_t ns, struct err *e);

extern const struct store_type store_afp_type;
int store_afp_submit(struct store *s, struct store_op *op, struct err *e);
struct store_op *store_afp_take(struct store *s);
void store_afp_wait(struct store *s, struct io_wait *w);
int store_afp_advance(struct store *s, short events, struct err *e);
int store_afp_work(struct store *s, uint64_t ns, struct err *e);

/* What v is called: by a store's table of its calls, by verb, else (NULL) as store.h does. */
const char *store_call_name(const char *const *calls, enum store_verb v);
/* "pread": the system calls that carry out verbs in a local directory. */
extern const char *const store_posix_what[N_STORE_VERBS];

#define STORE_POSIX_NO_COPY "a local directory has no server that copies"
#define STORE_ONLY_AFP      "only AFP servers have that"
#define STORE_NO_CALLS      "a directory has files, and no calls"

#endif
