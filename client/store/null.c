/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores that keep no data, to measure the client alone. For an AFP store this is an AFP store over
 * a loopback connection to a process of ours (null_peer.c); for a POSIX store, one that answers
 * without a system call.
 */
#include "base/clock.h"
#include "base/kernel.h"
#include "store/null_peer.h"
#include "store/store_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 30000
#define BACKLOG    8

/* ---- of an AFP store ---- */

/* The session of such a store, and the process at its other end. */
struct null_afp {
	struct afp afp;
	pid_t peer;
};

static void end_session(struct null_afp *n)
{
	afp_close(&n->afp);
	if (n->peer > 0) {
		kill(n->peer, SIGKILL); /* normally it ends with the connection */
		while (waitpid(n->peer, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(n);
}

static void finish_null(struct store *s)
{
	s->state = STORE_ENDED;
}

static void close_null(struct store *s)
{
	struct afp *session = ((struct store_afp *)s)->session;

	_Static_assert(offsetof(struct null_afp, afp) == 0, "a session is the head of ours");
	free(s);
	end_session((struct null_afp *)session);
}

static const struct store_type null_type = { "null",         store_afp_submit,  store_afp_take,
					     store_afp_wait, store_afp_advance, store_afp_work,
					     finish_null,    close_null };

static int listen_here(struct sockaddr_in *at, struct err *e)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in) { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd >= 0 && !bind(fd, (struct sockaddr *)at, len) && !listen(fd, BACKLOG) &&
	    !getsockname(fd, (struct sockaddr *)at, &len))
		return fd;
	err_set(e, -errno, "cannot listen on 127.0.0.1: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The other end of d, which is connected already; other connections are closed. */
static int accept_ours(int listener, const struct dsi *d)
{
	struct sockaddr_storage local, peer;
	struct sockaddr_in caller;
	const int on = 1;
	socklen_t len;
	int fd;

	dsi_ends(d, &local, &peer);
	for (;;) {
		len = sizeof(caller);
		fd = accept4(listener, (struct sockaddr *)&caller, &len, SOCK_CLOEXEC);
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return -1;
		if (fd >= 0 && caller.sin_port == ((struct sockaddr_in *)&local)->sin_port)
			break;
		if (fd >= 0)
			close(fd);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* Starts a process at the other end of a connection; sets n->peer and n->afp.dsi. */
static int start_peer(struct null_afp *n, const struct store_afp *like, struct err *e)
{
	struct sockaddr_in at;
	char port[8];
	const struct dsi_opts opts = { .host = "127.0.0.1",
				       .port = port,
				       .window = like->window,
				       .timeout_ms = TIMEOUT_MS,
				       .stop = NULL };
	int listener = listen_here(&at, e), fd, r;

	if (listener < 0)
		return e ? e->code : -EIO;
	snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
	r = dsi_connect(&n->afp.dsi, &opts, e);
	fd = r ? -1 : accept_ours(listener, n->afp.dsi);
	if (!r && fd < 0)
		r = err_set(e, -errno, "accept on 127.0.0.1: %s", strerror(errno));
	close(listener);
	if (r)
		return r;
	n->peer = null_peer_start(fd, dsi_quantum(like->session->dsi));
	r = n->peer < 0 ? err_set(e, -errno, "fork: %s", strerror(errno)) : 0;
	close(fd);
	return r ? r : dsi_open(n->afp.dsi, e);
}

static int open_afp(struct store **out, const struct store_afp *like, struct err *e)
{
	/* the chunks are set below */
	const struct store_afp_opts opts = { .legacy = like->narrow,
					     .other = NULL_PEER_VOLUME + 1,
					     .window = like->window };
	struct null_afp *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return err_set(e, -ENOMEM, "out of memory");
	r = start_peer(n, like, e);
	if (!r) {
		n->afp.path_type = like->session->path_type;
		n->afp.version = like->session->version;
		n->afp.level = like->session->level;
		n->afp.volume = NULL_PEER_VOLUME;
		r = store_open_afp(out, &n->afp, &opts, e);
	}
	if (r) {
		end_session(n);
		return r;
	}
	(*out)->type = &null_type;
	(*out)->chunk_read = like->s.chunk_read;
	(*out)->chunk_write = like->s.chunk_write;
	(*out)->near = like->s.near;
	(*out)->discard_from = like->s.discard_from;
	return 0;
}

/* ---- of a POSIX store ---- */

struct null_posix {
	struct store s;
	struct store_queue answered;
};

static int posix_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct null_posix *n = (struct null_posix *)s;

	(void)e;
	op->command = (uint8_t)op->verb;
	op->what = store_call_name(store_posix_what, op->verb);
	op->t.begun_ns = clock_now_ns();
	store_answer(op, STORE_OK, 0, NULL);
	if (op->verb == STORE_PROBE || op->verb == STORE_LIST || op->verb == STORE_GET_XATTR)
		store_answer(op, STORE_NONE, ENOENT, kernel_why(ENOENT));
	else if (op->verb == STORE_COPY)
		store_answer(op, STORE_UNKNOWN, ENOSYS, STORE_POSIX_NO_COPY);
	else if (op->verb == STORE_READ || op->verb == STORE_WRITE)
		op->done = op->len;
	else if (op->verb == STORE_LENGTH || op->verb == STORE_ROOM)
		op->done = INT64_MAX;
	else if (op->verb == STORE_MKDIR || op->verb == STORE_LOOKUP)
		op->made = op->dir;
	else if (op->verb == STORE_OPEN)
		op->opened.id = 0;
	op->t.last_ns = clock_now_ns();
	store_queue_put(&n->answered, op);
	return 0;
}

static struct store_op *posix_take(struct store *s)
{
	return store_queue_take(&((struct null_posix *)s)->answered);
}

static void null_posix_close(struct store *s)
{
	free(s);
}

static const struct store_type null_posix_type = {
	"null",           posix_submit, posix_take,      store_never_wait, store_nothing_to_advance,
	store_only_sleep, finish_null,  null_posix_close
};

static int open_posix(struct store **out, const struct store *like, struct err *e)
{
	struct null_posix *n = calloc(1, sizeof(*n));

	_Static_assert(offsetof(struct null_posix, s) == 0, "a store is the head of its kind");
	if (!n)
		return err_set(e, -ENOMEM, "out of memory");
	n->s = *like;
	n->s.type = &null_posix_type;
	n->s.in_flight = 0;
	store_queue_init(&n->answered);
	*out = &n->s;
	return 0;
}

int store_open_null(struct store **out, const struct store *like, struct err *e)
{
	if (like->type == &store_afp_type)
		return open_afp(out, (const struct store_afp *)like, e);
	return open_posix(out, like, e);
}
