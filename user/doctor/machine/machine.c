/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs, memory of the whole machine, the network. */
#include "doctor/machine/machine_priv.h"
#include "run/kind.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the server's CPUs ---- */

struct own_cpus {
	bool is_part;              /* of the machine's */
	double all, busy;          /* ticks */
	double interrupts, stolen; /* in busy */
	double interrupts_one;     /* share, of the CPU that has most */
	size_t one;
};

static void add_cpu(struct own_cpus *own, const struct machine_between *b, size_t i)
{
	const struct cpus_time *then = &b->before->cpus.cpu[i], *now = &b->after->cpus.cpu[i];
	double all = (double)(now->all - then->all);
	double interrupts = (double)(now->interrupts - then->interrupts);

	/* A CPU that was taken out meanwhile. */
	if (now->all <= then->all || now->busy < then->busy || now->interrupts < then->interrupts ||
	    now->stolen < then->stolen)
		return;
	own->all += all;
	own->busy += (double)(now->busy - then->busy);
	own->interrupts += interrupts;
	own->stolen += (double)(now->stolen - then->stolen);
	if (interrupts / all >= own->interrupts_one) {
		own->interrupts_one = interrupts / all;
		own->one = i;
	}
}

static struct own_cpus own_cpus(const struct machine_between *b)
{
	struct own_cpus own = { 0 };

	for (size_t i = 0; i < CPUS_MAX; i++) {
		if (!b->before->cpus.known[i] || !b->after->cpus.known[i])
			continue;
		if (b->before->may_use[i])
			add_cpu(&own, b, i);
		else
			own.is_part = true;
	}
	return own;
}

static bool machine_is_on(const struct machine_between *b, const struct processes_entry *p)
{
	return p->st.cpu >= 0 && p->st.cpu < CPUS_MAX && b->before->may_use[p->st.cpu];
}

/*
 * CPU time of a process between the looks, in ticks; of one that was elsewhere in one of them it
 * is not known where it used it: 0.
 */
static double ticks_between(const struct machine_between *b, const struct own_cpus *own,
			    const struct processes_entry *p)
{
	const struct processes_entry *then = machine_then(b, p);
	uint64_t before = then ? then->st.cpu_ticks : 0;

	if (own->is_part && (!machine_is_on(b, p) || (then && !machine_is_on(b, then))))
		return 0;
	return p->st.cpu_ticks > before ? (double)(p->st.cpu_ticks - before) : 0;
}

/* A process that used its CPUs. */
struct cpu_user {
	const struct processes_entry *p;
	enum machine_whose whose;
	double ticks; /* those of its children that have ended included */
};

struct cpu_users {
	size_t n;
	struct cpu_user *user;                                 /* by whose, then by name */
	double ticks[MACHINE_N_WHOSE], ended[MACHINE_N_WHOSE]; /* apart from each other */
};

static int by_name(const void *a, const void *b)
{
	const struct cpu_user *x = a, *y = b;

	if (x->whose != y->whose)
		return x->whose < y->whose ? -1 : 1;
	return strcmp(x->p->st.comm, y->p->st.comm);
}

/*
 * The kernel counts the time of these threads as that of softirqs as well; it is in that figure.
 */
static bool is_softirq(const struct processes_entry *p)
{
	return p->st.is_kernel && !strncmp(p->st.comm, "ksoftirqd/", strlen("ksoftirqd/"));
}

