/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two steps: make the slot unreachable; free it once no program uses it any more. */

#include "watch/bpf/rung.h"

#include "base/clock.h"
#include "base/vec.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* After this time a process without any thread slot is certainly not just beginning. */
#define BEGIN_NS 1000000000u

/*
 * For so long a connection that its process has closed, or left by its end, is kept for others that
 * have it open, with that process.
 */
#define HELD_NS (60 * 1000000000ull)

static void collected(struct slots *s, enum afs_slots of, uint32_t i)
{
	s->slot[of][s->n[of]++] = i;
}

static bool process_ended(const struct afs_process *p)
{
	uint32_t ended = __atomic_load_n(&p->ended, __ATOMIC_ACQUIRE);

	if (!p->tgid)
		return false;
	return p->threads ? ended >= p->threads : p->begun_ns + BEGIN_NS < clock_now_ns();
}

/* The thread has ended: from here on no event finds it by its task or by its slot. */
static void collect_thread(struct slots *s, struct bpf_view *v, uint32_t i)
{
	struct afs_thread *t = &v->thread[i];

	v->cleared[t->process].calls += t->calls;
	ledger_compat_add(&v->cleared[t->process].compat, &t->counted);
	t->calls = 0;
	t->tid = 0;
	__atomic_store_n(&t->task, 0, __ATOMIC_RELEASE);
	collected(s, AFS_SLOTS_THREAD, i);
}

static void collect_stream(struct slots *s, struct bpf_view *v, uint32_t i)
{
	struct afs_stream *from = &v->stream[i];

	bpf_view_add_stream(&v->ended, from);
	from->process = 0;
	__atomic_store_n(&from->handle, from->handle + AFS_N_CLIENTS, __ATOMIC_RELEASE);
	collected(s, AFS_SLOTS_STREAM, i);
}

/* Processes that have ended are kept while others may go on with their connections. */
static void slots_keep_held(struct slots *s, const struct bpf_view *v)
{
	uint32_t n = bpf_view_streams(v), held, process;
	uint64_t now = clock_now_ns();

	for (uint32_t i = 0; i < n; i++) {
		/* In this order: who goes on with it first changes the process. */
		held = __atomic_load_n(&v->stream[i].held, __ATOMIC_ACQUIRE);
		process = __atomic_load_n(&v->stream[i].process, __ATOMIC_ACQUIRE);
		if (held && process && now < v->process[process - 1].ended_ns + HELD_NS)
			s->ended[process - 1] = false;
	}
}

/* Its process has closed it; and nobody else has it open, or goes on with it. */
static bool stream_closed(const struct afs_stream *stream)
{
	if (__atomic_load_n(&stream->held, __ATOMIC_ACQUIRE))
		return stream->ended_ns && stream->ended_ns + HELD_NS < clock_now_ns();
	return __atomic_load_n(&stream->ended, __ATOMIC_ACQUIRE);
}

/*
 * Whether it has ended: with its process, whose calls are its own if it serves no other; of several
 * each by itself.
 */
static bool stream_ended(const struct slots *s, const struct bpf_view *v,
			 const struct afs_stream *stream)
{
	uint32_t process = __atomic_load_n(&stream->process, __ATOMIC_ACQUIRE);

	if (!process)
		return false;
	return s->ended[process - 1] ||
	       (v->process[process - 1].streams > 1 && stream_closed(stream));
}

static int collect_streams(struct bpf_rung *b)
{
	uint32_t n = bpf_view_streams(&b->view);
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		if (!stream_ended(&b->slots, &b->view, &b->view.stream[i]))
			continue;
		r = sessions_end(b, i);
		if (r)
			break;
		connections_end(b, i);
		collect_stream(&b->slots, &b->view, i);
	}
	return r;
}

