/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotplug [CPU]: known calls, and their records, of a process whose CPUs go away and come back;
 * only for a virtual machine. CPU (1) is switched off before the watch begins, on again, and off
 * and on while calls are made on it; the others after it then, too.
 *
 *   reads, CPU 1 off: 20000 of 20000      counted, made
 *   CPUs went and came 6 times
 *   records: 104711 of 104711
 *
 * Exit status: 0 when all is exact, the books are closed and nothing is lost; 77: this CPU cannot
 * be switched off.
 */
#include "bpf/watched.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#define READS  20000
#define ROUNDS 2

struct look {
	struct watched x;
	uint64_t made, records;
	unsigned int cpu, n_cpus, rounds;
	bool ended, exact;
};

static int zero;

static void put(void *user, unsigned int stream, const void *record)
{
	const struct afs_record_calls *c = record;
	struct look *l = user;

	l->records += stream == AFS_STREAM_CALLS && c->class == AFS_CLASS_READ;
}

/* On the CPU that the test says, where that is on, until it may end. */
static void do_reads(struct watched_shared *s)
{
	cpu_set_t one;
	uint64_t n;
	char c;

	CPU_ZERO(&one);
	CPU_SET(s->value[0], &one);
	/* Refused while it is off. */
	while (s->value[1] && sched_setaffinity(0, sizeof(one), &one))
		;
	for (n = 0; n < READS || !__atomic_load_n(&s->value[2], __ATOMIC_ACQUIRE); n++)
		if (read(zero, &c, 1) != 1)
			_exit(1);
	s->value[3] = n;
}

static bool set_online(unsigned int cpu, bool on)
{
	char path[64];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, on ? "1" : "0", 1) == 1;
	if (fd >= 0)
		close(fd);
	return done;
}

/* All of them go and come, one after the other; then the child may end. */
static void *shake(void *arg)
{
	struct look *l = arg;

	for (unsigned int i = 0; i < ROUNDS; i++)
		for (unsigned int cpu = l->cpu; cpu < l->n_cpus; cpu++) {
			l->exact &= set_online(cpu, false) && set_online(cpu, true);
			l->rounds++;
		}
	__atomic_store_n(&l->x.shared->value[2], 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *pull(void *arg)
{
	struct look *l = arg;

	while (!__atomic_load_n(&l->ended, __ATOMIC_ACQUIRE))
		if (watch_pull(l->x.w, 50))
			break;
	return NULL;
}

static bool wrong(const char *what)
{
	printf("error: %s\n", what);
	return false;
}

/* Lets the child make its reads, on a CPU if "bound"; says how many were counted. */
static void step(struct look *l, const char *when, bool bound)
{
	struct watched *x = &l->x;
	uint64_t counted, made;

	x->shared->value[0] = l->cpu;
	x->shared->value[1] = bound;
	l->exact &= watch_settle(x->w) || wrong("not quiet before");
	l->exact &= !watch_read(x->w, &x->before) || wrong("no reading");
	watched_go(x);
	l->exact &= watch_settle(x->w) || wrong("not quiet after");
	l->exact &= !watch_read(x->w, &x->after) || wrong("no reading");
	l->exact &= !ledger_diff(&x->diff, &x->after, &x->before) || wrong("no memory");
	counted = ledger_sum(&x->diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS).calls;
	made = x->shared->value[3];
	printf("reads, CPU %u %s: %llu of %llu\n", l->cpu, when, (unsigned long long)counted,
	       (unsigned long long)made);
	l->exact &= counted == made;
	l->made += made;
	ledger_fini(&x->before);
	ledger_fini(&x->after);
	ledger_fini(&x->diff);
}

static void step_shaken(struct look *l)
{
	pthread_t shaker;

	l->x.shared->value[2] = 0;
	if (pthread_create(&shaker, NULL, shake, l))
		exit(1);
	step(l, "goes and comes", true);
	pthread_join(shaker, NULL);
	printf("CPUs went and came %u times\n", l->rounds);
}

static void say_account(struct look *l, const struct run *r)
{
	for (size_t i = 0; i < r->n_books; i++)
		if (!r->book[i].closed)
			printf("book %s: open\n", r->book[i].name);
	for (size_t i = 0; i < r->n_losses; i++)
		if (r->loss[i].n)
			printf("loss %s: %llu\n", r->loss[i].what,
			       (unsigned long long)r->loss[i].n);
	for (size_t i = 0; i < r->rungs.n; i++)
		if (!strncmp(r->rungs.note[i].key, "calls", 5))
			printf("rung %s: %s\n", r->rungs.note[i].key, r->rungs.note[i].text);
	l->exact &= run_books_closed(r) && !run_losses(r);
}

static void open_watch(struct look *l)
{
	struct watch_opts opts = {
		.mode = WATCH_BPF,
		.sink = { .what = AFS_TRACE_SMALL | AFS_TRACE_CALLS, .user = l, .put = put },
	};
	struct target t = { .server = l->x.pid };
	struct err e = {};

	if (!watch_open_traced(&l->x.w, &opts, &t, &e))
		return;
	printf("error: %s\n", e.text);
	exit(1);
}

static void finish(struct look *l, pthread_t puller)
{
	struct run r;

	watch_stop(l->x.w);
	__atomic_store_n(&l->ended, true, __ATOMIC_RELEASE);
	pthread_join(puller, NULL);
	watch_pull(l->x.w, 0);
	if (run_init(&r, "test", "test") || watch_finish(l->x.w, &r))
		exit(1);
	say_account(l, &r);
	run_fini(&r);
	printf("records: %llu of %llu\n", (unsigned long long)l->records,
	       (unsigned long long)l->made);
	l->exact &= l->records == l->made;
	watch_free(l->x.w);
	kill(l->x.pid, SIGKILL);
	waitpid(l->x.pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct look l = { .exact = true, .cpu = argc > 1 ? (unsigned int)atoi(argv[1]) : 1 };
	pthread_t puller;

	setvbuf(stdout, NULL, _IOLBF, 0);
	l.n_cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	zero = open("/dev/zero", O_RDONLY);
	watched_start(&l.x, do_reads);
	l.x.shared->value[2] = 1;
	if (!set_online(l.cpu, false)) {
		printf("CPU %u cannot be switched off here\n", l.cpu);
		kill(l.x.pid, SIGKILL);
		return 77;
	}
	open_watch(&l);
	if (pthread_create(&puller, NULL, pull, &l))
		return 1;
	step(&l, "off", false);
	l.exact &= set_online(l.cpu, true) || wrong("not on again");
	step(&l, "on again", true);
	step_shaken(&l);
	step(&l, "on at last", true);
	finish(&l, puller);
	return !l.exact;
}