/* 0 or -ENOMEM; out->user is to be freed. */
static int cpu_users(struct cpu_users *out, const struct machine_between *b,
		     const struct own_cpus *own)
{
	const struct process_table *all = &b->after->processes;
	double tick_ns = MACHINE_NS_PER_S / (double)sysconf(_SC_CLK_TCK), *ended;
	int r = machine_ended(&ended, b);

	*out = (struct cpu_users) { .user = malloc((all->n + 1) * sizeof(*out->user)) };
	for (size_t i = 0; !r && out->user && i < all->n; i++) {
		const struct processes_entry *p = &all->entry[i];
		struct cpu_user one = { .p = p, .ticks = ticks_between(b, own, p) };

		/* On which CPUs is not known. */
		if (own->is_part)
			ended[i] = 0;
		if (one.ticks + ended[i] <= 0 || is_softirq(p))
			continue;
		one.whose = machine_whose(b, p);
		out->ticks[one.whose] += one.ticks;
		out->ended[one.whose] += ended[i];
		one.ticks += ended[i];
		out->user[out->n++] = one;
	}
	free(ended);
	if (r || !out->user)
		return -ENOMEM;
	qsort(out->user, out->n, sizeof(*out->user), by_name);
	out->ticks[MACHINE_SELF] += out->ended[MACHINE_SELF];
	/* What was counted has all sessions that have ended. */
	out->ticks[MACHINE_SERVER] = fmax(out->ticks[MACHINE_SERVER] + out->ended[MACHINE_SERVER],
					  (double)b->m->server_cpu_ns / tick_ns);
	return 0;
}

/* The program that used most: processes of one name together. */
static void name_most(const struct machine_between *b, const struct own_cpus *own,
		      const struct cpu_users *u, enum run_figure which, enum machine_whose whose)
{
	double most = 0, sum = 0, share;
	const char *of = "";
	size_t first = 0;

	for (size_t i = 0; i < u->n; i++) {
		const struct processes_entry *p = u->user[i].p;

		if (i && by_name(&u->user[i], &u->user[i - 1]) != 0) {
			first = i;
			sum = 0;
		}
		sum += u->user[i].ticks;
		if (u->user[i].whose != whose || sum <= most)
			continue;
		most = sum;
		share = 100 * fmin(sum, u->ticks[whose]) / own->all;
		of = run_kind_another(b->out->kind, p->st.comm);
		if (i > first)
			run_figure_who(b->out, which, "%s%s (%zu processes): %.0f%%", of,
				       p->st.comm, i - first + 1, share);
		else
			run_figure_who(b->out, which, "%s%s (pid %d): %.0f%%", of, p->st.comm,
				       p->pid, share);
	}
}

/* In a container the processes of the others are not seen. */
static void not_all_seen(const struct machine_between *b)
{
	static const enum run_figure which[] = { RUN_FIGURE_OTHERS, RUN_FIGURE_KERNEL_THREADS,
						 RUN_FIGURE_UNATTRIBUTED };

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		run_figure_who(b->out, which[i], "processes outside this container cannot be seen");
}

/* Of the requests' time, their wait for CPUs that no quota explains; less than 0: not known. */
static double waits_for_cpus(const struct run_figures *f)
{
	double quota = f->known[RUN_FIGURE_QUOTA_WAIT] ? f->value[RUN_FIGURE_QUOTA_WAIT] : 0;

	return f->known[RUN_FIGURE_WAIT_CPU] ? fmax(f->value[RUN_FIGURE_WAIT_CPU] - quota, 0) : -1;
}

/* A part of a share of the requests' time, as large as one of all that the server's CPUs did. */
static void divide(const struct machine_between *b, const struct own_cpus *own,
		   enum run_figure which, double of, double ticks)
{
	if (of >= 0)
		run_figure_share(b->out, which, of * fmin(ticks, own->busy), own->busy);
}

static void used_by(const struct machine_between *b, const struct own_cpus *own,
		    struct cpu_users *u)
{
	double left = own->busy - own->interrupts - own->stolen, *ticks = u->ticks;
	double wait = waits_for_cpus(b->out);
	double on = b->out->known[RUN_FIGURE_ON_CPU] ? b->out->value[RUN_FIGURE_ON_CPU] : -1;