/* Whether a fault of the program itself makes this signal. */
static bool is_fault(int signal)
{
	static const int faults[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	return VEC_FIND(one, faults, sizeof(faults) / sizeof(faults[0]), *one == signal);
}

static void count_end(struct run_ends *to, const struct afs_process *p)
{
	int signal = WIFSIGNALED(p->exit_code) ? WTERMSIG(p->exit_code) : 0;

	to->clean += !p->exit_code;
	to->failed += p->exit_code && !signal;
	to->crashed += is_fault(signal);
	to->killed += signal && !is_fault(signal);
	if (!p->exit_code)
		return;
	to->pid = p->tgid;
	to->signal = signal;
	to->status = signal ? 0 : WEXITSTATUS(p->exit_code);
}

static void collect_process(struct slots *s, struct bpf_view *v, uint32_t i)
{
	struct afs_process *p = &v->process[i];
	struct bpf_view_ended *to = &v->ended;
	struct bpf_view_counts *c = &v->cleared[i];

	if (p->role < AFS_N_ROLES) {
		to->processes[p->role]++;
		to->counts[p->role].calls += c->calls;
		ledger_compat_add(&to->counts[p->role].compat, &c->compat);
		if (p->role != AFS_ROLE_SERVER || p->serving)
			count_end(&to->ends[p->role], p);
	}
	*c = (struct bpf_view_counts) {};
	memset(p, 0, sizeof(*p));
	p->used = 1;
	collected(s, AFS_SLOTS_PROCESS, i);
}

int slots_collect(struct bpf_rung *b)
{
	struct bpf_view *v = &b->view;
	struct slots *s = &b->slots;
	uint32_t n = bpf_view_threads(v), m = bpf_view_processes(v), p;
	const struct afs_thread *t;
	int r;

	/* Processes first: if one has ended, all of its threads have. */
	for (uint32_t i = 0; i < m; i++)
		s->ended[i] = process_ended(&v->process[i]);
	slots_keep_held(s, v);
	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		p = t->process;
		if (!__atomic_load_n(&t->ended, __ATOMIC_ACQUIRE) || !t->tid)
			continue;
		/* The thread that serves the client is kept as long as its process. */
		if (s->ended[p] || v->process[p].serving != i + 1)
			collect_thread(s, v, i);
	}
	r = collect_streams(b);
	for (uint32_t i = 0; i < m && !r; i++) {
		if (!s->ended[i])
			continue;
		r = sessions_end_process(b, i);
		r = r ? r : books_end(&b->books, v, i);
		if (!r)
			collect_process(s, v, i);
	}
	return r;
}

static void clear_thread(struct bpf_view *v, uint32_t i)
{
	struct afs_thread *t = &v->thread[i];

	/* Keep seq: a new thread's numbers must not match those of what the old one has begun. */
	*t = (struct afs_thread) { .seq = t->seq, .used = 1, .ended = 1 };
	memset(&v->inner[i], 0, sizeof(v->inner[i]));
}

/* Only the handle stays: the next connection in this slot has another one. */
static void clear_stream(struct bpf_view *v, uint32_t i)
{
	struct afs_stream *stream = &v->stream[i];
	uint32_t handle = stream->handle;

	memset(stream, 0, sizeof(*stream));
	stream->handle = handle;
	if (v->client)
		memset(&v->client[i], 0, sizeof(v->client[i]));
}

void slots_release(struct bpf_rung *b)
{
	struct bpf_view *v = &b->view;
	struct slots *s = &b->slots;

	if (!s->n[AFS_SLOTS_THREAD] && !s->n[AFS_SLOTS_PROCESS] && !s->n[AFS_SLOTS_STREAM])
		return;
	/* Programs may have found a thread before it was collected. */
	bpf_view_wait_for_programs();
	for (uint32_t i = 0; i < s->n[AFS_SLOTS_THREAD]; i++)
		clear_thread(v, s->slot[AFS_SLOTS_THREAD][i]);
	for (uint32_t i = 0; i < s->n[AFS_SLOTS_STREAM]; i++)
		clear_stream(v, s->slot[AFS_SLOTS_STREAM][i]);
	for (unsigned int of = 0; of < AFS_N_SLOTS; of++)
		while (s->n[of])
			bpf_load_give(&b->load, of, s->slot[of][--s->n[of]]);
}
