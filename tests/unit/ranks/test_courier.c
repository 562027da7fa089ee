/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processes that mpirun starts do for their children. MPI is played by shared memory; each
 * rank is a process with a child, as it is in a run. Also tests user/ranks/post.c.
 */
#include "app/cmd.h"
#include "base/clock.h"
#include "ranks/courier.h"
#include "ranks/offset.h"
#include "ranks/post.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define RANKS    4
#define S        1000000000ull
#define AHEAD_NS (3600 * S)
#define ROOM     4096

/* ---- MPI ---- */

/* Operations of a lane: how many each rank has begun, and how many rank 0 has seen to the end. */
static struct fake {
	struct {
		uint32_t begun[RANKS], over[RANKS];
		uint8_t data[RANKS][ROOM];
		size_t len[RANKS];
	} lane[MPI_N_LANES];
	struct {
		int state; /* 1: asked, 2: for the last time, 3: answered */
		uint64_t sent_ns, came_ns;
	} trip[RANKS];
} * fake;

static int fake_rank;
static struct {
	void *to;
	size_t len[RANKS];
	bool gathers;
} fake_under_way[MPI_N_LANES];

static uint32_t fake_get(const uint32_t *n)
{
	return __atomic_load_n(n, __ATOMIC_SEQ_CST);
}

