/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/machine/machine.c, machine_whose.c: who used the CPUs, and the rest of the
 * machine. */
#include "kinds/kind.h"
#include "unit/two_looks.h"

#include <unistd.h>

#define TICKS_S 100 /* of a CPU in a second, as sysconf says nearly everywhere */

#define SERVER  100
#define SESSION 101
#define HELPER  102 /* which a session has started */
#define OTHER   200
#define KERNEL  9

/* Four CPUs, of which the server may use the first two. Ticks between the looks. */
static void cpus_are(struct two_looks *l, size_t cpu, uint64_t busy, uint64_t interrupts,
		     uint64_t stolen)
{
	struct cpus *c = &l->after.cpus;

	l->before.cpus.known[cpu] = c->known[cpu] = true;
	c->cpu[cpu] = (struct cpus_time) {
		.all = LOOKS_S * TICKS_S, .busy = busy, .interrupts = interrupts, .stolen = stolen
	};
	l->before.cpus.sum.all = 1;
	c->sum.all += LOOKS_S * TICKS_S + (c->sum.all == 0);
	c->sum.busy += busy;
}

struct table {
	struct process_table t;
	struct processes_entry entry[8];
};

static void add(struct table *to, struct processes_entry e)
{
	to->entry[to->t.n++] = e;
	to->t.entry = to->entry;
}

static void every_tick_of_the_server_s_cpus_is_somebody_s_or_nobody_s(void **state)
{
	struct two_looks *l = *state;
	const pid_t own[] = { SERVER, SESSION };
	struct table before = { 0 }, after = { 0 };
	const struct run_figures *f;

	l->before.may_use[0] = l->before.may_use[1] = true;
	l->before.all_processes = true;
	l->m.own = own;
	l->m.n_own = 2;
	cpus_are(l, 0, 900, 50, 20);
	cpus_are(l, 1, 800, 250, 0);
	cpus_are(l, 2, 1000, 0, 0); /* another server's */
	add(&before,
	    (struct processes_entry) { .pid = KERNEL, .st.is_kernel = true, .st.started = 1 });
	add(&before,
	    (struct processes_entry) { .pid = SESSION, .st.cpu_ticks = 1000, .st.started = 5 });
	add(&before,
	    (struct processes_entry) { .pid = OTHER, .st.cpu_ticks = 50, .st.started = 6 });
	add(&before, (struct processes_entry) { .pid = OTHER + 3, .st.cpu = 2, .st.started = 6 });
	add(&after, (struct processes_entry) { .pid = KERNEL,
					       .st.comm = "kworker/0:1",
					       .st.is_kernel = true,
					       .st.cpu_ticks = 60,
					       .st.started = 1 });
	add(&after, (struct processes_entry) { .pid = KERNEL + 1,
					       .st.comm = "ksoftirqd/1",
					       .st.is_kernel = true,
					       .st.cpu_ticks = 200 });
	add(&after,
	    (struct processes_entry) { .pid = SESSION, .st.cpu_ticks = 1400, .st.started = 5 });
	add(&after,
	    (struct processes_entry) { .pid = HELPER, .st.ppid = SESSION, .st.cpu_ticks = 100 });
	add(&after, (struct processes_entry) {
			.pid = OTHER, .st.comm = "tar", .st.cpu_ticks = 250, .st.started = 6 });
	/* They began meanwhile: together they used most. */
	add(&after,
	    (struct processes_entry) { .pid = OTHER + 1, .st.comm = "cc1", .st.cpu_ticks = 120 });
	add(&after,
	    (struct processes_entry) { .pid = OTHER + 2, .st.comm = "cc1", .st.cpu_ticks = 130 });
	/* It was elsewhere at the first look, so where it used this is not known. */
	add(&after, (struct processes_entry) {
			.pid = OTHER + 3, .st.comm = "x", .st.cpu_ticks = 500, .st.started = 6 });
	l->before.processes = before.t;
	l->after.processes = after.t;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_CPUS_USED, 0.9, NULL);
	figure_is(f, RUN_FIGURE_OTHERS, 450. / 2000, "cc1 (2 processes): 12%");
	figure_is(f, RUN_FIGURE_KERNEL_THREADS, 60. / 2000, "kworker/0:1 (pid 9): 3%");
	figure_is(f, RUN_FIGURE_INTERRUPTS, 300. / 2000, NULL);
	figure_is(f, RUN_FIGURE_INTERRUPTS_ONE, 250. / 1000, "CPU 1");
	figure_is(f, RUN_FIGURE_STEAL, 20. / 2000, NULL);
	figure_is(f, RUN_FIGURE_SELF, 0, NULL);
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, (1700. - 320 - 500 - 60 - 450) / 2000, NULL);
	/* Sessions that have ended are in no list, but were counted. */
	l->m.server_cpu_ns = 9000000000;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, 0, NULL);
	figure_is(f, RUN_FIGURE_OTHERS, 450. / 2000, NULL);
}

