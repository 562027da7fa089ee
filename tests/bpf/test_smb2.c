/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB2: known requests and replies in, exactly these counted, however they are split, and what a
 * thread did for each until it parked it. Tests bpf/decode/smb2.h, bpf/park.h, bpf/commands.h.
 */
#include "smb2_frames.h"

#include <sys/epoll.h>
#include <sys/uio.h>

#define TURNS_HERE 10
#define WORK       7

static void loop_once(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	epoll_wait(fd, &event, 1, 0);
	close(fd);
}

static const size_t pieces[] = { 1, 3, 4, 7, 36, 64, 68, 4096 };
#define N_PIECES 8

static void in_pieces(struct watched_shared *s)
{
	uint64_t id = 0;

	(void)s;
	connect_one(0);
	for (size_t i = 0; i < N_PIECES; i++) {
		struct bytes in = { 0 }, out = { 0 };

		request(&in, AFS_SMB2_READ, id, 49);
		come(&in, pieces[i]);
		reply(&out, AFS_SMB2_READ, id++, i % 2 ? 0xc0000011 : 0, 200);
		go(&out, pieces[i]);
	}
}

static void any_split_is_counted(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, in_pieces, &r);
	check(&g, AFS_SMB2_READ, N_PIECES, N_PIECES * 113, N_PIECES * 264);
	assert_int_equal(counted(&g, AFS_SMB2_READ)->errors, N_PIECES / 2);
	assert_int_equal(counted(&g, AFS_SMB2_READ)->parked, 0);
	assert_int_equal(run_losses(&r), 0);
	assert_int_equal(r.session[0].requests, N_PIECES);
	done(&g, &r);
}

static void serve_each(struct watched_shared *s)
{
	(void)s;
	connect_one(0);
	for (uint64_t id = 0; id < TURNS_HERE; id++) {
		come_as_to_smbd(AFS_SMB2_CREATE, id);
		work(WORK);
		go_one(AFS_SMB2_CREATE, id);
		loop_once();
	}
}

static void a_request_is_of_the_thread_that_reads_and_answers_it(void **state)
{
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, serve_each, &r);
	check(&g, AFS_SMB2_CREATE, TURNS_HERE, TURNS_HERE * 80, TURNS_HERE * 80);
	/* The read that completes the header, the work, and the write of the reply. */
	assert_int_equal(calls_for(&g, AFS_SMB2_CREATE), TURNS_HERE * (WORK + 2));
	a = counted(&g, AFS_SMB2_CREATE);
	assert_int_equal(a->parked, 0);
	assert_true(a->unexplained_ns <= a->ns / 100);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* READ 1 is read and given to another thread; ECHO 2 comes and is answered first. */
static void park_and_answer(struct watched_shared *s)
{
	(void)s;
	connect_one(0);
	come_as_to_smbd(AFS_SMB2_READ, 1);
	work(3);
	loop_once();
	work(5);
	come_as_to_smbd(AFS_SMB2_ECHO, 2);
	work(2);
	go_one(AFS_SMB2_ECHO, 2);
	loop_once();
	work(4);
	go_one(AFS_SMB2_READ, 1);
	/* WRITE 3 is read, and without a wait ECHO 4; they are answered the other way round. */
	come_as_to_smbd(AFS_SMB2_WRITE, 3);
	work(6);
	come_as_to_smbd(AFS_SMB2_ECHO, 4);
	work(2);
	go_one(AFS_SMB2_ECHO, 4);
	go_one(AFS_SMB2_WRITE, 3);
}

