/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until the server has done all of its work. */

#include "watch/bpf/view.h"

#include "base/clock.h"

#include <time.h>

/* Pause between looks: the client may share its CPU with the server, so never spin. */
#define SHORTEST_NS 30000
#define LONGEST_NS  1000000

/*
 * It serves no client whose requests are known, of a program whose connections are not known
 * (plain), or beside the threads that do: it carries for a relay, or accepts.
 */
static bool is_beside(const struct afs_thread *t, bool plain)
{
	return plain || (t->role == AFS_ROLE_SERVER && t->account >= AFS_ACCOUNT_THREADS);
}

/*
 * In a call that only waits, or waiting for bytes from the client or a backend; beside those who
 * serve, for anything from a socket or a pipe, as it might in poll().
 */
static bool settle_is_idle(const struct afs_thread *t, int32_t nr, bool plain)
{
	uint32_t cell = __atomic_load_n(&t->cell, __ATOMIC_RELAXED);
	uint32_t class = cell / AFS_N_OBJECTS % AFS_N_CLASSES, object = cell % AFS_N_OBJECTS;
	bool reads = class == AFS_CLASS_READ || class == AFS_CLASS_RECV;

	if (nr == AFS_NR_ASLEEP || class == AFS_CLASS_WAIT)
		return true;
	/* A FUSE daemon waits for its kernel's requests. */
	if ((is_beside(t, plain) && (object == AFS_OBJECT_SOCKET || object == AFS_OBJECT_PIPE)) ||
	    (plain && reads && t->role == AFS_ROLE_CLIENT))
		return (reads || class == AFS_CLASS_SOCKET) && t->off == AFS_OFF_BLOCKED;
	return reads && (object == AFS_OBJECT_CLIENT || object == AFS_OBJECT_BACKEND);
}

/* Something has ended its wait, but it has no CPU yet. */
static bool is_woken(const struct afs_thread *t)
{
	return t->off == AFS_OFF_RUNQ ||
	       (t->off == AFS_OFF_BLOCKED && __atomic_load_n(&t->woken_ns, __ATOMIC_RELAXED));
}

/* A database server's own threads, and those that serve others, are never quiet: ignored. */
static bool is_others(const struct afs_thread *t)
{
	return t->role == AFS_ROLE_BACKEND && t->account == AFS_ACCOUNT_THREADS;
}

/*
 * One look at all threads. false: one is at work, or about to be. Otherwise *moves is a number that
 * changes whenever a thread makes a call, except calls that only sleep: these end by themselves.
 */
static bool settle_look(const struct bpf_view *v, bool plain, uint64_t *moves)
{
	uint32_t n = bpf_view_threads(v);
	const struct afs_thread *t;
	int32_t nr;

	*moves = n;
	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		if (__atomic_load_n(&t->ended, __ATOMIC_ACQUIRE) || t->stopped || is_others(t))
			continue;
		nr = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE);
		if (!t->tid || nr == AFS_NR_NONE || !settle_is_idle(t, nr, plain))
			return false;
		if (nr >= 0 && nr < AFS_N_CALLS && v->setup->calls[nr].waits == AFS_WAITS_TIME)
			continue;
		if (is_woken(t))
			return false;
		*moves += __atomic_load_n(&t->seq, __ATOMIC_RELAXED);
	}
	return true;
}

/* On x86 other CPUs see stores in program order. */
#ifdef __x86_64__
#define IS_ORDERED true
#else
#define IS_ORDERED false
#endif

/* Sleeps before the next look, longer the longer the server has been at work. */
static void pause_since(uint64_t begin_ns)
{
	uint64_t ns = (clock_now_ns() - begin_ns) / 8;
	struct timespec pause = { .tv_nsec = ns < SHORTEST_NS  ? SHORTEST_NS
					     : ns > LONGEST_NS ? LONGEST_NS
							       : (long)ns };

	nanosleep(&pause, NULL);
}

bool settle(const struct bpf_view *v, bool plain, uint64_t patience_ns)
{
	uint64_t begin = clock_now_ns(), moves, before = 0;
	bool was_idle = false, idle;

	do {
		idle = settle_look(v, plain, &moves);
		if (idle && was_idle && moves == before) {
			if (IS_ORDERED)
				return true;
			bpf_view_wait_for_programs();
			if (settle_look(v, plain, &moves) && moves == before)
				return true;
		}
		was_idle = idle;
		before = moves;
		pause_since(begin);
	} while (clock_now_ns() < begin + patience_ns);
	return false;
}
