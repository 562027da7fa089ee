/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How processes of the server end, as the kernel says it.
 * Tests user/watch/bpf/slots.c.
 */
#include "watched.h"

#define HEAD 16

static struct watched_ends ends;

/* One request; then it ends in the way that value[0] says: a signal, or 256 + an exit status. */
static void serve_and_end(struct watched_shared *s)
{
	uint8_t frame[HEAD + 1] = { 0, 2, 0, 1, [11] = 1, [HEAD] = 8 },
			     reply[HEAD] = { 1, 2, 0, 1 };

	if (s->value[0] >= 256)
		_exit((int)s->value[0] - 256);
	if (s->value[0]) {
		signal((int)s->value[0], SIG_DFL); /* cmocka has handlers */
		raise((int)s->value[0]);
	}
	if (send(ends.client, frame, sizeof(frame), 0) != sizeof(frame) ||
	    recv(ends.server, frame, sizeof(frame), 0) != sizeof(frame) ||
	    send(ends.server, reply, HEAD, 0) != HEAD || recv(ends.client, reply, HEAD, 0) != HEAD)
		_exit(1);
}

static const struct ending {
	uint64_t how; /* as value[0] */
	size_t counter;
	int signal, status;
} ways[] = {
	{ 256, offsetof(struct run_ends, clean), 0, 0 },
	{ 256 + 3, offsetof(struct run_ends, failed), 0, 3 },
	{ 256 + 139, offsetof(struct run_ends, failed), 0, 139 }, /* as a shell has a SIGSEGV */
	{ SIGSEGV, offsetof(struct run_ends, crashed), SIGSEGV, 0 },
	{ SIGABRT, offsetof(struct run_ends, crashed), SIGABRT, 0 },
	{ SIGBUS, offsetof(struct run_ends, crashed), SIGBUS, 0 },
	{ SIGKILL, offsetof(struct run_ends, killed), SIGKILL, 0 },
	{ SIGTERM, offsetof(struct run_ends, killed), SIGTERM, 0 },
};

static uint64_t ended(const struct run_ends *e)
{
	return e->clean + e->failed + e->crashed + e->killed;
}

static void end_so(struct watched *x, const struct ending *way)
{
	struct run_ends e;

	x->shared->value[0] = way->how;
	__atomic_add_fetch(&x->shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	waitpid(x->pid, NULL, 0);
	for (int i = 0; i < 1000; i++) {
		watch_tick(x->w);
		e = watch_ends(x->w, AFS_ROLE_SERVER);
		if (ended(&e))
			break;
		usleep(2000);
	}
	assert_true(e.known);
	assert_int_equal(ended(&e), 1);
	assert_int_equal(*(const uint64_t *)((const char *)&e + way->counter), 1);
	assert_int_equal(e.pid, way->signal || way->status ? x->pid : 0);
	assert_int_equal(e.signal, way->signal);
	assert_int_equal(e.status, way->status);
	e = watch_ends(x->w, AFS_ROLE_BACKEND);
	assert_true(e.known && !ended(&e));
}

static void each_way_to_end_is_told_from_the_others(void **state)
{
	const struct watch_sink sink = { .what = AFS_TRACE_LIVE };
	struct watched x;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_ends e;

		watched_serve(&x, &ends, serve_and_end, &sink);
		watched_go(&x);
		e = watch_ends(x.w, AFS_ROLE_SERVER);
		assert_true(e.known && !ended(&e));
		end_so(&x, &ways[i]);
		watch_free(x.w);
		munmap(x.shared, sizeof(*x.shared));
		watched_close(&ends);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_to_end_is_told_from_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