static void a_request_that_waits_for_others_is_parked(void **state)
{
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, park_and_answer, &r);
	check(&g, AFS_SMB2_ECHO, 2, 160, 160);
	assert_int_equal(calls_for(&g, AFS_SMB2_ECHO), 2 * (2 + 2));
	assert_int_equal(counted(&g, AFS_SMB2_ECHO)->parked, 0);
	check(&g, AFS_SMB2_READ, 1, 80, 80);
	/* Until the wait: its read, the work, and epoll_create1. */
	assert_int_equal(calls_for(&g, AFS_SMB2_READ), 1 + 3 + 1);
	check(&g, AFS_SMB2_WRITE, 1, 80, 80);
	/* And the client's send of the next request, as it is the same thread here. */
	assert_int_equal(calls_for(&g, AFS_SMB2_WRITE), 1 + 6 + 1);
	for (unsigned int number = AFS_SMB2_READ; number <= AFS_SMB2_WRITE; number++) {
		a = counted(&g, number);
		assert_int_equal(a->parked, 1);
		assert_int_equal(a->parked_ns, a->ns);
		assert_in_range(a->had_ns, 1, a->ns - 1);
		assert_int_equal(a->unexplained_ns, 0);
	}
	/* From its thread's wait on: close, the work, and the write of the reply. */
	a = counted(&g, AFS_SMB2_READ);
	assert_int_equal(a->later_calls, 1 + 4 + 1);
	assert_in_range(a->later_ns, 1, a->parked_ns - a->had_ns);
	/* After the reply to ECHO: the client's read of that, and the write of its own. */
	assert_int_equal(counted(&g, AFS_SMB2_WRITE)->later_calls, 1 + 1);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* The frame of a WRITE comes in two reads, its reply goes in two writes, with waits in between. */
static void wait_for_the_client(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };
	uint8_t at[sizeof(in.at)];

	(void)s;
	connect_one(0);
	request(&in, AFS_SMB2_WRITE, 1, 1000);
	if (send(client[0], in.at, in.n, 0) != (ssize_t)in.n ||
	    recv(server[0], at, 100, MSG_WAITALL) != 100)
		_exit(1);
	loop_once();
	if (recv(server[0], at, in.n - 100, MSG_WAITALL) != (ssize_t)in.n - 100)
		_exit(1);
	reply(&out, AFS_SMB2_WRITE, 1, 0, 1000);
	if (send(server[0], out.at, 500, 0) != 500)
		_exit(1);
	loop_once();
	if (send(server[0], out.at + 500, out.n - 500, 0) != (ssize_t)out.n - 500)
		_exit(1);
}

static void a_wait_for_the_rest_of_a_frame_does_not_park(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, wait_for_the_client, &r);
	check(&g, AFS_SMB2_WRITE, 1, 1064, 1064);
	assert_int_equal(counted(&g, AFS_SMB2_WRITE)->parked, 0);
	assert_int_equal(calls_for(&g, AFS_SMB2_WRITE), 4 + 2 * 3);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* CREATE, QUERY_INFO, CLOSE in a frame; then one whose replies come in two. */
static void ask_compounds(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };
	size_t begin;

	(void)s;
	connect_one(0);
	begin = frame_begin(&in);
	message(&in, AFS_SMB2_CREATE, 1, 0, 0, 56, true);
	message(&in, AFS_SMB2_QUERY_INFO, 2, 4, 0, 40, true);
	message(&in, AFS_SMB2_CLOSE, 3, 4, 0, 24, false);
	frame_end(&in, begin);
	come(&in, sizeof(in.at));
	work(WORK);
	begin = frame_begin(&out);
	message(&out, AFS_SMB2_CREATE, 1, IS_REPLY, 0xc0000034, 8, true);
	message(&out, AFS_SMB2_QUERY_INFO, 2, IS_REPLY, 0, 16, true);
	message(&out, AFS_SMB2_CLOSE, 3, IS_REPLY, 0, 64, false);
	frame_end(&out, begin);
	go(&out, 40);
	in.n = out.n = 0;
	begin = frame_begin(&in);
	message(&in, AFS_SMB2_QUERY_INFO, 4, 0, 0, 0, true);
	message(&in, AFS_SMB2_QUERY_INFO, 5, 0, 0, 0, false);
	frame_end(&in, begin);
	come(&in, sizeof(in.at));
	reply(&out, AFS_SMB2_QUERY_INFO, 4, 0, 0);
	go(&out, sizeof(out.at));
	loop_once();
	out.n = 0;
	reply(&out, AFS_SMB2_QUERY_INFO, 5, 0, 0);
	go(&out, sizeof(out.at));
}

