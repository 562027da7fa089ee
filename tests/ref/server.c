/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reference server: requests in order, threads that make noise, threads that take turns. */

#include "ref/server.h"

#include "fake/wire.h"
#include "ref/conn.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct server {
	struct ref_conn conn;
	struct ref_worker first, second, noise[REF_N_NOISE];
	uint64_t served;
	bool started;
};

struct ref_shared *ref_shared_new(void)
{
	struct ref_shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REF_MUST(s != MAP_FAILED);
	ref_stream_init(&s->stream, &s->tally);
	return s;
}

void ref_shared_free(struct ref_shared *s)
{
	munmap(s, sizeof(*s));
}

static void sleep_on(struct ref_worker *w, uint32_t *word, uint32_t old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)
		ref_count(w, AFS_CLASS_WAIT, AFS_OBJECT_NONE,
			  syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0));
}

static void tell(struct ref_worker *w, uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	ref_count(w, AFS_CLASS_WAIT, AFS_OBJECT_NONE,
		  syscall(SYS_futex, word, FUTEX_WAKE, 100, NULL, NULL, 0));
}

static size_t have(const struct ref_conn *c)
{
	return c->to - c->from;
}

static void need(struct ref_conn *c, struct ref_worker *w, size_t len)
{
	while (have(c) < len)
		ref_conn_fill(c, w, len - have(c));
}

/* The rest of a frame, in whatever pieces it comes; a large piece goes to the file. */
static void drain(struct ref_conn *c, struct ref_worker *w, uint32_t len, bool keep)
{
	size_t n;

	while (len) {
		if (keep && c->plan.splices && !have(c)) {
			len -= (uint32_t)ref_conn_splice(c, w, len);
			continue;
		}
		if (!have(c))
			ref_conn_fill(c, w, len);
		n = have(c) < len ? have(c) : len;
		if (keep && n >= 1000)
			ref_count(w, AFS_CLASS_WRITE, AFS_OBJECT_DATA,
				  pwrite(c->f->data, c->in + c->from, n, 0));
		c->from += n;
		len -= (uint32_t)n;
	}
}

static void answer(struct server *v, struct ref_worker *w, const struct wire_head *h, int account)
{
	struct ref_conn *c = &v->conn;
	unsigned int id = h->id;
	uint32_t babble = __atomic_exchange_n(&c->s->babble, 0, __ATOMIC_ACQ_REL);

	if (babble)
		ref_conn_babble(c, w, babble);
	if (c->plan.tells && v->served % 89 == 0 && c->n < REF_N_BATCH)
		ref_conn_put(c, 0, WIRE_ATTENTION, (uint16_t)v->served, 0, 2);
	if (c->plan.tells && v->served % 97 == 0 && !c->n)
		ref_conn_send(c, w);
	if (account < AFS_ACCOUNT_DSI) {
		ref_work(w, c->f, (unsigned int)account, id);
		if (c->plan.mute && (uint32_t)account == c->plan.mute) {
			ref_stream_mute(&c->s->stream);
			return;
		}
		ref_conn_put(c, 1, h->command, h->id, ref_result((unsigned int)account, id),
			     ref_reply_len((unsigned int)account, id, c->plan.most));
	} else {
		ref_conn_put(c, 1, h->command, h->id, 0, account == AFS_ACCOUNT_DSI + 2 ? 0 : 12);
	}
	v->served++;
	/* Several at once: as long as there are more, and room for the longest. */
	if (c->plan.reply == REF_REPLY_BATCH && have(c) >= WIRE_HEAD && c->n < REF_N_BATCH &&
	    c->len + 64 + c->plan.most < REF_OUT_ROOM)
		return;
	ref_conn_send(c, w);
}

/* One frame. */
static void serve_frame(struct server *v, struct ref_worker *w)
{
	struct ref_conn *c = &v->conn;
	struct wire_head h;
	int account;

	if (have(c) < WIRE_HEAD)
		ref_conn_send(c, w);
	need(c, w, WIRE_HEAD);
	h = wire_get(c->in + c->from);
	c->from += WIRE_HEAD;
	if (h.len)
		need(c, w, 1);
	account = AFS_ACCOUNT_DSI + h.command;
	if (h.len && (h.command == WIRE_COMMAND || h.command == WIRE_WRITE))
		account = c->in[c->from];
	drain(c, w, h.len, h.command == WIRE_WRITE);
	if (!h.flags && h.command == WIRE_CLOSE)
		c->s->closed = 1;
	else if (!h.flags && h.command != WIRE_TICKLE)
		answer(v, w, &h, account);
}

static void serve_some(struct server *v, struct ref_worker *w, uint64_t most)
{
	struct ref_conn *c = &v->conn;
	uint64_t end = v->served + most;

	while (!c->s->closed && (v->served < end || have(c))) {
		if (c->plan.tells && v->served % 61 == 60 && !c->n && !have(c)) {
			ref_conn_put(c, 0, WIRE_TICKLE, (uint16_t)v->served, 0, 0);
			ref_conn_send(c, w);
			v->served++;
		}
		serve_frame(v, w);
	}
	ref_conn_send(c, w);
}

