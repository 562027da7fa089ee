/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A million requests to a server that keeps the truth, and the requests ledger must say the same.
 * Tests bpf/request.h, follow.h, cursor.h, decoders.h, bpf/decode/dsi.h.
 */
#include "watched.h"

#include "ref/compare.h"
#include "ref/driver.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct variant {
	struct ref_plan plan;
	struct ref_mix mix;
	int sndbuf; /* of the server's end; 0: as it is */
	bool tcp;
	bool high; /* descriptor, beyond those whose object is remembered */
};

struct rig {
	struct variant v;
	struct ref_files files;
	struct ref_shared *s;
	struct ref_tally *before, *made; /* the truth before the step, and of the step */
	struct ref_driver driver;
	struct ref_mix mix; /* of the step */
	void (*drive)(struct ref_driver *d, const struct ref_mix *mix);
	struct watched x;
	int client, server;
};

/* One for the test and, copied, its child. */
static struct rig rig;

static void serve_step(struct watched_shared *s)
{
	(void)s;
	ref_serve(rig.server, &rig.v.plan, &rig.files, rig.s);
}

static void connect_tcp(int end[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	end[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(end[0], (struct sockaddr *)&addr, sizeof(addr)), 0);
	end[1] = accept(listener, NULL, NULL);
	assert_true(end[1] >= 0);
	for (int i = 0; i < 2; i++)
		setsockopt(end[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}

static void rig_connect(const struct variant *v)
{
	int end[2];

	if (v->tcp)
		connect_tcp(end);
	else
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	rig.client = end[0];
	rig.server = v->high ? fcntl(end[1], F_DUPFD, AFS_N_FDS + 20) : end[1];
	assert_true(rig.server >= 0);
	if (v->high)
		close(end[1]);
	if (v->sndbuf)
		setsockopt(rig.server, SOL_SOCKET, SO_SNDBUF, &v->sndbuf, sizeof(v->sndbuf));
	if (v->plan.waits)
		assert_int_equal(
		    fcntl(rig.server, F_SETFL, fcntl(rig.server, F_GETFL) | O_NONBLOCK), 0);
}

/* Server and client are there; nobody watches. */
static void rig_start(const struct variant *v)
{
	memset(&rig, 0, sizeof(rig));
	rig.v = *v;
	rig.drive = ref_driver_run;
	rig.before = calloc(1, sizeof(*rig.before));
	rig.made = calloc(1, sizeof(*rig.made));
	assert_true(rig.before && rig.made);
	rig.s = ref_shared_new();
	ref_files_open(&rig.files);
	rig_connect(v);
	watched_start(&rig.x, serve_step);
	ref_driver_init(&rig.driver, rig.client, &rig.v.plan, rig.s);
}

static void rig_watch(void)
{
	struct stat st;

	assert_int_equal(fstat(rig.server, &st), 0);
	watched_open(&rig.x, (struct target) { .client = st.st_ino });
}

#define LOST_BYTES   "bytes of connections"
#define LOST_ANSWERS "without an answer"
#define LOST_FLIGHT  "too many in flight"
#define LOST_STEPS   "more frames than"
#define BEFORE       "requests had begun before"

/* Ends the watch, in which something was lost: the losses, added to what may be, are all. */
static void watched_end_lossy(struct watched *x, const char *may[], uint64_t n[])
{
	struct run r;
	size_t k;

	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_true(watch_settle(x->w));
	assert_int_equal(watch_finish(x->w, &r), 0);
	for (size_t i = 0; i < r.n_losses; i++) {
		for (k = 0; may[k]; k++)
			if (strstr(r.loss[i].what, may[k]))
				break;
		if (may[k])
			n[k] += r.loss[i].n;
		else if (r.loss[i].n)
			fail_msg("%s: %llu", r.loss[i].what, (unsigned long long)r.loss[i].n);
	}
	for (k = 0; may[k]; k++) {
		const char *note = run_note_find(&r.rungs, "requests.before");

		if (!strcmp(may[k], BEFORE) && note)
			n[k] += strtoull(note, NULL, 10);
	}
	run_fini(&r);
	watch_free(x->w);
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	munmap(x->shared, sizeof(*x->shared));
}

/* n: how much was lost of each of may, up to NULL; may NULL: nothing may be lost. */
static void rig_stop(const char *may[], uint64_t n[])
{
	if (may)
		watched_end_lossy(&rig.x, may, n);
	else
		watched_end(&rig.x);
	ledger_fini(&rig.x.diff);
	ref_driver_fini(&rig.driver);
	ref_files_close(&rig.files);
	ref_shared_free(rig.s);
	close(rig.client);
	close(rig.server);
	free(rig.before);
	free(rig.made);
}

static void *drive(void *arg)
{
	(void)arg;
	rig.drive(&rig.driver, &rig.mix);
	ref_driver_close(&rig.driver);
	return NULL;
}

/* One call of ref_serve; rig.made is the truth about it, rig.x.diff the ledger. */
static void rig_step(const struct ref_mix *mix)
{
	struct ref_cell *waits;
	pthread_t thread;

	rig.mix = *mix;
	*rig.before = rig.s->tally;
	ledger_fini(&rig.x.diff);
	assert_int_equal(pthread_create(&thread, NULL, drive, NULL), 0);
	watched_step(&rig.x);
	pthread_join(thread, NULL);
	*rig.made = rig.s->tally;
	ref_tally_subtract(rig.made, rig.before);
	/* The step's own. */
	waits =
	    &rig.made->cell[AFS_ROLE_SERVER][AFS_ACCOUNT_BETWEEN][AFS_CLASS_WAIT][AFS_OBJECT_NONE];
	waits->calls += rig.x.shared->waits - rig.x.waits_before;
}

static void rig_compare(void)
{
	struct ref_compare c = {
		.got = &rig.x.diff,
		.want = rig.made,
		.waits_together = rig.v.plan.swaps,
		.out = stderr,
	};

	assert_true(rig.x.diff.has_requests && rig.x.diff.has_calls);
	ref_compare(&c);
	ref_compare_sums(&c);
	if (c.n)
		fail_msg("%u differences between the ledger and what was made", c.n);
}

/* Two noisy threads are in the account of threads, and only they. */
static void rig_check_noise(void)
{
	uint64_t made = ref_tally_calls(rig.made, AFS_ROLE_SERVER, AFS_ACCOUNT_THREADS);

	if (rig.v.plan.n_noise)
		assert_true(made > 0);
	else if (!rig.v.plan.swaps)
		assert_int_equal(made, 0);
}

static void run_variant(const struct variant *v)
{
	const struct ref_mix first = { .seed = 1, .n = 50, .batch_most = 5, .commands = 256 };

	rig_start(v);
	rig_watch();
	rig_step(&first);
	rig_step(&v->mix);
	rig_compare();
	rig_check_noise();
	rig_stop(NULL, NULL);
}

#define VARIANT(name, ...)                                                                         \
	static void name(void **state)                                                             \
	{                                                                                          \
		const struct variant v = { __VA_ARGS__ };                                          \
                                                                                                   \
		(void)state;                                                                       \
		run_variant(&v);                                                                   \
	}

#define PLAN(r, w, ...) .plan = { .read = REF_READ_##r, .reply = REF_REPLY_##w, __VA_ARGS__ }
#define MIX(seed_, n_, batch, ...)                                                                 \
	.mix = { .seed = seed_, .n = n_, .batch_most = batch, __VA_ARGS__ }

VARIANT(a_server_that_reads_ahead_and_waits_as_afpd,
	PLAN(RECV, WRITEV, .waits = true, .tells = true, .n_noise = 2, .most = 3000),
	MIX(11, 200000, 200, .bulk = 20, .bulk_most = 600), .tcp = true)
VARIANT(plain_reads_and_sends, PLAN(READ, SEND, .most = 300),
	MIX(12, 150000, 200, .bulk = 20, .bulk_most = 100, .bare = true))
VARIANT(requests_in_pieces_of_memory, PLAN(READV, SENDMSG, .tells = true, .most = 300),
	MIX(13, 100000, 200, .bulk = 20, .bulk_most = 3000))
VARIANT(recvmsg_and_data_from_files, PLAN(RECVMSG, SENDFILE, .most = REF_REPLY_MAX),
	MIX(14, 100000, 100, .bulk = 5, .bulk_most = 600), .tcp = true)
VARIANT(bytes_that_were_only_looked_at, PLAN(PEEK, SPLIT, .tells = true, .n_noise = 1, .most = 90),
	MIX(15, 80000, 50, .bulk = 20, .bulk_most = 600))
VARIANT(one_request_after_the_other, PLAN(EXACT, WRITEV, .most = 300),
	MIX(16, 60000, 2, .bulk = 20, .bulk_most = 600, .bare = true))
VARIANT(requests_split_at_every_byte, PLAN(PIECES, SEND, .waits = true, .most = 90),
	MIX(17, 60000, 50, .bulk = 20, .bulk_most = 200, .pieces = true, .bare = true))
VARIANT(replies_byte_by_byte, PLAN(RECV, BYTES, .tells = true, .most = 90),
	MIX(18, 30000, 50, .pieces = true))
VARIANT(a_client_that_is_slow_to_take_its_replies,
	PLAN(RECV, ALL, .waits = true, .tells = true, .n_noise = 1, .most = REF_REPLY_MAX),
	MIX(19, 8000, 200, .bulk = 20, .bulk_most = 600, .slow = true), .sndbuf = 4096)
VARIANT(a_server_that_waits_once_a_reply_was_taken_in_part,
	PLAN(RECV, SENDFILE, .waits = true, .early = true, .most = REF_REPLY_MAX),
	MIX(25, 4000, 200, .bulk = 20, .bulk_most = 600, .slow = true), .sndbuf = 4096)
VARIANT(bulk_data_in_odd_pieces, PLAN(ALL, WRITEV, .most = 300),
	MIX(20, 12000, 10, .bulk = 500, .bulk_most = REF_BULK_MAX, .pieces = true), .high = true)
VARIANT(bulk_data_that_never_come_to_memory, PLAN(RECV, WRITEV, .splices = true, .most = 90),
	MIX(24, 8000, 20, .bulk = 500, .bulk_most = REF_BULK_MAX, .pieces = true))
VARIANT(bulk_data_that_are_spliced_as_they_come,
	PLAN(RECV, WRITEV, .splices = true, .waits = true, .most = 90),
	MIX(26, 8000, 20, .bulk = 500, .bulk_most = REF_BULK_MAX, .pieces = true), .tcp = true)
VARIANT(several_replies_in_one_write, PLAN(RECV, BATCH, .tells = true, .most = 90),
	MIX(21, 100000, 200, .bulk = 20, .bulk_most = 600, .commands = 64))
/* Place: command that netatalk does not know, any number | exact, all in one account */
VARIANT(all_ways_mixed, PLAN(ALL, ALL, .waits = true, .tells = true, .n_noise = 2, .most = 3000),
	MIX(22, 100000, 200, .bulk = 20, .bulk_most = 2000, .pieces = true, .bare = true),
	.tcp = true)
VARIANT(threads_that_take_turns, PLAN(READ, WRITEV, .swaps = true, .n_noise = 1, .most = 90),
	MIX(23, 20000, 30, .bulk = 20, .bulk_most = 600))

/* Two plain steps of requests in which nothing may be wrong. */
static void rig_check_plain(void)
{
	const struct ref_mix mix = { .seed = 31, .n = 500, .batch_most = 30, .commands = 70 };

	rig.drive = ref_driver_run;
	for (int i = 0; i < 2; i++) {
		rig_step(&mix);
		rig_compare();
	}
}

#define BULK 50000

/* Half of a request is read before the watch begins; its data are random, or like headers. */
static void begin_inside_a_frame(bool alike)
{
	const struct variant v = { PLAN(RECV, WRITEV, .n_noise = 1, .most = 300),
				   MIX(30, 300, 50, .bulk = 20, .bulk_most = 600) };
	const char *may[] = { LOST_BYTES, LOST_ANSWERS, LOST_FLIGHT, LOST_STEPS, BEFORE, NULL };
	static uint8_t data[BULK];
	uint64_t n[5] = {}, random = 30;

	for (size_t i = 0; i < BULK; i++)
		data[i] = alike ? i % 16 == 1 ? 2 : 0 : (uint8_t)ref_random(&random);
	rig_start(&v);
	__atomic_store_n(&rig.x.shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &rig.x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	ref_driver_run(&rig.driver, &v.mix);
	ref_driver_put(&rig.driver, 6, 33, data, BULK);
	/* At what would be the begin of a header. */
	ref_driver_send_part(&rig.driver, 16 + BULK / 2 / 16 * 16);
	rig_watch();
	ref_driver_send(&rig.driver, &v.mix);
	ref_driver_run(&rig.driver, &v.mix);
	ref_driver_close(&rig.driver);
	while (__atomic_load_n(&rig.x.shared->done, __ATOMIC_ACQUIRE) != 1)
		usleep(200);
	rig_check_plain();
	/* What was on its way when the watch began is not lost: it was never the watch's. */
	rig_stop(may, n);
	if (alike)
		return;
	assert_int_equal(n[0] + n[1] + n[2] + n[3], 0);
	assert_int_equal(n[4], 1);
}

static void a_watch_that_begins_inside_a_frame(void **state)
{
	(void)state;
	begin_inside_a_frame(false);
}

static void a_watch_that_begins_inside_data_that_look_like_requests(void **state)
{
	(void)state;
	begin_inside_a_frame(true);
}

#define GARBAGE 100

static void put_garbage(struct ref_driver *d)
{
	memset(d->out + d->out_len, 0xff, GARBAGE);
	d->out_len += GARBAGE;
	__atomic_store_n(&d->s->garbage, GARBAGE, __ATOMIC_RELEASE);
}

/* What is in no frame is read by itself. */
static void drive_garbage(struct ref_driver *d, const struct ref_mix *mix)
{
	ref_driver_run(d, mix);
	put_garbage(d);
	ref_driver_send_part(d, GARBAGE);
	ref_driver_run(d, mix);
}

/* It is read together with requests after it, which cannot be told then. */
static void drive_garbage_with_requests(struct ref_driver *d, const struct ref_mix *mix)
{
	ref_driver_put(d, 2, 30, NULL, 10);
	ref_driver_send(d, mix);
	put_garbage(d);
	for (int i = 0; i < 3; i++)
		ref_driver_put(d, 2, 30, NULL, 10);
	ref_driver_send(d, mix);
}

static void drive_babble(struct ref_driver *d, const struct ref_mix *mix)
{
	ref_driver_run(d, mix);
	d->skip = GARBAGE;
	__atomic_store_n(&d->s->babble, GARBAGE, __ATOMIC_RELEASE);
	ref_driver_run(d, mix);
}

static void lost_bytes_are_counted_and_the_next_header_is_found(void **state)
{
	const struct variant v = { PLAN(READ, SEND, .most = 90), .mix = {} };
	const struct ref_mix mix = { .seed = 32, .n = 40, .batch_most = 7 };
	const char *may[] = { LOST_BYTES, NULL };
	uint64_t n[1] = {};

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_garbage;
	rig_step(&mix);
	rig_compare();
	rig.drive = drive_babble;
	rig_step(&mix);
	rig_compare();
	rig_check_plain();
	rig_stop(may, n);
	assert_int_equal(n[0], 2 * GARBAGE);
}

static void requests_behind_lost_bytes_are_counted_as_lost(void **state)
{
	const struct variant v = { PLAN(READ, SEND, .most = 90), .mix = {} };
	const char *may[] = { LOST_BYTES, LOST_ANSWERS, NULL };
	uint64_t n[2] = {};

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_garbage_with_requests;
	rig_step(&v.mix);
	rig_check_plain();
	rig_stop(may, n);
	assert_int_equal(n[0], GARBAGE + 3 * 26);
	assert_int_equal(n[1], 3);
}

/* One of a command that is never answered, before each that is. */
static void drive_mute(struct ref_driver *d, const struct ref_mix *mix)
{
	for (uint32_t i = 0; i < mix->n; i++) {
		for (int k = 0; k < 3; k++) {
			ref_driver_put(d, 2, 70, NULL, 5);
			ref_driver_put(d, 2, (int)(i + k) % 50, NULL, 10);
		}
		ref_driver_send(d, mix);
	}
}

static void requests_that_are_never_answered_leave_the_others_right(void **state)
{
	const struct variant v = { PLAN(READ, WRITEV, .most = 90, .mute = 70),
				   .mix = { .n = 200 } };
	const char *may[] = { LOST_ANSWERS, NULL };
	uint64_t n[1] = {};

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_mute;
	rig_step(&v.mix);
	rig_compare();
	rig_check_plain();
	rig_stop(may, n);
	assert_int_equal(n[0], 600);
}

/* So many at once. */
static void drive_many(struct ref_driver *d, const struct ref_mix *mix)
{
	for (uint32_t i = 0; i < mix->n; i++)
		ref_driver_put(d, 2, 30 + (int)i % 2, NULL, 1 + mix->bulk_most);
	ref_driver_send(d, mix);
}

/* Requests alike, with ids that follow each other, are remembered as one. */
static void drive_many_alike(struct ref_driver *d, const struct ref_mix *mix)
{
	for (uint32_t i = 0; i < mix->n; i++)
		ref_driver_put(d, 2, 30, NULL, 1);
	ref_driver_send(d, mix);
}

static void more_requests_alike_than_there_is_room_for_others(void **state)
{
	const struct variant v = { PLAN(RECV, SEND, .most = 90), .mix = {} };
	const struct ref_mix mix = { .n = 460 };

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_many_alike;
	rig_step(&mix);
	rig_compare();
	rig_stop(NULL, NULL);
}

static void as_many_requests_as_are_remembered_may_be_read_at_once(void **state)
{
	const struct variant v = { PLAN(READ, SEND, .most = 90), .mix = {} };
	const struct ref_mix small = { .n = AFS_N_QUEUED }, larger = { .n = 250, .bulk_most = 12 };

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_many;
	rig_step(&small);
	rig_compare();
	rig_step(&larger);
	rig_compare();
	rig_stop(NULL, NULL);
}

static void requests_beyond_those_that_are_remembered_are_counted_as_lost(void **state)
{
	const struct variant v = { PLAN(READ, SEND, .most = 90), .mix = {} };
	const struct ref_mix many = { .n = AFS_N_QUEUED + 60 }, most = { .n = 460 };
	const char *may[] = { LOST_FLIGHT, LOST_ANSWERS, LOST_STEPS, LOST_BYTES, NULL };
	uint64_t n[4] = {};

	(void)state;
	rig_start(&v);
	rig_watch();
	rig.drive = drive_many;
	rig_step(&many);
	rig_check_plain();
	rig.drive = drive_many;
	rig_step(&most);
	rig_check_plain();
	rig_stop(may, n);
	assert_true(n[0] >= 60 && n[1] >= 60);
}

static int remove_files(void **state)
{
	(void)state;
	return system("rm -rf " REF_DIR);
}

/* An argument is the name of a test, or a pattern. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_reads_ahead_and_waits_as_afpd),
		cmocka_unit_test(plain_reads_and_sends),
		cmocka_unit_test(requests_in_pieces_of_memory),
		cmocka_unit_test(recvmsg_and_data_from_files),
		cmocka_unit_test(bytes_that_were_only_looked_at),
		cmocka_unit_test(one_request_after_the_other),
		cmocka_unit_test(requests_split_at_every_byte),
		cmocka_unit_test(replies_byte_by_byte),
		cmocka_unit_test(a_client_that_is_slow_to_take_its_replies),
		cmocka_unit_test(a_server_that_waits_once_a_reply_was_taken_in_part),
		cmocka_unit_test(bulk_data_in_odd_pieces),
		cmocka_unit_test(bulk_data_that_never_come_to_memory),
		cmocka_unit_test(bulk_data_that_are_spliced_as_they_come),
		cmocka_unit_test(several_replies_in_one_write),
		cmocka_unit_test(all_ways_mixed),
		cmocka_unit_test(threads_that_take_turns),
		cmocka_unit_test(a_watch_that_begins_inside_a_frame),
		cmocka_unit_test(a_watch_that_begins_inside_data_that_look_like_requests),
		cmocka_unit_test(lost_bytes_are_counted_and_the_next_header_is_found),
		cmocka_unit_test(requests_behind_lost_bytes_are_counted_as_lost),
		cmocka_unit_test(requests_that_are_never_answered_leave_the_others_right),
		cmocka_unit_test(more_requests_alike_than_there_is_room_for_others),
		cmocka_unit_test(as_many_requests_as_are_remembered_may_be_read_at_once),
		cmocka_unit_test(requests_beyond_those_that_are_remembered_are_counted_as_lost),
	};

	ref_reserve();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