static void check_member(const struct rung_rig *g, unsigned int number, uint64_t n, uint64_t in,
			 uint64_t out)
{
	const struct afs_account *a = counted(g, number);

	assert_int_equal(a->begun, 0);
	assert_int_equal(a->answered, 0);
	assert_int_equal(a->ns, 0);
	assert_int_equal(a->untimed, n);
	assert_int_equal(a->bytes_in, in);
	assert_int_equal(a->bytes_out, out);
}

static void a_compound_has_the_time_and_its_members_are_counted(void **state)
{
	const unsigned int first = AFS_SMB2_CREATE_AND + AFS_SMB2_QUERY_INFO;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, ask_compounds, &r);
	check(&g, first, 1, 0, 0);
	/* One read, the work, and eight writes. */
	assert_int_equal(calls_for(&g, first), 1 + WORK + 8);
	assert_true(counted(&g, first)->ns > 0);
	check(&g, AFS_SMB2_COMPOUND, 1, 0, 0);
	assert_int_equal(counted(&g, AFS_SMB2_COMPOUND)->parked, 1);
	check_member(&g, AFS_SMB2_CREATE, 1, 120, 72);
	assert_int_equal(counted(&g, AFS_SMB2_CREATE)->errors, 1);
	check_member(&g, AFS_SMB2_CLOSE, 1, 88, 128);
	check_member(&g, AFS_SMB2_QUERY_INFO, 3, 104 + 128, 80 + 128);
	assert_int_equal(r.session[0].requests, 2);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* A LOCK waits, a READ takes a while, a CHANGE_NOTIFY is cancelled, and a break is sent. */
static void tell_to_wait(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	request(&in, AFS_SMB2_LOCK, 1, 16);
	request(&in, AFS_SMB2_READ, 2, 16);
	request(&in, AFS_SMB2_CHANGE_NOTIFY, 3, 16);
	come(&in, sizeof(in.at));
	loop_once();
	interim(&out, AFS_SMB2_LOCK, 1);
	interim(&out, AFS_SMB2_READ, 2);
	interim(&out, AFS_SMB2_CHANGE_NOTIFY, 3);
	reply(&out, AFS_SMB2_READ, 2, 0, 16);
	one(&out, AFS_SMB2_OPLOCK_BREAK, UINT64_MAX, IS_REPLY, 0, 24);
	reply(&out, AFS_SMB2_LOCK, 1, 0, 16);
	go(&out, sizeof(out.at));
	in.n = out.n = 0;
	request(&in, AFS_SMB2_CANCEL, 3, 4);
	come(&in, sizeof(in.at));
	reply(&out, AFS_SMB2_CHANGE_NOTIFY, 3, 0xc0000120, 16);
	go(&out, sizeof(out.at));
}

