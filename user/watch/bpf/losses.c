/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses: what the programs could not count, each a number. */

#include "watch/watch_priv.h"

#include <inttypes.h>
#include <stdio.h>

int losses_skipped(const struct bpf_load_program *p, size_t n, struct run *r)
{
	char what[96];
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		snprintf(what, sizeof(what), "%s skipped by the kernel", p[i].name);
		err = run_loss(r, what, bpf_load_missed(&p[i]));
	}
	return err;
}

/* Of all clients' connections; those that were collected stay until their slot is cleared. */
static struct bpf_view_ended losses_connections(const struct bpf_view *v)
{
	struct bpf_view_ended all = v->ended;
	uint32_t n = bpf_view_streams(v);

	for (uint32_t i = 0; i < n; i++)
		if (v->stream[i].process)
			bpf_view_add_stream(&all, &v->stream[i]);
	return all;
}

/* Losses on the clients' connections. */
static int note_streams(const struct bpf_view_ended *all, struct run *r)
{
	int err = run_loss(r, "requests without an answer or answers without a request",
			   all->dropped);

	err |= run_loss(r, "requests not followed: too many in flight", all->overrun);
	return err |
	       run_loss(r, "bytes of connections in no recognized request", all->stream_bytes);
}

static uint64_t lost_records(const struct bpf_view *v, unsigned int stream)
{
	return __atomic_load_n(&v->shared->lost.records[stream], __ATOMIC_RELAXED);
}

uint64_t watch_pull_lost(const struct watch *w, unsigned int stream)
{
	return w->bpf ? lost_records(&w->bpf->view, stream) : 0;
}

/* Losses of a trace. */
static int note_records(const struct bpf_view *v, struct run *r)
{
	static const char *const what[AFS_N_STREAMS] = {
#define X(NAME, name, meaning) "records of " #name ": no room in the ring buffer",
		AFS_STREAMS(X)
#undef X
	};
	uint64_t kept = 0;
	int err = 0;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		if (i != AFS_STREAM_CLIENT && i != AFS_STREAM_TEXTS &&
		    (i != AFS_STREAM_OPERATIONS || lost_records(v, i)))
			err |= run_loss(r, what[i], lost_records(v, i));
		for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
			kept += v->stripe[cpu].batch_n[i];
	}
	return err |
	       run_loss(r, "records not handed over: their thread was on its CPU to the end", kept);
}

/* Notes what the ledgers do not count. */
static int note_uncounted(const struct bpf_view *v, const struct bpf_view_ended *all, struct run *r)
{
	const struct afs_lost *lost = &v->shared->lost;
	const uint64_t uring = lost->uring;
	int err = 0;

	r->refused = all->refused;
	if (all->refused)
		err |= run_note(&r->warnings, "refused",
				"the server refused %" PRIu64 " sessions: it has as many as it may",
				all->refused);
	if (all->before)
		err |= run_note(&r->rungs, "requests.before",
				"%" PRIu64
				" requests had begun before the watch and are not counted: "
				"only their replies were seen",
				all->before);
	if (uring)
		err |= run_note(
		    &r->warnings, "io_uring",
		    "%" PRIu64 " operations by io_uring are not in the calls ledger, nor in "
		    "any request: the kernel does them without a system call of their own",
		    uring);
	if (lost->uring_polls)
		err |= run_note(
		    &r->warnings, "io_uring.polling",
		    "operations by io_uring that threads of the kernel submit "
		    "(IORING_SETUP_SQPOLL) are not counted, and how many they are is not "
		    "known");
	if (lost->filtered)
		err |= run_note(&r->warnings, "filter",
				"%" PRIu64
				" calls were answered by a seccomp filter or a debugger: "
				"which they were is not known, they count as class \"other\"",
				(uint64_t)lost->filtered);
	if (lost->calls_32bit)
		err |= run_note(&r->warnings, "32-bit",
				"%" PRIu64 " calls of 32-bit programs, or made as theirs are "
				"(int 0x80), are not distinguished: they count as class "
				"\"other\", without bytes",
				(uint64_t)lost->calls_32bit);
	return err;
}

int losses_note(const struct bpf_rung *b, struct run *r)
{
	const struct bpf_view *v = &b->view;
	const struct bpf_view_ended all = losses_connections(v);
	const struct afs_lost *lost = &v->shared->lost;
	const struct {
		const char *what;
		uint64_t n;
		bool of_requests;
	} losses[] = {
		{ "threads not watched: no slot", lost->thread_slots, false },
		{ "threads not watched: no slot for the process", lost->process_slots, false },
		{ "threads and processes found, and not watched", lost->found, false },
		{ "threads not watched: no task storage", lost->storage, false },
		{ "calls on connections that found no slot", lost->streams, true },
		{ "states not assigned to an account: no room", lost->parts, false },
		{ "reads and writes with more frames than are followed", lost->steps, true },
		{ "result codes not counted: no room", lost->results, true },
		{ "connections to backends forgotten: no room", lost->links, true },
		{ "reads and writes of processes that had begun when they were found",
		  b->late_calls, false },
	};
	int err = losses_skipped(b->load.program, BPF_LOAD_PROGRAMS, r);

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]) && !err; i++)
		if (!losses[i].of_requests || run_has_requests(r))
			err = run_loss(r, losses[i].what, losses[i].n);
	if (!err && b->n_older)
		err = run_note(&r->warnings, "found",
			       "process %d%s was found to be the server's while the watch went on: "
			       "what it did before is not counted",
			       b->older, b->n_older > 1 ? ", and others," : "");
	if (!err && b->records)
		err = note_records(v, r);
	if (!err && b->load.setup->objects_on && run_has_requests(r))
		err = note_streams(&all, r);
	return err ? err : note_uncounted(v, &all, r);
}

int watch_losses(struct watch *w, struct run *r)
{
	return w->bpf ? losses_note(w->bpf, r) : 0;
}