	/* Where a process was in between is not known: no more than the server has left. */
	if (own->is_part)
		ticks[MACHINE_OTHER] = fmin(ticks[MACHINE_OTHER],
					    fmax(left - ticks[MACHINE_SERVER], 0));
	run_figure_share(b->out, RUN_FIGURE_SELF, fmin(ticks[MACHINE_SELF], own->all), own->all);
	divide(b, own, RUN_FIGURE_SELF_WAIT, wait, ticks[MACHINE_SELF]);
	divide(b, own, RUN_FIGURE_OWN_WAIT, wait, ticks[MACHINE_SERVER]);
	divide(b, own, RUN_FIGURE_STEAL_WAIT, on, own->stolen);
	divide(b, own, RUN_FIGURE_INTERRUPTS_WAIT, on, own->interrupts);
	if (!b->before->all_processes) {
		not_all_seen(b);
		return;
	}
	for (unsigned int i = 0; i < MACHINE_N_WHOSE; i++)
		left -= ticks[i];
	/* A process that was adopted by another one may come with what it used before. */
	ticks[MACHINE_OTHER] += fmin(u->ended[MACHINE_OTHER], fmax(left, 0));
	left -= u->ended[MACHINE_OTHER];
	run_figure_share(b->out, RUN_FIGURE_OTHERS, fmin(ticks[MACHINE_OTHER], own->all), own->all);
	name_most(b, own, u, RUN_FIGURE_OTHERS, MACHINE_OTHER);
	divide(b, own, RUN_FIGURE_OTHERS_WAIT, wait, ticks[MACHINE_OTHER]);
	divide(b, own, RUN_FIGURE_KERNEL_WAIT, wait, ticks[MACHINE_KERNEL]);
	run_figure_share(b->out, RUN_FIGURE_KERNEL_THREADS, fmin(ticks[MACHINE_KERNEL], own->all),
			 own->all);
	name_most(b, own, u, RUN_FIGURE_KERNEL_THREADS, MACHINE_KERNEL);
	run_figure_share(b->out, RUN_FIGURE_UNATTRIBUTED, fmax(left, 0), own->all);
}

static int machine_cpus(const struct machine_between *b)
{
	const struct cpus_time *then = &b->before->cpus.sum, *now = &b->after->cpus.sum;
	struct own_cpus own = own_cpus(b);
	struct cpu_users u;
	int r;

	if (then->all && now->all > then->all && now->busy >= then->busy)
		run_figure_share(b->out, RUN_FIGURE_CPUS_USED, (double)(now->busy - then->busy),
				 (double)(now->all - then->all));
	if (own.all <= 0)
		return 0;
	run_figure_share(b->out, RUN_FIGURE_OWN_CPUS, own.busy, own.all);
	run_figure_share(b->out, RUN_FIGURE_INTERRUPTS, own.interrupts, own.all);
	run_figure_set(b->out, RUN_FIGURE_INTERRUPTS_ONE, own.interrupts_one);
	run_figure_who(b->out, RUN_FIGURE_INTERRUPTS_ONE, "CPU %zu", own.one);
	run_figure_share(b->out, RUN_FIGURE_STEAL, own.stolen, own.all);
	r = cpu_users(&u, b, &own);
	if (!r)
		used_by(b, &own, &u);
	free(u.user);
	return r;
}

/* ---- memory and pressure ---- */

/* Growth of a total; false: not known. */
static bool total_grown(const struct machine_between *b, enum machine_total which, double *by)
{
	if (!b->before->known[which] || !b->after->known[which] ||
	    b->after->total[which] < b->before->total[which])
		return false;
	*by = (double)(b->after->total[which] - b->before->total[which]);
	return true;
}

static void pressure(const struct machine_between *b, enum run_figure figure,
		     enum machine_total which)
{
	double us;

	if (total_grown(b, which, &us))
		run_figure_share(b->out, figure, fmin(us * 1000, b->ns), b->ns);
}

static double free_share(const struct machine *m)
{
	return m->memory_b ? (double)m->available_b / (double)m->memory_b : NAN;
}