static void what_the_client_was_told_to_wait_for_has_an_account(void **state)
{
	static const unsigned int waiting[] = { AFS_SMB2_LOCK, AFS_SMB2_CHANGE_NOTIFY };
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, tell_to_wait, &r);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(counted(&g, waiting[i])->begun, 1);
		assert_int_equal(counted(&g, waiting[i])->waited, 1);
		assert_int_equal(counted(&g, waiting[i])->answered, 0);
		check(&g, waiting[i] + AFS_SMB2_WAITED, 1, 80, 80);
	}
	check(&g, AFS_SMB2_READ, 1, 80, 80);
	check_member(&g, AFS_SMB2_CANCEL, 1, 68, 0);
	assert_null(ledger_account(&g.diff, AFS_SMB2_OPLOCK_BREAK));
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* One that ends with a CHANGE_NOTIFY; one whose CREATE waits until an oplock is given back. */
static void tell_compounds_to_wait(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };
	size_t begin;

	(void)s;
	connect_one(0);
	begin = frame_begin(&in);
	message(&in, AFS_SMB2_CREATE, 1, 0, 0, 16, true);
	message(&in, AFS_SMB2_CHANGE_NOTIFY, 2, 4, 0, 16, false);
	frame_end(&in, begin);
	begin = frame_begin(&in);
	message(&in, AFS_SMB2_CREATE, 3, 0, 0, 16, true);
	message(&in, AFS_SMB2_CLOSE, 4, 4, 0, 16, false);
	frame_end(&in, begin);
	come(&in, sizeof(in.at));
	loop_once();
	begin = frame_begin(&out);
	message(&out, AFS_SMB2_CREATE, 1, IS_REPLY, 0, 16, true);
	message(&out, AFS_SMB2_CHANGE_NOTIFY, 2, IS_REPLY | IS_ASYNC, AFS_SMB2_PENDING, 9, false);
	frame_end(&out, begin);
	interim(&out, AFS_SMB2_CREATE, 3);
	interim(&out, AFS_SMB2_CREATE, 3);
	begin = frame_begin(&out);
	message(&out, AFS_SMB2_CREATE, 3, IS_REPLY | IS_ASYNC, 0, 16, true);
	message(&out, AFS_SMB2_CLOSE, 4, IS_REPLY, 0, 16, false);
	frame_end(&out, begin);
	one(&out, AFS_SMB2_CHANGE_NOTIFY, 2, IS_REPLY | IS_ASYNC, 0, 16);
	go(&out, sizeof(out.at));
}

static void a_compound_that_waits_has_an_account(void **state)
{
	static const unsigned int second[] = { AFS_SMB2_CHANGE_NOTIFY, AFS_SMB2_CLOSE },
				  waits[] = { AFS_SMB2_CHANGE_NOTIFY, AFS_SMB2_CREATE };
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, tell_compounds_to_wait, &r);
	for (size_t i = 0; i < 2; i++) {
		const struct afs_account *a = counted(&g, AFS_SMB2_CREATE_AND + second[i]);

		assert_int_equal(a->begun, 1);
		assert_int_equal(a->waited, 1);
		assert_int_equal(a->answered, 0);
		check(&g, AFS_SMB2_CHAIN_WAITED + waits[i], 1, 0, 0);
		check_member(&g, second[i], 1, 80, 80);
	}
	check_member(&g, AFS_SMB2_CREATE, 2, 160, 160);
	assert_int_equal(r.session[0].requests, 2);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Both members wait, one after the other: for an oplock, then until the folder changes, or a lock
 * is given back.
 */
static void tell_both_members_to_wait(struct watched_shared *s)
{
	static const uint16_t last[] = { AFS_SMB2_CHANGE_NOTIFY, AFS_SMB2_LOCK };
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	for (size_t i = 0; i < 2; i++) {
		size_t begin = frame_begin(&in);

		message(&in, AFS_SMB2_CREATE, 2 * i + 1, 0, 0, 16, true);
		message(&in, last[i], 2 * i + 2, 4, 0, 16, false);
		frame_end(&in, begin);
	}
	come(&in, sizeof(in.at));
	loop_once();
	for (size_t i = 0; i < 2; i++) {
		interim(&out, AFS_SMB2_CREATE, 2 * i + 1);
		one(&out, AFS_SMB2_CREATE, 2 * i + 1, IS_REPLY | IS_ASYNC, 0, 16);
		interim(&out, last[i], 2 * i + 2);
		one(&out, last[i], 2 * i + 2, IS_REPLY | IS_ASYNC, 0, 16);
	}
	go(&out, sizeof(out.at));
}

static void a_compound_that_waits_again_goes_on_in_the_account_of_the_last_wait(void **state)
{
	static const unsigned int last[] = { AFS_SMB2_CHANGE_NOTIFY, AFS_SMB2_LOCK };
	const struct afs_account *create;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, tell_both_members_to_wait, &r);
	create = counted(&g, AFS_SMB2_CHAIN_WAITED + AFS_SMB2_CREATE);
	assert_int_equal(create->begun, 2);
	assert_int_equal(create->waited, 2);
	assert_int_equal(create->answered, 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(counted(&g, AFS_SMB2_CREATE_AND + last[i])->waited, 1);
		check(&g, AFS_SMB2_CHAIN_WAITED + last[i], 1, 0, 0);
		assert_int_equal(counted(&g, AFS_SMB2_CHAIN_WAITED + last[i])->waited, 0);
	}
	assert_int_equal(r.session[0].requests, 2);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* A dialect of SMB2 asked for by SMB1; frames that are encrypted and compressed; signs of life. */
