/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps the programs' arrays into memory, and sums up the stripes. */

#include "watch/bpf/view.h"

#include "base/clock.h"
#include "base/sums.h"
#include "base/vec.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_view_open(struct bpf_view *v, const struct bpf_load *l, struct err *e)
{
	int i = 0;

	memset(v, 0, sizeof(*v));
	v->n_cpus = l->n_cpus;
	v->n_lanes = l->n_lanes;
	v->shared = l->shared;
	v->setup = l->setup;
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		v->ended.ends[role].known = true;
#define MAP(name) v->name = (v->map[i++] = bpf_load_map(l->object, #name, sizeof(*v->name))).at
	MAP(thread);
	MAP(process);
	MAP(stream);
	MAP(inner);
	MAP(stripe);
	MAP(times);
	MAP(client);
#undef MAP
	for (i = 0; i < BPF_VIEW_MAPS; i++)
		if (!v->map[i].at) {
			bpf_view_close(v);
			return err_set(e, -ENOMEM, "no memory for the counters");
		}
	if (!(l->setup->trace & AFS_TRACE_LIVE))
		v->client = NULL;
	return 0;
}

void bpf_view_close(struct bpf_view *v)
{
	for (int i = 0; i < BPF_VIEW_MAPS; i++)
		if (v->map[i].at)
			munmap(v->map[i].at, v->map[i].len);
	memset(v, 0, sizeof(*v));
}

static uint32_t n_of(const __u32 *counter, uint32_t max)
{
	uint32_t n = __atomic_load_n(counter, __ATOMIC_ACQUIRE);

	return n < max ? n : max;
}

uint32_t bpf_view_threads(const struct bpf_view *v)
{
	return n_of(&v->shared->n_threads, AFS_N_THREADS);
}

uint32_t bpf_view_processes(const struct bpf_view *v)
{
	return n_of(&v->shared->n_processes, AFS_N_PROCESSES);
}

uint32_t bpf_view_streams(const struct bpf_view *v)
{
	return n_of(&v->shared->n_streams, AFS_N_CLIENTS);
}

const struct afs_stream *bpf_view_stream_of(const struct bpf_view *v, const struct afs_process *p)
{
	const struct afs_stream *s = &v->stream[AFS_CLIENT_SLOT(p->stream)];

	return p->stream && s->handle == p->stream ? s : NULL;
}

bool bpf_view_serves(const struct bpf_view *v, const struct afs_process *p)
{
	return p->role == AFS_ROLE_SERVER && (p->serving || (v->setup->any_order && p->streams));
}

const struct afs_process *bpf_view_server_of(const struct bpf_view *v, const struct afs_stream *s)
{
	uint32_t process = __atomic_load_n(&s->process, __ATOMIC_ACQUIRE);
	const struct afs_process *p = process ? &v->process[process - 1] : NULL;

	return p && bpf_view_serves(v, p) && !s->refused ? p : NULL;
}

const struct afs_process *bpf_view_find(const struct bpf_view *v, pid_t pid)
{
	uint32_t n = bpf_view_processes(v);

	return VEC_FIND(p, v->process, n, p->tgid == pid && p->ended < p->threads);
}

uint64_t bpf_view_all_calls(const struct bpf_view *v)
{
	uint32_t n = bpf_view_threads(v);
	uint64_t calls = 0;

	for (uint32_t i = 0; i < n; i++)
		calls += v->thread[i].calls;
	for (uint32_t i = 0; i < AFS_N_PROCESSES; i++)
		calls += v->cleared[i].calls;
	for (uint32_t role = 0; role < AFS_N_ROLES; role++)
		calls += v->ended.counts[role].calls;
	return calls;
}

struct bpf_view_counts bpf_view_process(const struct bpf_view *v, uint32_t process)
{
	struct bpf_view_counts sum = v->cleared[process];
	uint32_t n = bpf_view_threads(v);
	const struct afs_thread *t;

	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		if (!t->tid || t->process != process)
			continue;
		sum.calls += t->calls;
		ledger_compat_add(&sum.compat, &t->counted);
	}
	return sum;
}

void bpf_view_add_stream(struct bpf_view_ended *to, const struct afs_stream *s)
{
	for (int way = 0; way < 2; way++)
		to->stream_bytes += s->flow[way].unknown +
				    (s->flow[way].frames ? 0 : s->flow[way].early);
	to->dropped += s->dropped;
	to->overrun += s->overrun;
	to->before += s->before;
	to->refused += s->refused;
}

