/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_WATCHED_H
#define TESTS_BPF_WATCHED_H

/*
 * A child process that runs a given function when told to, and is watched meanwhile. Both
 * sides meet at futexes in shared memory: calls of class WAIT, which the child counts, so that
 * everything else it does is the function's.
 */

#include "host/proc/procfs.h"
#include "watch/bpf/rung.h"

#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct watched_shared {
	uint32_t step, done;
	uint64_t waits;    /* futex calls of the child that have returned */
	uint64_t value[8]; /* what the function likes to tell */
};

struct watched {
	struct watched_shared *shared;
	pid_t pid;
	struct watch *w;
	struct ledger before, after, diff;
	struct afs_compat io_before, io_after;
	uint64_t waits_before;
	bool not_dsi; /* its client's socket carries something else */
};

/* One cell that must be there; class WAIT is left to the child's own count. */
struct expected {
	enum afs_class class;
	enum afs_object object;
	uint64_t calls, errors, bytes;
};

static inline void watched_wait(struct watched_shared *s, uint32_t *word, uint32_t old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old) {
		syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
		__atomic_add_fetch(&s->waits, 1, __ATOMIC_RELAXED);
	}
}

/* The child's life: waits for a step, runs fn, says so, waits for the next. */
static inline void watched_live(struct watched_shared *s, void (*fn)(struct watched_shared *s))
{
	for (uint32_t step = 0;; step++) {
		watched_wait(s, &s->step, step);
		fn(s);
		__atomic_store_n(&s->done, step + 1, __ATOMIC_RELEASE);
	}
}