static void speak_otherwise(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	closed(&in, "\xffSMB", 50);
	in.at[8] = 0x72;
	come(&in, sizeof(in.at));
	reply(&out, AFS_SMB2_NEGOTIATE, 0, 0, 64);
	go(&out, sizeof(out.at));
	in.n = out.n = 0;
	memcpy(in.at, "\x85\0\0\0", 4);
	in.n = 4;
	closed(&in, "\xfdSMB", 152);
	closed(&in, "\xfdSMB", 100);
	closed(&in, "\xfcSMB", 77);
	come(&in, 9);
	closed(&out, "\xfdSMB", 200);
	go(&out, 9);
}

static void what_cannot_be_read_is_counted(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, speak_otherwise, &r);
	check(&g, AFS_SMB2_NEGOTIATE, 1, 50, 128);
	check_member(&g, AFS_SMB2_ENCRYPTED, 2, 252, 200);
	check_member(&g, AFS_SMB2_COMPRESSED, 1, 77, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* As smbd does: an empty piece without an address, and the reply in several. */
static void answer_in_iovecs(struct watched_shared *s)
{
	struct bytes out = { 0 };
	uint8_t at[sizeof(out.at)];
	struct iovec iov[5];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 5 };

	(void)s;
	connect_one(0);
	come_as_to_smbd(AFS_SMB2_READ, 9);
	reply(&out, AFS_SMB2_READ, 9, 0, 300);
	iov[0] = (struct iovec) { out.at, 4 };
	iov[1] = (struct iovec) { NULL, 0 };
	iov[2] = (struct iovec) { out.at + 4, 64 };
	iov[3] = (struct iovec) { out.at + 68, 16 };
	iov[4] = (struct iovec) { out.at + 84, 284 };
	if (sendmsg(server[0], &msg, 0) != (ssize_t)out.n ||
	    recv(client[0], at, out.n, MSG_WAITALL) != (ssize_t)out.n)
		_exit(1);
}

static void a_reply_may_have_an_empty_piece(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, answer_in_iovecs, &r);
	check(&g, AFS_SMB2_READ, 1, 80, 364);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Garbage, a call in which nothing is understood; then a frame at a call's begin. */
static void go_on_after_garbage(struct watched_shared *s)
{
	struct bytes in = { .n = 50 };

	(void)s;
	connect_one(0);
	memset(in.at, 'g', in.n);
	come(&in, sizeof(in.at));
	come_as_to_smbd(AFS_SMB2_ECHO, 1);
	go_one(AFS_SMB2_ECHO, 1);
}

static void after_garbage_it_goes_on(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SMB2, go_on_after_garbage, &r);
	check(&g, AFS_SMB2_ECHO, 1, 80, 80);
	assert_int_equal(loss_of(&r, LOST), 50);
	done(&g, &r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_is_counted),
		cmocka_unit_test(a_request_is_of_the_thread_that_reads_and_answers_it),
		cmocka_unit_test(a_request_that_waits_for_others_is_parked),
		cmocka_unit_test(a_wait_for_the_rest_of_a_frame_does_not_park),
		cmocka_unit_test(a_compound_has_the_time_and_its_members_are_counted),
		cmocka_unit_test(what_the_client_was_told_to_wait_for_has_an_account),
		cmocka_unit_test(a_compound_that_waits_has_an_account),
		cmocka_unit_test(
		    a_compound_that_waits_again_goes_on_in_the_account_of_the_last_wait),
		cmocka_unit_test(what_cannot_be_read_is_counted),
		cmocka_unit_test(a_reply_may_have_an_empty_piece),
		cmocka_unit_test(after_garbage_it_goes_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