uint64_t bpf_view_moves(const struct bpf_view *v, uint32_t process, bool times)
{
	uint32_t n = bpf_view_threads(v);
	const struct afs_thread *t;
	uint64_t sum = n;

	/* Earlier reads are complete from here on. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		if (process < AFS_N_PROCESSES && t->process != process)
			continue;
		sum += t->ended;
		if (__atomic_load_n(&t->stopped, __ATOMIC_ACQUIRE))
			continue;
		if (__atomic_load_n(&t->counting, __ATOMIC_ACQUIRE))
			sum += clock_now_ns();
		sum += __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE);
		if (!times)
			continue;
		sum += __atomic_load_n(&t->since_ns, __ATOMIC_RELAXED);
		sum += __atomic_load_n(&t->woken_ns, __ATOMIC_RELAXED);
	}
	return sum;
}

void bpf_view_wait_for_counts(const struct bpf_view *v, uint64_t patience_ns)
{
	const struct timespec pause = { .tv_nsec = 30000 };
	uint64_t end = clock_now_ns() + patience_ns, seq;
	uint32_t n = bpf_view_threads(v);
	const struct afs_thread *t;

	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		seq = __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE);
		while (__atomic_load_n(&t->counting, __ATOMIC_ACQUIRE) &&
		       __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE) == seq && clock_now_ns() < end)
			nanosleep(&pause, NULL);
	}
}

void bpf_view_wait_for_programs(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

uint64_t bpf_view_until(const struct bpf_view *v)
{
	return v->stopped_ns ? v->stopped_ns : clock_now_ns();
}

void bpf_view_read_compat(const struct bpf_view *v, struct ledger *out)
{
	uint32_t n = bpf_view_processes(v), m = bpf_view_threads(v), role;
	const struct afs_process *p;

	out->has_compat[AFS_ROLE_OTHER] = out->has_compat[AFS_ROLE_HELPER] = true;
	for (role = 0; role < AFS_N_ROLES; role++) {
		out->has_compat[role] |= v->ended.processes[role];
		out->compat[role] = v->ended.counts[role].compat;
	}
	for (uint32_t i = 0; i < n; i++) {
		role = v->process[i].role;
		if (!v->process[i].tgid || role >= AFS_N_ROLES)
			continue;
		out->has_compat[role] = true;
		ledger_compat_add(&out->compat[role], &v->cleared[i].compat);
	}
	for (uint32_t i = 0; i < m; i++) {
		p = &v->process[v->thread[i].process];
		if (v->thread[i].tid && p->tgid && p->role < AFS_N_ROLES)
			ledger_compat_add(&out->compat[p->role], &v->thread[i].counted);
	}
}

void bpf_view_add_since(const struct afs_thread *t, uint64_t since, uint64_t now,
			struct afs_part *sum)
{
	uint64_t woken = __atomic_load_n(&t->woken_ns, __ATOMIC_RELAXED);

	if (t->off == AFS_OFF_RUNQ) {
		sum->runq_ns += now - since;
	} else if (t->off == AFS_OFF_NOT) {
		sum->cpu_ns += now - since;
	} else {
		woken = woken > since && woken < now ? woken : now;
		*(t->off == AFS_OFF_STOPPED ? &sum->stopped_ns : &sum->blocked_ns) += woken - since;
		sum->runq_ns += now - woken;
	}
}

uint64_t bpf_view_traced_ns(const struct bpf_view *v)
{
	uint64_t sum = __atomic_load_n(&v->shared->traced_ns, __ATOMIC_RELAXED), since, until;
	uint32_t n = bpf_view_threads(v);
	const struct afs_thread *t;
	struct afs_part now;

	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		if (!t->tid || t->off != AFS_OFF_STOPPED || !t->traced ||
		    t->role != AFS_ROLE_SERVER)
			continue;
		since = __atomic_load_n(&t->since_ns, __ATOMIC_RELAXED);
		until = bpf_view_until(v);
		now = (struct afs_part) { 0 };
		if (since < until)
			bpf_view_add_since(t, since, until, &now);
		sum += now.stopped_ns;
	}
	return sum;
}

/* Adds what one CPU did for an account. false: nothing. */
static bool add_account(const struct bpf_view *v, const struct afs_stripe *s, uint8_t spread,
			struct ledger_account *to)
{
	const struct afs_account *sum = &s->account[to->account];
	const struct afs_spread *from = &s->spread[spread];
	static const struct afs_account none;
	struct ledger_account one;

	if (!memcmp(sum, &none, sizeof(none)))
		return false;
	one = (struct ledger_account) { .sum = *sum };
	if (spread && from->span == v->shared->span) {
		one.min_ns = from->min_ns;
		one.max_ns = from->max_ns;
	}
	ledger_account_add(to, &one);
	return true;
}

static int read_accounts(const struct bpf_view *v, struct ledger *out)
{
	const __u8 *spread = v->setup->spread;
	struct ledger_account *a;
	bool some;

	out->account = calloc(AFS_ACCOUNT_BETWEEN, sizeof(*out->account));
	if (!out->account)
		return -ENOMEM;
	for (uint32_t i = 0; i < AFS_ACCOUNT_BETWEEN; i++) {
		a = &out->account[out->n_accounts];
		a->account = (uint16_t)i;
		some = false;
		for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
			some |= add_account(v, &v->stripe[cpu], spread[i], a);
		for (unsigned int lane = 0; lane < v->n_lanes && some && spread[i]; lane++)
			sums_add(a->hist, v->times[lane].request[spread[i]], sizeof(a->hist));
		if (a->sum.begun || a->sum.answered || a->sum.untimed)
			out->n_accounts++;
		else if (some)
			memset(a, 0, sizeof(*a)); /* the next account's place */
	}
	return 0;
}

static int read_results(const struct bpf_view *v, struct ledger *out)
{
	const struct afs_result *r;

	out->result = calloc((size_t)v->n_cpus * AFS_N_RESULTS, sizeof(*out->result));
	if (!out->result)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
		for (int i = 0; i < AFS_N_RESULTS; i++) {
			r = &v->stripe[cpu].result[i];
			if (!r->n)
				continue;
			out->result[out->n_results++] = (struct ledger_result) {
				.account = (uint16_t)(r->account - 1),
				.code = r->code,
				.n = r->n,
			};
		}
	return 0;
}

static int read_packets(const struct bpf_view *v, struct ledger *out)
{
	struct ledger_packets *p = calloc(2, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (uint8_t way = 0; way < 2; way++) {
		p[out->n_packets].from_server = way;
		for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
			sums_add(&p[out->n_packets].sum, &v->stripe[cpu].packets[way],
				 sizeof(p->sum));
		out->n_packets += p[out->n_packets].sum.datagrams > 0;
	}
	out->packets = p;
	return 0;
}

int bpf_view_read_requests(const struct bpf_view *v, struct ledger *out)
{
	int r = read_accounts(v, out);

	r = r ? r : read_results(v, out);
	r = r ? r : read_packets(v, out);
	out->has_requests = !r;
	return r;
}