static inline void watched_start(struct watched *x, void (*fn)(struct watched_shared *s))
{
	memset(x, 0, sizeof(*x));
	x->shared = mmap(NULL, sizeof(*x->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(x->shared != MAP_FAILED);
	x->pid = fork();
	assert_true(x->pid >= 0);
	if (!x->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watched_live(x->shared, fn);
	}
}

static inline void watched_open(struct watched *x, struct target t)
{
	struct err e = {};

	t.server = t.server ? t.server : x->pid;
	t.decoder = t.plain ? AFS_DECODER_NONE : AFS_DECODER_DSI;
	if (watch_open_target(&x->w, WATCH_BPF, &t, &e))
		fail_msg("%s", e.text);
}

/* The ends of a connection that a child serves; only it has the server's. */
struct watched_ends {
	int client, server;
};

/* Starts a child whose function uses "ends", and watches it as their server, with a sink. */
static inline void watched_serve(struct watched *x, struct watched_ends *ends,
				 void (*fn)(struct watched_shared *s),
				 const struct watch_sink *sink)
{
	struct watch_opts opts = { .mode = WATCH_BPF, .sink = *sink };
	struct target t = { .decoder = AFS_DECODER_DSI };
	struct err e = { 0 };
	struct stat st;
	int end[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	ends->client = end[0];
	ends->server = end[1];
	watched_start(x, fn);
	assert_int_equal(fstat(ends->server, &st), 0);
	close(ends->server);
	t.server = x->pid;
	t.client = st.st_ino;
	if (watch_open_traced(&x->w, &opts, &t, &e))
		fail_msg("%s", e.text);
}

static inline void watched_close(const struct watched_ends *ends)
{
	close(ends->client);
}

/* Lets the child run its function once. */
static inline void watched_go(const struct watched *x)
{
	uint32_t step = x->shared->step;

	__atomic_store_n(&x->shared->step, step + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&x->shared->done, __ATOMIC_ACQUIRE) != step + 1)
		usleep(200);
}

/* The same; x->diff is what was counted. */
static inline void watched_step(struct watched *x)
{
	assert_true(watch_settle(x->w));
	watch_span(x->w);
	assert_int_equal(watch_read(x->w, &x->before), 0);
	assert_int_equal(procfs_io(&x->io_before, x->pid, 0), 0);
	x->waits_before = x->shared->waits;
	watched_go(x);
	assert_true(watch_settle(x->w));
	assert_int_equal(watch_read(x->w, &x->after), 0);
	assert_int_equal(procfs_io(&x->io_after, x->pid, 0), 0);
	assert_int_equal(ledger_diff(&x->diff, &x->after, &x->before), 0);
	ledger_fini(&x->before);
	ledger_fini(&x->after);
}

/* Closes the books, which must agree, with nothing lost, and ends the child; run_fini. */
static inline void watched_finish(struct watched *x, struct run *r)
{
	assert_int_equal(run_init(r, "test", "test"), 0);
	assert_true(watch_settle(x->w));
	assert_int_equal(watch_finish(x->w, r), 0);
	for (size_t i = 0; i < r->n_books; i++)
		if (!r->book[i].closed)
			fail_msg("%s: %llu counted, /proc says %llu", r->book[i].name,
				 (unsigned long long)r->book[i].ours,
				 (unsigned long long)r->book[i].theirs);
	assert_true(r->n_books >= 4);
	for (size_t i = 0; i < r->n_losses; i++)
		if (r->loss[i].n &&
		    !(x->not_dsi && strstr(r->loss[i].what, "bytes of connections")))
			fail_msg("%s: %llu", r->loss[i].what, (unsigned long long)r->loss[i].n);
	assert_true(r->n_losses > 0);
	watch_free(x->w);
	ledger_fini(&x->diff);
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	munmap(x->shared, sizeof(*x->shared));
}

static inline void watched_end(struct watched *x)
{
	struct run r;

	watched_finish(x, &r);
	run_fini(&r);
}

static inline void watched_check_row(const struct ledger_row *row, const struct expected *want)
{
	uint64_t hist = 0;

	for (int i = 0; i < AFS_HIST_BUCKETS; i++)
		hist += row->cell.hist[i];
	if (row->cell.calls == want->calls && row->cell.errors == want->errors &&
	    row->cell.bytes == want->bytes && hist == want->calls && row->cell.ns)
		return;
	fail_msg("%s on %s: %llu calls, %llu errors, %llu bytes, %llu in the histogram, %llu ns; "
		 "wanted %llu, %llu, %llu",
		 ledger_class_name(row->class), ledger_object_name(row->object),
		 (unsigned long long)row->cell.calls, (unsigned long long)row->cell.errors,
		 (unsigned long long)row->cell.bytes, (unsigned long long)hist,
		 (unsigned long long)row->cell.ns, (unsigned long long)want->calls,
		 (unsigned long long)want->errors, (unsigned long long)want->bytes);
}

/* A role's cells, waits apart, are exactly these. */
static inline void watched_check(const struct watched *x, enum afs_role role,
				 const struct expected *want, size_t n)
{
	const struct ledger_row *row;
	size_t k, found = 0;

	for (size_t i = 0; i < x->diff.n_rows; i++) {
		row = &x->diff.row[i];
		if (row->role != role || row->class == AFS_CLASS_WAIT)
			continue;
		for (k = 0; k < n; k++)
			if (want[k].class == row->class && want[k].object == row->object)
				break;
		if (k == n)
			fail_msg("%llu calls of %s on %s", (unsigned long long)row->cell.calls,
				 ledger_class_name(row->class), ledger_object_name(row->object));
		watched_check_row(row, &want[k]);
		found++;
	}
	assert_int_equal(found, n);
}

/* The compatible ledger says what /proc says. */
static inline void watched_check_io(const struct watched *x)
{
	const struct afs_compat *c = &x->diff.compat[AFS_ROLE_SERVER];

	assert_true(x->diff.has_compat[AFS_ROLE_SERVER]);
	assert_int_equal(c->syscr, x->io_after.syscr - x->io_before.syscr);
	assert_int_equal(c->syscw, x->io_after.syscw - x->io_before.syscw);
	assert_int_equal(c->rchar, x->io_after.rchar - x->io_before.rchar);
	assert_int_equal(c->wchar, x->io_after.wchar - x->io_before.wchar);
}

/* tracefs, which is not mounted everywhere, for this program only: a set-up of all tests. */
static inline int watched_mount_tracefs(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (!access("/sys/kernel/tracing/events", R_OK))
		return 0;
	return mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
}

#endif