static void machine_memory(const struct machine_between *b)
{
	double pages, least = fmin(free_share(b->before), free_share(b->after));

	pressure(b, RUN_FIGURE_PRESSURE_CPU, MACHINE_PRESSURE_CPU);
	pressure(b, RUN_FIGURE_PRESSURE_IO, MACHINE_PRESSURE_IO);
	pressure(b, RUN_FIGURE_PRESSURE_MEMORY, MACHINE_PRESSURE_MEMORY);
	if (total_grown(b, MACHINE_SWAPPED_IN, &pages))
		run_figure_set(b->out, RUN_FIGURE_SWAPPED_IN, pages * MACHINE_NS_PER_S / b->ns);
	if (total_grown(b, MACHINE_REFAULTED, &pages))
		run_figure_set(b->out, RUN_FIGURE_REREAD,
			       pages * (double)sysconf(_SC_PAGESIZE) * MACHINE_NS_PER_S / b->ns);
	if (!isnan(least))
		run_figure_set(b->out, RUN_FIGURE_MEMORY_FREE, least);
}

/* ---- network ---- */

static const struct links_entry *link_then(const struct machine_between *b, const char *name)
{
	for (size_t i = 0; i < b->before->links.n; i++)
		if (!strcmp(b->before->links.entry[i].name, name))
			return &b->before->links.entry[i];
	return NULL;
}

static void look_way(const struct machine_between *b, const struct links_entry *is,
		     const char *does, double bytes)
{
	double mbit_s = bytes * 8 / 1e6 * MACHINE_NS_PER_S / b->ns;
	double used = fmin(mbit_s / (double)is->speed_mbit, 1);

	if (b->out->known[RUN_FIGURE_LINK_USED] && used <= b->out->value[RUN_FIGURE_LINK_USED])
		return;
	run_figure_set(b->out, RUN_FIGURE_LINK_USED, used);
	run_figure_who(b->out, RUN_FIGURE_LINK_USED, "%s %s %.0f Mbit/s of %llu", is->name, does,
		       mbit_s, (unsigned long long)is->speed_mbit);
}

static void machine_links(const struct machine_between *b)
{
	for (size_t i = 0; i < b->after->links.n; i++) {
		const struct links_entry *now = &b->after->links.entry[i];
		const struct links_entry *then = link_then(b, now->name);

		if (!then || !now->speed_mbit || now->received_b < then->received_b ||
		    now->sent_b < then->sent_b)
			continue;
		look_way(b, now, "receives", (double)(now->received_b - then->received_b));
		look_way(b, now, "sends", (double)(now->sent_b - then->sent_b));
	}
	if (!b->out->known[RUN_FIGURE_LINK_USED])
		run_figure_who(b->out, RUN_FIGURE_LINK_USED, "no network interface says its speed");
}

static void machine_net(const struct machine_between *b)
{
	const struct netcounts *then = &b->before->net, *now = &b->after->net;
	double lost;

	if (then->has_tcp && now->has_tcp && now->segments >= then->segments &&
	    now->retransmitted >= then->retransmitted)
		run_figure_share(b->out, RUN_FIGURE_RETRANS,
				 (double)(now->retransmitted - then->retransmitted),
				 (double)(now->segments - then->segments));
	if (!then->has_fragments || !now->has_fragments || now->given_up < then->given_up)
		return;
	/* One that waited before may have been given up since. */
	lost = (double)(now->given_up - then->given_up) + (double)now->waiting -
	       (double)then->waiting;
	run_figure_set(b->out, RUN_FIGURE_REASSEMBLY, fmax(lost, 0) * MACHINE_NS_PER_S / b->ns);
}

int doctor_machine(struct run_figures *out, const struct doctor_machine *m)
{
	const struct machine_between b = { .out = out,
					   .m = m,
					   .before = m->before,
					   .after = m->after,
					   .ns = (double)m->after->t_ns - (double)m->before->t_ns };

	if (b.ns <= 0)
		return 0;
	machine_memory(&b);
	machine_links(&b);
	machine_net(&b);
	machine_groups(&b);
	machine_disks(&b);
	return machine_cpus(&b);
}
