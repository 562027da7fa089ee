/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_DELAYS_RIG_H
#define TESTS_BPF_DELAYS_RIG_H

/* The server of ref/delays.h with its CNID servers, watched, and a client that sends requests. */

#include "watched.h"

#include "ref/delays.h"
#include "ref/work.h"
#include "run/account.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define HEAD  16
#define TURNS 4

struct rig {
	struct ref_delays d;
	pid_t holder, cnid[REF_CNID_SERVERS], rival;
	struct watched x;
};

static struct rig rig;

static inline void serve(struct watched_shared *s)
{
	(void)s;
	ref_delays_serve(&rig.d);
}

static inline pid_t start(void (*fn)(struct ref_delays *d))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fn(&rig.d);
	_exit(1);
}

static inline void serve_cnid_1(struct ref_delays *d)
{
	ref_delays_serve_cnid(d, 0);
}

static inline void serve_cnid_2(struct ref_delays *d)
{
	ref_delays_serve_cnid(d, 1);
}

/* What is set of rig.d before. */
static inline void rig_start_set(void)
{
	struct stat st;

	ref_delays_open(&rig.d);
	rig.holder = start(ref_delays_hold);
	rig.cnid[0] = start(serve_cnid_1);
	rig.cnid[1] = start(serve_cnid_2);
	for (int i = 0; i < REF_CNID_SERVERS; i++) {
		close(rig.d.asked[i]);
		rig.d.asked[i] = -1;
	}
	watched_start(&rig.x, serve);
	assert_int_equal(fstat(rig.d.server, &st), 0);
	while (__atomic_load_n(&rig.d.truth->ready, __ATOMIC_ACQUIRE) < REF_CNID_SERVERS)
		usleep(1000);
	/* Into its first call. */
	usleep(20000);
	watched_open(&rig.x, (struct target) { .client = st.st_ino });
}

static inline void rig_start(bool waits, bool reads_first)
{
	memset(&rig, 0, sizeof(rig));
	rig.d.waits = waits;
	rig.d.reads_first = reads_first;
	rig_start_set();
}

static inline void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* run_fini of r. */
static inline void rig_finish(struct run *r)
{
	watched_finish(&rig.x, r);
	end_process(rig.holder);
	for (int i = 0; i < REF_CNID_SERVERS; i++)
		end_process(rig.cnid[i]);
	end_process(rig.rival);
	ref_delays_close(&rig.d);
}

static inline void rig_stop(void)
{
	struct run r;

	rig_finish(&r);
	run_fini(&r);
}

/* The rest of a request, in two pieces. */
static inline void upload(void)
{
	static const char data[REF_UPLOAD];

	for (size_t at = 0; at < sizeof(data); at += sizeof(data) / 2) {
		usleep(REF_HOLD_NS / 2000);
		assert_int_equal(send(rig.d.client, data, sizeof(data) / 2, 0), sizeof(data) / 2);
	}
}

/* One request and its reply, of which the client lets the first byte wait. */
static inline void request(int command, uint64_t wait_ns)
{
	static uint8_t buf[HEAD + REF_LARGE];
	static uint16_t id;
	size_t len = HEAD, at = 0;
	ssize_t r;

	memset(buf, 0, HEAD + 1);
	buf[1] = command ? 2 : 1;
	buf[2] = (uint8_t)(++id >> 8);
	buf[3] = (uint8_t)id;
	buf[11] = 1;
	if (command == REF_DO_UPLOAD) {
		buf[10] = (REF_UPLOAD + 1) >> 8;
		buf[11] = (REF_UPLOAD + 1) & 255;
	}
	buf[HEAD] = (uint8_t)command;
	assert_int_equal(send(rig.d.client, buf, HEAD + 1, 0), HEAD + 1);
	if (command == REF_DO_UPLOAD)
		upload();
	if (!command)
		return;
	if (wait_ns)
		usleep((useconds_t)(wait_ns / 1000));
	for (; at < len; at += (size_t)r) {
		r = recv(rig.d.client, buf + at, sizeof(buf) - at, 0);
		assert_true(r > 0);
		if (at + (size_t)r >= HEAD)
			len = HEAD + ((size_t)buf[9] << 16 | (size_t)buf[10] << 8 | buf[11]);
	}
}