/*
 * A turn of one of two threads: serves a while and hands over between two requests. Until the
 * other one reads, this is still the one that serves.
 */
static void take_turn(struct server *v, struct ref_worker *w, uint32_t own)
{
	struct ref_shared *s = v->conn.s;
	uint32_t taken;
	char buf[10];

	w->serves = true;
	serve_frame(v, w);
	tell(w, &s->taken, s->taken + 1);
	serve_some(v, w, 20);
	if (s->closed && !own)
		return;
	taken = s->taken;
	w->serves = false;
	tell(w, &s->baton, !own);
	sleep_on(w, &s->taken, taken);
	for (int i = 0; i < 3; i++)
		REF_MUST(ref_count(w, AFS_CLASS_READ, AFS_OBJECT_META,
				   pread(v->conn.f->meta, buf, sizeof(buf), 0)) == sizeof(buf));
}

static void make_noise(struct ref_worker *w, const struct ref_files *f, int pipe_fd[2], int pair[2])
{
	const struct timespec pause = { .tv_nsec = 300000 };
	char buf[128] = {};

	for (int i = 0; i < 4; i++) {
		ref_count(w, AFS_CLASS_READ, AFS_OBJECT_DATA, pread(f->data, buf, 100, 0));
		ref_count(w, AFS_CLASS_WRITE, AFS_OBJECT_PIPE, write(pipe_fd[1], buf, 20));
		ref_count(w, AFS_CLASS_READ, AFS_OBJECT_PIPE, read(pipe_fd[0], buf, 50));
		ref_count(w, AFS_CLASS_SEND, AFS_OBJECT_SOCKET, send(pair[0], buf, 40, 0));
		ref_count(w, AFS_CLASS_RECV, AFS_OBJECT_SOCKET, recv(pair[1], buf, 50, 0));
	}
	ref_count(w, AFS_CLASS_WAIT, AFS_OBJECT_NONE,
		  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL));
}

struct noise {
	struct ref_worker *worker;
	const struct ref_files *f;
	struct ref_shared *s;
};

static void *noise_live(void *arg)
{
	struct noise n = *(struct noise *)arg;
	int pipe_fd[2], pair[2];

	free(arg);
	REF_MUST(!pipe(pipe_fd) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (;;) {
		__atomic_fetch_add(&n.s->parked, 1, __ATOMIC_RELEASE);
		sleep_on(n.worker, &n.s->noise, 0);
		__atomic_fetch_sub(&n.s->parked, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&n.s->noise, __ATOMIC_ACQUIRE))
			make_noise(n.worker, n.f, pipe_fd, pair);
	}
	return NULL;
}

static void thread_start(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	REF_MUST(!pthread_create(&thread, NULL, fn, arg));
	REF_MUST(!pthread_detach(thread));
}

static void *second_live(void *arg)
{
	struct server *v = arg;
	struct ref_shared *s = v->conn.s;

	__atomic_fetch_add(&s->parked, 1, __ATOMIC_RELEASE);
	for (;;) {
		sleep_on(&v->second, &s->baton, 0);
		take_turn(v, &v->second, 1);
	}
	return NULL;
}

/* Without a call of our own, which would have to be counted. */
static void await_parked(const struct ref_shared *s, uint32_t n)
{
	while (__atomic_load_n(&s->parked, __ATOMIC_ACQUIRE) != n)
		;
}

static void server_start(struct server *v, int fd, const struct ref_plan *plan,
			 const struct ref_files *f, struct ref_shared *s)
{
	const struct ref_worker other = {
		.stream = &s->stream,
		.tally = &s->tally,
		.role = AFS_ROLE_SERVER,
		.account = AFS_ACCOUNT_THREADS,
	};
	struct noise *n;

	ref_conn_init(&v->conn, fd, plan, f, s);
	v->first = v->second = other;
	v->first.serves = true;
	for (uint32_t i = 0; i < plan->n_noise; i++) {
		v->noise[i] = other;
		n = malloc(sizeof(*n));
		REF_MUST(n);
		*n = (struct noise) { &v->noise[i], f, s };
		thread_start(noise_live, n);
	}
	if (plan->swaps)
		thread_start(second_live, v);
	await_parked(s, plan->n_noise + plan->swaps);
	v->started = true;
}

void ref_serve(int client_fd, const struct ref_plan *plan, const struct ref_files *f,
	       struct ref_shared *s)
{
	static struct server v;

	if (!v.started)
		server_start(&v, client_fd, plan, f, s);
	s->closed = 0;
	if (plan->n_noise)
		tell(&v.first, &s->noise, 1);
	while (plan->swaps && !s->closed) {
		take_turn(&v, &v.first, 0);
		if (!s->closed)
			sleep_on(&v.first, &s->baton, 1);
	}
	if (!plan->swaps)
		serve_some(&v, &v.first, UINT64_MAX / 2);
	/* One that has not seen "noise" yet would sleep on, and never park again. */
	await_parked(s, plan->swaps);
	__atomic_store_n(&s->noise, 0, __ATOMIC_RELEASE);
	await_parked(s, plan->n_noise + plan->swaps);
}