static void all_is_known_of_a_process_if_the_server_may_use_all_cpus(void **state)
{
	struct two_looks *l = *state;
	struct table before = { 0 }, after = { 0 };
	const struct run_figures *f;

	l->before.may_use[0] = l->before.may_use[1] = true;
	l->before.all_processes = true;
	cpus_are(l, 0, 500, 0, 0);
	cpus_are(l, 1, 0, 0, 0);
	add(&before, (struct processes_entry) { .pid = OTHER, .st.started = 6 });
	/* The number now belongs to another process: the old one's ticks are not taken off. */
	add(&before,
	    (struct processes_entry) { .pid = OTHER + 1, .st.cpu_ticks = 90, .st.started = 6 });
	add(&after,
	    (struct processes_entry) {
		.pid = OTHER, .st.comm = "a", .st.cpu = 1, .st.cpu_ticks = 100, .st.started = 6 });
	add(&after, (struct processes_entry) {
			.pid = OTHER + 1, .st.comm = "b", .st.cpu_ticks = 100, .st.started = 8 });
	l->before.processes = before.t;
	l->after.processes = after.t;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_OTHERS, 0.1, "a (pid 200): 5%");
	/* One that is called as those of the server, and is none of them. */
	snprintf(l->after.processes.entry[0].st.comm, sizeof("afpd"), "afpd");
	figure_is(looks_between(l), RUN_FIGURE_OTHERS, 0.1, "another server's afpd (pid 200): 5%");
	assert_string_equal(run_kind_another(&kind_smb.is, "smbd"), "another server's ");
	assert_string_equal(run_kind_another(&kind_smb.is, "afpd"), "");
	/* Kinds of any program call theirs by a word, which others may have as their name. */
	assert_string_equal(run_kind_another(&kind_rx.is, "server"), "");
	assert_string_equal(run_kind_another(&kind_any.is, "backend"), "");
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, 0.15, NULL);
}

static void the_cost_of_this_program_is_nobody_else_s(void **state)
{
	struct two_looks *l = *state;
	struct table before = { 0 }, after = { 0 };
	const pid_t self = getpid();
	const struct run_figures *f;

	l->before.may_use[0] = true;
	l->before.all_processes = true;
	cpus_are(l, 0, 800, 0, 0);
	add(&before, (struct processes_entry) { .pid = self, .st.child_ticks = 50 });
	add(&before,
	    (struct processes_entry) { .pid = self + 1, .st.ppid = self, .st.cpu_ticks = 100 });
	/* 100 of its children's ticks are of before the first look. */
	add(&after,
	    (struct processes_entry) { .pid = self, .st.cpu_ticks = 100, .st.child_ticks = 350 });
	add(&after,
	    (struct processes_entry) { .pid = self + 2, .st.ppid = self, .st.cpu_ticks = 200 });
	l->before.processes = before.t;
	l->after.processes = after.t;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_SELF, 0.5, NULL);
	/* How much of the requests' time that is depends on their wait. */
	figure_unknown(f, RUN_FIGURE_SELF_WAIT, NULL);
	figure_is(f, RUN_FIGURE_OTHERS, 0, "");
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, 0.3, NULL);
	run_figure_set(&l->figures, RUN_FIGURE_WAIT_CPU, 0.8);
	assert_int_equal(doctor_machine(&l->figures, &l->m), 0);
	figure_is(f, RUN_FIGURE_SELF_WAIT, 0.5, NULL);
}

