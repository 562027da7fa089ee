/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that watches for weeks, in minutes: a server that forks for each connection, clients
 * that log in and out again and again, and a program that watches the server meanwhile. Prints a
 * JSON line for each tenth of the logins: memory, descriptors and CPU time of that program.
 *
 *	bench_forever LOGINS COMMAND...
 *
 * In COMMAND a word {pid} stands for the server's process, and {port} for its port. Ends it with
 * SIGINT, and exits with 1 if it fails.
 */
#include "logins.h"

#include "base/clock.h"
#include "base/procstat.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

#define WAIT_NS    60000000000u
#define STEP_US    20000
#define IDLE_TICKS 5 /* in half a second */

struct size {
	uint64_t logins, rss_kib, fds, cpu_ticks;
};

static uint64_t count_fds(pid_t pid)
{
	char path[64];
	uint64_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	must(d != NULL, path);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* The least of some looks: files of /proc are open for a moment now and then. */
static uint64_t fds_of(pid_t pid)
{
	uint64_t least = count_fds(pid), n;

	for (int i = 0; i < 10; i++) {
		usleep(2000);
		n = count_fds(pid);
		least = n < least ? n : least;
	}
	return least;
}

static uint64_t cpu_ticks_of(pid_t pid)
{
	struct procstat st;

	must(!procstat_read(&st, pid), "stat");
	return st.cpu_ticks;
}

static void run(const struct logins *l, char **word)
{
	char pid[16], port[16];

	snprintf(pid, sizeof(pid), "%d", l->server);
	snprintf(port, sizeof(port), "%u", ntohs(l->at.sin_port));
	for (char **w = word; *w; w++) {
		if (!strcmp(*w, "{pid}"))
			*w = pid;
		else if (!strcmp(*w, "{port}"))
			*w = port;
	}
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(*word, word);
	perror(*word);
	_exit(127);
}

/* Of a program and its children: the exporter has one for each place that its metrics go to. */
static void add_family(struct size *s, pid_t pid)
{
	char path[64];
	pid_t child;
	FILE *f;

	s->rss_kib += logins_rss_kib(pid);
	s->fds += fds_of(pid);
	s->cpu_ticks += cpu_ticks_of(pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	must(f != NULL, path);
	while (fscanf(f, "%d", &child) == 1)
		add_family(s, child);
	fclose(f);
}

static struct size say(const struct logins *l, pid_t pid, uint64_t begun_ns)
{
	struct size s = { .logins = *l->made };

	add_family(&s, pid);

	printf("{\"logins\": %" PRIu64 ", \"rss_kib\": %" PRIu64 ", \"fds\": %" PRIu64
	       ", \"cpu_s\": %.2f, \"s\": %.1f}\n",
	       s.logins, s.rss_kib, s.fds, (double)s.cpu_ticks / (double)sysconf(_SC_CLK_TCK),
	       (double)(clock_now_ns() - begun_ns) / 1e9);
	fflush(stdout);
	return s;
}

/* Until it opens nothing more and has nearly no work: beside many processes the start takes long.
 */
static void wait_for_watch(pid_t pid)
{
	uint64_t end = clock_now_ns() + WAIT_NS, n = 0, ticks = 0, before, used;
	int same = 0;

	while (same < 4 && clock_now_ns() < end) {
		before = n;
		used = ticks;
		usleep(500000);
		n = fds_of(pid);
		ticks = cpu_ticks_of(pid);
		same = n == before && ticks - used <= IDLE_TICKS ? same + 1 : 0;
	}
	must(same == 4, "the program is still busy with its start");
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, due = n / 10, begun_ns;
	struct size now;
	struct logins l;
	int status;
	pid_t pid;

	if (!n) {
		fprintf(stderr, "usage: bench_forever LOGINS COMMAND...\n");
		return 2;
	}
	prctl(PR_SET_NAME, "afpd");
	logins_serve(&l);
	pid = child();
	if (!pid)
		run(&l, argv + 2);
	wait_for_watch(pid);
	begun_ns = clock_now_ns();
	logins_begin(&l, n);
	while (!logins_ended(&l)) {
		usleep(STEP_US);
		if (*l.made < due)
			continue;
		say(&l, pid, begun_ns);
		due += n / 10;
	}
	sleep(1);
	now = say(&l, pid, begun_ns);
	kill(pid, SIGINT);
	must(waitpid(pid, &status, 0) == pid, "wait");
	logins_stop(&l);
	if (status || now.logins != n) {
		fprintf(stderr, "%" PRIu64 " logins, status %#x\n", now.logins, status);
		return 1;
	}
	return 0;
}