static int fake_begin(enum mpi_lane lane, const void *data, size_t len, void *to, bool gathers)
{
	assert_true(len <= ROOM);
	if (data && len)
		memcpy(fake->lane[lane].data[fake_rank], data, len);
	fake->lane[lane].len[fake_rank] = len;
	fake_under_way[lane].to = to;
	fake_under_way[lane].gathers = gathers;
	__atomic_add_fetch(&fake->lane[lane].begun[fake_rank], 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int fake_broadcast(enum mpi_lane lane, void *data, size_t len)
{
	return fake_begin(lane, fake_rank ? NULL : data, len, data, false);
}

static int fake_gather(enum mpi_lane lane, const void *data, size_t own, void *all,
		       const size_t *len)
{
	if (len)
		memcpy(fake_under_way[lane].len, len, sizeof(fake_under_way[lane].len));
	return fake_begin(lane, data, own, all, true);
}

static void fake_copy(enum mpi_lane lane)
{
	uint8_t *to = fake_under_way[lane].to;

	if (!fake_under_way[lane].gathers && fake_rank)
		memcpy(to, fake->lane[lane].data[0], fake->lane[lane].len[fake_rank]);
	for (int i = 0; fake_under_way[lane].gathers && !fake_rank && i < RANKS; i++) {
		assert_int_equal(fake->lane[lane].len[i], fake_under_way[lane].len[i]);
		memcpy(to, fake->lane[lane].data[i], fake->lane[lane].len[i]);
		to += fake->lane[lane].len[i];
	}
}

/* Over when rank 0 has begun it, then in rank 0 when all have copied; or the other way round. */
static int fake_test(enum mpi_lane lane)
{
	uint32_t *begun = fake->lane[lane].begun, *over = fake->lane[lane].over,
		 n = begun[fake_rank];
	bool first = fake_under_way[lane].gathers ? !fake_rank : fake_rank != 0;

	for (int i = 0; i < RANKS; i++)
		if ((first && fake_get(&begun[i]) < n) ||
		    (!first && (i == 0) != (fake_rank == 0) && fake_get(&over[i]) < n))
			return 0;
	fake_copy(lane);
	__atomic_add_fetch(&over[fake_rank], 1, __ATOMIC_SEQ_CST);
	return 1;
}

static int fake_ask(int rank, int last)
{
	fake->trip[rank].sent_ns = clock_now_ns();
	__atomic_store_n(&fake->trip[rank].state, last ? 2 : 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int fake_answered(int rank, uint64_t trip[4])
{
	if (__atomic_load_n(&fake->trip[rank].state, __ATOMIC_SEQ_CST) != 3)
		return 0;
	trip[0] = fake->trip[rank].sent_ns;
	trip[1] = trip[2] = fake->trip[rank].came_ns;
	trip[3] = clock_now_ns();
	return 1;
}

/* The clock of rank 1 is ahead of ours, that of rank 2 twice as much, and so on. */
static int fake_answer(void)
{
	int state = __atomic_load_n(&fake->trip[fake_rank].state, __ATOMIC_SEQ_CST);

	if (state == 1) {
		fake->trip[fake_rank].came_ns = clock_now_ns() + (unsigned int)fake_rank * AHEAD_NS;
		__atomic_store_n(&fake->trip[fake_rank].state, 3, __ATOMIC_SEQ_CST);
	}
	return state == 2;
}

static const struct mpi_plugin fake_mpi = { .broadcast = fake_broadcast,
					    .gather = fake_gather,
					    .test = fake_test,
					    .ask = fake_ask,
					    .answered = fake_answered,
					    .answer = fake_answer };

/* ---- ranks ---- */

typedef void child_main(int rank, int fd); /* its exit code is 0, or that of exit() */

static _Noreturn void rank_main(int rank, child_main *main_of_child)
{
	struct courier_opts o = { .mpi = &fake_mpi, .rank = rank, .size = RANKS };
	int fd[2], failed, status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fake_rank = rank;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		_exit(1);
	o.fd = fd[0];
	o.child = fork();
	if (!o.child) {
		close(fd[0]);
		main_of_child(rank, fd[1]);
		_exit(0);
	}
	close(fd[1]);
	status = courier_run(&o, &failed);
	_exit(failed ? 99 : WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* All ranks: how each one's child has ended. */
static void run_ranks(child_main *main_of_child, int status[static RANKS])
{
	pid_t pid[RANKS];

	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(fake != MAP_FAILED);
	for (int i = 0; i < RANKS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			rank_main(i, main_of_child);
	}
	for (int i = 0; i < RANKS; i++) {
		assert_int_equal(waitpid(pid[i], &status[i], 0), pid[i]);
		assert_true(WIFEXITED(status[i]));
		status[i] = WEXITSTATUS(status[i]);
	}
	munmap(fake, sizeof(*fake));
}

#define CHECK(what) ((what) ? (void)0 : exit((fprintf(stderr, "%d: %s\n", __LINE__, #what), 1)))

/* What other ranks' children do with an order: they answer it with itself and their number. */
static void answer(int fd, int rank, const struct post *order)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%u of %d: %.*s", order->head.type, rank,
			 (int)order->head.len, order->data ? (char *)order->data : "");

	CHECK(!post_send(fd, POST_ANSWER, 0, text, (size_t)n));
}

static void take(struct post *m, int fd)
{
	uint64_t until_ns = clock_now_ns() + 60 * S;
	int r;

	while (!(r = post_take(m, fd, S)) && clock_now_ns() < until_ns)
		;
	CHECK(r == 1);
}

/* Rank 0: gives an order, and takes all answers. lost: of this rank it is to say why. */
static void order_all(int fd, enum post_type type, const char *text, int lost, const char *why)
{
	struct post_lost gone;
	struct post m = { 0 };
	char wanted[64];
	int n;

	CHECK(!post_send(fd, type, 0, text, strlen(text)));
	for (unsigned int i = 1; i < RANKS; i++) {
		take(&m, fd);
		CHECK(m.head.arg == i);
		n = snprintf(wanted, sizeof(wanted), "%u of %u: %s", type, i, text);
		CHECK(m.head.type == ((int)i == lost ? POST_LOST : POST_ANSWER));
		if ((int)i == lost)
			CHECK(!post_read(&m, &gone, sizeof(gone)) && !strcmp(gone.why, why));
		else
			CHECK(m.head.len == (size_t)n && !memcmp(m.data, wanted, (size_t)n));
	}
	post_fini(&m);
}

/* Until the order that ends the run, whose byte is returned; dies with an order of this type. */
static int follow(int rank, int fd, enum post_type dies_with)
{
	struct post m = { 0 };
	int by_itself;

	for (take(&m, fd); m.head.type != POST_END; take(&m, fd)) {
		if (m.head.type == dies_with)
			raise(SIGKILL);
		answer(fd, rank, &m);
	}
	by_itself = m.head.len == 1 ? *m.data : -1;
	post_fini(&m);
	return by_itself;
}

static void orders_and_answers(int rank, int fd)
{
	if (rank) {
		CHECK(follow(rank, fd, 0) == 1);
		exit(7);
	}
	order_all(fd, POST_HELLO, "hello", 0, "");
	order_all(fd, POST_OPEN, "", 0, "");
	order_all(fd, POST_MAKE, "a longer text", 0, "");
	order_all(fd, POST_REMOVE, "", 0, "");
	exit(3);
}

static void all_are_told_and_answer(void **state)
{
	int status[RANKS];

	(void)state;
	run_ranks(orders_and_answers, status);
	assert_int_equal(status[0], 3);
	for (int i = 1; i < RANKS; i++)
		assert_int_equal(status[i], 7);
}

static void one_dies(int rank, int fd)
{
	if (rank) {
		CHECK(follow(rank, fd, rank == 2 ? POST_MAKE : 0) == 1);
		return;
	}
	order_all(fd, POST_OPEN, "", 0, "");
	order_all(fd, POST_MAKE, "", 2, "it died");
	order_all(fd, POST_REMOVE, "", 2, "it died");
}

static void one_that_dies_is_named_and_not_waited_for(void **state)
{
	uint64_t begun_ns = clock_now_ns();
	int status[RANKS];

	(void)state;
	run_ranks(one_dies, status);
	assert_true(clock_now_ns() - begun_ns < 30 * S);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], 0);
	assert_int_equal(status[2], SIGKILL);
	assert_int_equal(status[3], 0);
}

/* It hears by the end of its connection that it has no more part. */
static void one_is_silent(int rank, int fd)
{
	struct post m = { 0 };
	int r;

	if (rank == 2) {
		take(&m, fd);
		while (!(r = post_take(&m, fd, S)))
			;
		exit(r == -ECONNRESET ? 5 : 1);
	}
	if (rank) {
		CHECK(follow(rank, fd, 0) == 1);
		return;
	}
	/* said before the order: it must not be taken for this one */
	CHECK(!post_send(fd, POST_WORD, POST_STOP, NULL, 0));
	CHECK(!post_send(fd, POST_OPEN, 0, NULL, 0));
	CHECK(!post_take(&m, fd, S / 5));
	CHECK(!post_send(fd, POST_WORD, POST_GIVE_UP, NULL, 0));
	for (unsigned int i = 1; i < RANKS; i++) {
		take(&m, fd);
		CHECK(m.head.arg == i && m.head.type == (i == 2 ? POST_LOST : POST_ANSWER));
		CHECK(i != 2 ||
		      !strcmp(((struct post_lost *)m.data)->why, "it did not answer in time"));
	}
	post_fini(&m);
	order_all(fd, POST_REMOVE, "more", 2, "it did not answer in time");
}

static void one_that_says_nothing_is_given_up(void **state)
{
	int status[RANKS];

	(void)state;
	signal(CMD_STOP_TOLD, SIG_IGN);
	run_ranks(one_is_silent, status);
	signal(CMD_STOP_TOLD, SIG_DFL);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[2], 5);
}

/* A load that has no end but a stop. Then whether rank 0 has closed the run. */
static int work_until_stopped(int rank, int fd)
{
	struct post m = { 0 };
	sigset_t set;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, CMD_STOP_TOLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	take(&m, fd);
	CHECK(m.head.type == POST_LOAD && !sigwait(&set, &sig) && sig == CMD_STOP_TOLD);
	answer(fd, rank, &m);
	post_fini(&m);
	return follow(rank, fd, 0);
}

static void rank_0_stops(int rank, int fd)
{
	struct post m = { 0 };

	if (rank) {
		CHECK(work_until_stopped(rank, fd) == 1);
		return;
	}
	CHECK(!post_send(fd, POST_LOAD, 0, NULL, 0));
	CHECK(!post_take(&m, fd, S / 5));
	CHECK(!post_send(fd, POST_WORD, POST_STOP, NULL, 0));
	for (unsigned int i = 1; i < RANKS; i++)
		take(&m, fd);
	order_all(fd, POST_REMOVE, "", 0, "");
	post_fini(&m);
}

static void rank_0_dies(int rank, int fd)
{
	struct post m = { 0 };

	if (rank) {
		CHECK(work_until_stopped(rank, fd) == 0);
		return;
	}
	CHECK(!post_send(fd, POST_LOAD, 0, NULL, 0));
	CHECK(!post_take(&m, fd, S / 5));
	raise(SIGKILL);
}

static void a_load_ends_when_rank_0_wants_it_or_dies(void **state)
{
	int status[RANKS];

	(void)state;
	run_ranks(rank_0_stops, status);
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(status[i], 0);
	run_ranks(rank_0_dies, status);
	assert_int_equal(status[0], SIGKILL);
	for (int i = 1; i < RANKS; i++)
		assert_int_equal(status[i], 0);
}

/* The error is bounded by what is said of it. */
static void clocks(int rank, int fd)
{
	const struct offset *to;
	struct post m = { 0 };

	if (rank) {
		CHECK(follow(rank, fd, 0) == 1);
		return;
	}
	CHECK(!post_send(fd, POST_CLOCKS, 300, NULL, 0));
	take(&m, fd);
	CHECK(m.head.type == POST_TRIPS && m.head.len == RANKS * sizeof(*to));
	to = (const struct offset *)m.data;
	for (unsigned int i = 1; i < RANKS; i++) {
		CHECK(to[i].n > 0);
		CHECK(llabs(to[i].ahead_ns - (int64_t)(i * AHEAD_NS)) <=
		      (int64_t)to[i].trip_ns / 2 + 1000);
	}
	for (unsigned int i = 1; i < RANKS; i++)
		take(&m, fd);
	order_all(fd, POST_REMOVE, "", 0, "");
	post_fini(&m);
}

static void clocks_are_known_to_half_of_the_shortest_trip(void **state)
{
	int status[RANKS];

	(void)state;
	run_ranks(clocks, status);
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(status[i], 0);
}

static void a_message_of_another_length_is_refused(void **state)
{
	struct post m = { 0 };
	uint32_t number = 7;
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(post_take(&m, fd[1], 0), 0);
	assert_int_equal(post_send(fd[0], POST_ANSWER, 9, &number, sizeof(number)), 0);
	assert_int_equal(post_take(&m, fd[1], S), 1);
	assert_int_equal(m.head.arg, 9);
	assert_int_equal(post_read(&m, &number, sizeof(number) - 1), -EPROTO);
	assert_int_equal(post_read(&m, &number, sizeof(number)), 0);
	assert_int_equal(number, 7);
	close(fd[0]);
	assert_int_equal(post_take(&m, fd[1], S), -ECONNRESET);
	assert_true(post_send(fd[1], POST_ANSWER, 0, &number, sizeof(number)) < 0);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_told_and_answer),
		cmocka_unit_test(one_that_dies_is_named_and_not_waited_for),
		cmocka_unit_test(one_that_says_nothing_is_given_up),
		cmocka_unit_test(a_load_ends_when_rank_0_wants_it_or_dies),
		cmocka_unit_test(clocks_are_known_to_half_of_the_shortest_trip),
		cmocka_unit_test(a_message_of_another_length_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