/* A build: make waits for shells, which have waited for compilers. */
static void programs_that_have_ended_are_who_waited_for_them(void **state)
{
	struct two_looks *l = *state;
	struct table before = { 0 }, after = { 0 };
	const struct run_figures *f;

	l->before.may_use[0] = true;
	l->before.all_processes = true;
	cpus_are(l, 0, 900, 0, 0);
	add(&before, (struct processes_entry) { .pid = 1, .st.child_ticks = 1000 });
	add(&before, (struct processes_entry) {
			 .pid = OTHER, .st.ppid = 1, .st.comm = "make", .st.child_ticks = 5000 });
	add(&before,
	    (struct processes_entry) { .pid = OTHER + 1, .st.ppid = OTHER, .st.child_ticks = 40 });
	add(&before, (struct processes_entry) {
			 .pid = OTHER + 2, .st.ppid = OTHER + 1, .st.cpu_ticks = 60 });
	/* What its first process has adopted may have lived for ever. */
	add(&after,
	    (struct processes_entry) { .pid = 1, .st.comm = "init", .st.child_ticks = 1900 });
	add(&after, (struct processes_entry) { .pid = OTHER,
					       .st.ppid = 1,
					       .st.comm = "make",
					       .st.cpu_ticks = 10,
					       .st.child_ticks = 5600 });
	l->before.processes = before.t;
	l->after.processes = after.t;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_OTHERS, 0.51, "make (pid 200): 51%");
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, 0.39, NULL);
	/* No more than the CPUs were busy. */
	after.entry[1].st.child_ticks = 50000;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_OTHERS, 0.9, "make (pid 200): 90%");
	figure_is(f, RUN_FIGURE_UNATTRIBUTED, 0, NULL);
}

static void in_a_container_others_are_not_known(void **state)
{
	static const char why[] = "processes outside this container cannot be seen";
	struct two_looks *l = *state;
	const struct run_figures *f;

	l->before.may_use[0] = true;
	cpus_are(l, 0, 800, 0, 0);
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_STEAL, 0, NULL);
	figure_unknown(f, RUN_FIGURE_OTHERS, why);
	figure_unknown(f, RUN_FIGURE_KERNEL_THREADS, why);
	figure_unknown(f, RUN_FIGURE_UNATTRIBUTED, why);
}

static void totals_are_shares_of_the_time_between(void **state)
{
	struct two_looks *l = *state;
	const struct run_figures *f;

	l->before.known[MACHINE_PRESSURE_IO] = l->after.known[MACHINE_PRESSURE_IO] = true;
	l->after.total[MACHINE_PRESSURE_IO] = 2500000; /* us */
	l->before.known[MACHINE_PRESSURE_CPU] = true;
	l->before.memory_b = l->after.memory_b = 1000;
	l->before.available_b = 300;
	l->after.available_b = 400;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_PRESSURE_IO, 0.25, NULL);
	figure_unknown(f, RUN_FIGURE_PRESSURE_CPU, NULL);
	figure_unknown(f, RUN_FIGURE_OTHERS, NULL);
	figure_is(f, RUN_FIGURE_MEMORY_FREE, 0.3, NULL);
	l->after.memory_b = 0;
	l->before.memory_b = 0;
	figure_unknown(looks_between(l), RUN_FIGURE_MEMORY_FREE, NULL);
}

static void the_network_is_counted(void **state)
{
	struct two_looks *l = *state;
	const struct run_figures *f;

	l->before.net = (struct netcounts) {
		.has_tcp = true, .has_fragments = true, .segments = 100, .given_up = 5, .waiting = 4
	};
	l->after.net = (struct netcounts) { .has_tcp = true,
					    .has_fragments = true,
					    .segments = 1100,
					    .retransmitted = 20,
					    .given_up = 9,
					    .waiting = 30 };
	l->before.links = (struct links) { 2, { { "eth0", 1000, 0, 0 }, { "eth1", 0, 0, 0 } } };
	l->after.links = (struct links) { 3,
					  { { "eth0", 1000, 1000, 1175000000 },
					    { "eth1", 0, 1u << 30, 0 },
					    { "eth2", 10, 1u << 30, 0 } } };
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_RETRANS, 0.02, NULL);
	figure_is(f, RUN_FIGURE_REASSEMBLY, 3, NULL);
	figure_is(f, RUN_FIGURE_LINK_USED, 0.94, "eth0 sends 940 Mbit/s of 1000");
	l->before.links.entry[0].speed_mbit = l->after.links.entry[0].speed_mbit = 0;
	l->after.net.has_fragments = false;
	f = looks_between(l);
	figure_unknown(f, RUN_FIGURE_LINK_USED, "no network interface says its speed");
	figure_unknown(f, RUN_FIGURE_REASSEMBLY, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, looks_begin, looks_end)
		EACH(every_tick_of_the_server_s_cpus_is_somebody_s_or_nobody_s),
		EACH(all_is_known_of_a_process_if_the_server_may_use_all_cpus),
		EACH(the_cost_of_this_program_is_nobody_else_s),
		EACH(programs_that_have_ended_are_who_waited_for_them),
		EACH(in_a_container_others_are_not_known),
		EACH(totals_are_shares_of_the_time_between),
		EACH(the_network_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