static inline void *write_pipe_later(void *arg)
{
	(void)arg;
	usleep(REF_HOLD_NS / 1000);
	REF_MUST(write(rig.d.pipe[1], "x", 1) == 1);
	return NULL;
}

/* What has to happen around a command. */
static inline void delayed(int command)
{
	pthread_t thread;
	char byte = 0;

	switch (command) {
	case REF_DO_LOCK:
	case REF_DO_FLOCK:
	case REF_DO_ASK + REF_ASK_LOCK:
	case REF_DO_ASK2 + REF_ASK_LOCK:
		assert_int_equal(write(rig.d.to_holder[1], &byte, 1), 1);
		assert_int_equal(read(rig.d.from_holder[0], &byte, 1), 1);
		request(command, 0);
		break;
	case REF_DO_PIPE:
	case REF_DO_ASK + REF_ASK_PIPE:
		assert_int_equal(pthread_create(&thread, NULL, write_pipe_later, NULL), 0);
		request(command, 0);
		pthread_join(thread, NULL);
		break;
	default:
		request(command, command == REF_DO_LARGE ? REF_HOLD_NS : 0);
	}
}

struct load {
	int command, then; /* then: another command after it, 0: none */
	int turns;
};

static inline void *drive(void *arg)
{
	const struct load *l = arg;

	for (int i = 0; i < l->turns; i++) {
		delayed(l->command);
		if (l->then)
			delayed(l->then);
	}
	request(0, 0);
	return NULL;
}

/* So many requests of two commands by turns; rig.x.diff is what was counted. */
static inline void rig_step_two(int command, int then, int turns)
{
	struct load l = { command, then, turns };
	pthread_t thread;

	ledger_fini(&rig.x.diff);
	memset(rig.d.truth->ns, 0, sizeof(rig.d.truth->ns));
	assert_int_equal(pthread_create(&thread, NULL, drive, &l), 0);
	watched_step(&rig.x);
	pthread_join(thread, NULL);
}

static inline void rig_step(int command, int turns)
{
	rig_step_two(command, 0, turns);
}

typedef unsigned long long ull;

/* The columns of an account, which must add up to its time, and all of it be explained. */
static inline const struct ledger_account *columns(int command, uint64_t n,
						   uint64_t out[ACCOUNT_N_COLUMNS])
{
	const struct ledger_account *a = ledger_account(&rig.x.diff, (unsigned int)command);
	uint64_t sum = 0, gap;

	assert_non_null(a);
	account_times(&rig.x.diff, AFS_ROLE_SERVER, (unsigned int)command, out);
	for (int i = 0; i < ACCOUNT_N_COLUMNS; i++)
		sum += out[i];
	assert_int_equal(a->sum.answered, n);
	gap = sum > a->sum.ns ? sum - a->sum.ns : a->sum.ns - sum;
	if (gap > a->sum.ns / 1000 || a->sum.unexplained_ns > a->sum.ns / 1000)
		fail_msg("command %d: columns are %llu ns, requests %llu ns, unexplained %llu ns",
			 command, (ull)sum, (ull)a->sum.ns, (ull)a->sum.unexplained_ns);
	if (a->sum.unexplained > n / 100)
		fail_msg("command %d: %llu of %llu requests have time that is in no part", command,
			 (ull)a->sum.unexplained, (ull)n);
	return a;
}

/* A disk that blocks is the real one: where the sync does not last, nothing is asserted. */
static inline bool syncs_last(int command)
{
	if (rig.d.truth->ns[command] >= TURNS * REF_MS)
		return true;
	print_message("    fdatasync takes no time here\n");
	return false;
}

static inline void pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
}

static inline int remove_files(void **state)
{
	(void)state;
	return system("rm -rf " REF_DIR);
}

#endif
