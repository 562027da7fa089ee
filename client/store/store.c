/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all stores have in common: counting what is lent. */
#include "store/store_priv.h"

#include "base/clock.h"
#include "base/kernel.h"
#include "run/tcp.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_NS  250000000u
#define NS_PER_US 1000u
#define STOP_NS   100000000u /* how soon a stop is noticed */

static const char *const verb_names[N_STORE_VERBS] = {
#define X(name, word) [STORE_##name] = word,
	STORE_VERBS(X)
#undef X
};

const char *store_call_name(const char *const *calls, enum store_verb v)
{
	return calls[v] ? calls[v] : verb_names[v];
}

int store_submit(struct store *s, struct store_op *op, struct err *e)
{
	int r;

	/* The result if it is never answered. */
	op->result = STORE_FAILED;
	op->code = 0;
	op->why = "not answered";
	op->done = 0;
	op->keeps_backups = op->tells_backups = false;
	op->parts = NULL;
	op->n_parts = 0;
	r = s->type->submit(s, op, e);
	if (!r)
		s->in_flight++;
	return r;
}

struct store_op *store_take(struct store *s)
{
	struct store_op *op = s->in_flight ? s->type->take(s) : NULL;

	s->in_flight -= op != NULL;
	return op;
}

void store_wait(struct store *s, struct io_wait *w)
{
	s->type->wait(s, w);
}

void store_ends(struct store *s, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	socklen_t len = sizeof(*local);
	struct io_wait w;

	memset(local, 0, sizeof(*local));
	memset(peer, 0, sizeof(*peer));
	store_wait(s, &w);
	getsockname(w.fd, (struct sockaddr *)local, &len);
	len = sizeof(*peer);
	getpeername(w.fd, (struct sockaddr *)peer, &len);
}

bool store_rtt(struct store *s, uint64_t *ns)
{
	struct run_tcp tcp = { 0 };
	struct tcp_info info;
	socklen_t len = sizeof(info);
	struct io_wait w;

	store_wait(s, &w);
	if (getsockopt(w.fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	tcp_info_take(&tcp, &info, len);
	*ns = tcp.value[TCP_MIN_RTT] * NS_PER_US;
	return tcp.known[TCP_MIN_RTT];
}

int store_advance(struct store *s, short events, struct err *e)
{
	return s->type->advance(s, events, e);
}

int store_reap(struct store *s, struct store_op **out, struct err *e)
{
	int r = 0;

	if (!s->in_flight)
		return -ENOENT;
	while (!(*out = store_take(s)) && !r)
		r = s->type->work(s, SLICE_NS, e);
	return *out ? 0 : r;
}

int store_call(struct store *s, struct store_op *op, struct err *e)
{
	struct store_op *back;
	int r = store_submit(s, op, e);

	if (r)
		return r;
	do
		r = store_reap(s, &back, e);
	while (r == -EINTR); /* the op may be on a stack: it must not stay lent */
	if (r)
		s->in_flight = 0;
	return r;
}

int store_idle(struct store *s, uint64_t ns, const volatile sig_atomic_t *stop, struct err *e)
{
	uint64_t end_ns = clock_now_ns() + ns, now_ns, left_ns;
	struct io_wait w;
	int r = 0;

	for (now_ns = end_ns - ns; !r && now_ns < end_ns; now_ns = clock_now_ns()) {
		if (stop && *stop)
			return err_set(e, -EINTR, "interrupted");
		left_ns = end_ns - now_ns < STOP_NS ? end_ns - now_ns : STOP_NS;
		store_wait(s, &w);
		r = store_advance(s, io_wait(&w, left_ns), e);
	}
	return r;
}

void store_drain(struct store *s)
{
	struct store_op *op;
	int r;

	do
		r = store_reap(s, &op, NULL);
	while (!r || r == -EINTR);
	s->in_flight = 0; /* the connection is lost: they will not be used any more */
}

void store_finish(struct store *s)
{
	if (s->state >= STORE_ENDING)
		return;
	s->state = STORE_ENDING;
	s->type->finish(s);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_drain(s);
	store_finish(s);
	while (s->state != STORE_ENDED)
		s->type->work(s, SLICE_NS, NULL);
	s->type->close(s);
}

int store_list(struct store *s, struct store_dir dir,
	       void (*found)(struct store_op *op, const char *name), void *user,
	       struct store_op *last, struct err *e)
{
	void *buf = malloc(STORE_LIST_LEN);
	uint64_t n = 0;
	int r;

	if (!buf)
		return err_set(e, -ENOMEM, "out of memory");
	do {
		*last = (struct store_op) { .verb = STORE_LIST,
					    .dir = dir,
					    .offset = n,
					    .buf = buf,
					    .len = STORE_LIST_LEN,
					    .found = found,
					    .user = user };
		r = store_call(s, last, e);
		n += last->done;
	} while (!r && last->result == STORE_OK);
	free(buf);
	if (r || last->result == STORE_NONE)
		return r;
	return err_set(e, STORE_REFUSED, "%s: %s (%d)", last->what, last->why, last->code);
}

static enum store_result store_result_of(int code)
{
	switch (code) {
	case 0:
		return STORE_OK;
	case ENOENT:
	case ENODATA: /* no such attribute */
	case ENOTDIR: /* a file where a directory was asked for */
		return STORE_NONE;
	case EEXIST:
		return STORE_EXISTS;
	case EACCES:
	case ETXTBSY: /* open elsewhere, as SMB says it */
	case EPERM:
	case EROFS:
		return STORE_DENIED;
	case EAGAIN:  /* of F_SETLK; Linux has no EACCES for it */
	case EDEADLK: /* SMB: a READ or WRITE of what is locked */
		return STORE_LOCKED;
	case ENOSPC:
		return STORE_FULL;
	case EDQUOT:
		return STORE_QUOTA;
	case ENOTEMPTY:
		return STORE_NOT_EMPTY;
	case EINVAL:
	case EFBIG:
	case EOVERFLOW:
	case ENAMETOOLONG:
	case ERANGE:
	case E2BIG:
		return STORE_INVALID;
	case EOPNOTSUPP:
	case ENOSYS:
		return STORE_UNKNOWN;
	default:
		return STORE_FAILED;
	}
}

void store_answer_errno(struct store_op *op, int code)
{
	store_answer(op, store_result_of(code), code, kernel_why(code));
}

void store_never_wait(struct store *s, struct io_wait *w)
{
	(void)s;
	*w = (struct io_wait) { -1, 0, UINT64_MAX };
}

int store_nothing_to_advance(struct store *s, short events, struct err *e)
{
	(void)s, (void)events, (void)e;
	return 0;
}

int store_only_sleep(struct store *s, uint64_t ns, struct err *e)
{
	struct io_wait w;

	(void)e;
	store_never_wait(s, &w);
	io_wait(&w, ns);
	return 0;
}

const char *store_verb_name(enum store_verb v)
{
	return verb_names[v];
}
