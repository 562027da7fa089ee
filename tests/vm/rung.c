/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rung [THREADS READS]: what a watch can do on this kernel, in lines that matrix.sh looks for. A
 * child with THREADS threads (1), all on one CPU, makes READS reads (100) in each of them.
 *
 *   rung KEY: TEXT        which way was taken, and why not the others
 *   absent KEY: TEXT      what is not measured, and why
 *   warning KEY: TEXT
 *   reads: 100 of 100     counted, made; or "reads: not counted"
 *   book NAME: closed     or open
 *   loss WHAT: 0
 *
 * Exit status: 0 when what was counted is exact, its books are closed and nothing is lost.
 */
#include "bpf/watched.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

static void *read_zero(void *arg)
{
	const struct watched_shared *s = arg;
	int fd = open("/dev/zero", O_RDONLY);
	char c;

	for (uint64_t i = 0; i < s->value[1]; i++)
		if (read(fd, &c, 1) != 1)
			_exit(1);
	close(fd);
	return NULL;
}

/* value[0] threads make value[1] reads each. */
static void do_crowd(struct watched_shared *s)
{
	pthread_t thread[s->value[0]];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		_exit(1);
	for (uint64_t i = 0; i < s->value[0]; i++)
		if (pthread_create(&thread[i], NULL, read_zero, s))
			_exit(1);
	for (uint64_t i = 0; i < s->value[0]; i++)
		pthread_join(thread[i], NULL);
}

/* The CNID server's apart: there is none. */
static void print_notes(const char *what, const struct run_notes *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (!in->note[i].key || strncmp(in->note[i].key, "cnid", 4))
			printf("%s %s: %s\n", what, in->note[i].key ? in->note[i].key : "-",
			       in->note[i].text);
}

/* The account at the end; false when something is open or lost. */
static bool print_account(const struct run *r)
{
	print_notes("rung", &r->rungs);
	print_notes("absent", &r->absent);
	print_notes("warning", &r->warnings);
	for (size_t i = 0; i < r->n_books; i++)
		printf("book %s: %s\n", r->book[i].name, r->book[i].closed ? "closed" : "open");
	for (size_t i = 0; i < r->n_losses; i++)
		printf("loss %s: %llu\n", r->loss[i].what, (unsigned long long)r->loss[i].n);
	return run_books_closed(r) && !run_losses(r);
}

static void step(struct watched *x)
{
	__atomic_store_n(&x->shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!__atomic_load_n(&x->shared->done, __ATOMIC_ACQUIRE))
		usleep(1000);
}

/* Says what went wrong. */
static bool wrong(const char *what)
{
	printf("error: %s\n", what);
	return false;
}

/* Watches one step of the child; false when the counts are not its calls. */
static bool watch_step(struct watched *x, uint64_t made)
{
	struct target t = { .server = x->pid };
	struct err e = {};
	uint64_t counted;
	bool exact;
	struct run r;

	if (watch_open_target(&x->w, WATCH_AUTO, &t, &e))
		return wrong(e.text);
	exact = watch_settle(x->w) || wrong("not quiet before");
	if (watch_read(x->w, &x->before))
		return wrong("no memory");
	step(x);
	exact &= watch_settle(x->w) || wrong("not quiet after");
	if (watch_read(x->w, &x->after) || ledger_diff(&x->diff, &x->after, &x->before))
		return wrong("no memory");
	if (x->diff.has_calls) {
		counted =
		    ledger_sum(&x->diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS).calls;
		printf("reads: %llu of %llu\n", (unsigned long long)counted,
		       (unsigned long long)made);
		exact &= counted == made;
	} else {
		printf("reads: not counted\n");
	}
	if (run_init(&r, "test", "test") || watch_finish(x->w, &r))
		return wrong("no memory");
	exact &= print_account(&r);
	run_fini(&r);
	watch_free(x->w);
	return exact;
}

int main(int argc, char **argv)
{
	uint64_t threads = argc == 3 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t reads = argc == 3 ? strtoull(argv[2], NULL, 10) : 100;
	struct watched x;
	bool exact;

	watched_start(&x, do_crowd);
	x.shared->value[0] = threads;
	x.shared->value[1] = reads;
	exact = watch_step(&x, threads * reads);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	return exact ? 0 : 1;
}
