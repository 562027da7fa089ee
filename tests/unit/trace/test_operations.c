/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and replies in parts, in any mixture, with gaps. Tests user/trace/operations.c. */
#include "trace/operations.h"

#include "unit/hex_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SESSION 99
#define PORT    50000
#define CLOSE   4
#define CREATE  6
#define READ    27

struct rig {
	struct names *names;
	struct operations *o;
	uint32_t seq;
	bool found;
};

static int rig_setup(void **state)
{
	static struct rig x;
	struct err e = { 0 };

	x = (struct rig) { 0 };
	*state = &x;
	if (names_open(&x.names, false, &e))
		return -1;
	x.o = operations_open(x.names);
	return !x.o;
}

static int rig_teardown(void **state)
{
	struct rig *x = *state;

	operations_close(x->o);
	names_close(x->names);
	return 0;
}

static struct afs_captured captured(const struct rig *x, enum afs_captured_part part, uint16_t id,
				    uint16_t command, const char *text)
{
	struct afs_captured h = { .head = { .timestamp = 5,
					    .session = SESSION,
					    .user = 1000,
					    .port = PORT,
					    .dsi_id = id,
					    .command = command,
					    .part = (uint8_t)part,
					    .found = x->found } };

	h.head.n = (uint16_t)hex_bytes(h.bytes, text);
	h.head.len = h.head.n + (part != AFS_CAPTURED_REPLY);
	return h;
}

/* A request, all of it. */
static void ask(struct rig *x, uint16_t id, uint16_t command, const char *text)
{
	struct afs_captured h = captured(x, AFS_CAPTURED_BEGIN, id, command, text);

	h.head.seq = x->seq++;
	operations_captured(x->o, &h);
}

static void reply(struct rig *x, uint16_t id, uint16_t command, const char *text)
{
	const struct afs_captured h = captured(x, AFS_CAPTURED_REPLY, id, command, text);

	operations_captured(x->o, &h);
}

static struct afs_record_operations answer_to(struct rig *x, uint16_t id, uint16_t command,
					      int32_t result)
{
	const struct afs_record_requests r = { .timestamp = 20,
					       .t = 10,
					       .time_ns = 10,
					       .session = SESSION,
					       .port = PORT,
					       .dsi_id = id,
					       .command = command,
					       .result = result,
					       .bytes_out = 16 + 7 };
	struct afs_record_operations out;

	operations_answered(x->o, &r, &out);
	assert_true(out.timestamp == 20 && out.t == 10 && out.time_ns == 10);
	assert_true(out.session == SESSION && out.port == PORT && out.dsi_id == id);
	assert_true(out.command == command && out.result == result);
	return out;
}

static void close_fork(struct rig *x, uint16_t id, uint16_t fork)
{
	char text[16];

	snprintf(text, sizeof(text), "00 %04x", fork);
	ask(x, id, CLOSE, text);
}

static void each_request_has_its_own_record(void **state)
{
	struct rig *x = *state;
	struct afs_record_operations r;

	close_fork(x, 1, 17);
	r = answer_to(x, 1, CLOSE, 0);
	assert_true(r.fork == 17 && !r.marks && r.user == 1000);
	ask(x, 2, CREATE, "00 1122 00000002 02 01 'd'");
	reply(x, 2, CREATE, "00000017");
	r = answer_to(x, 2, CREATE, 0);
	assert_true(r.id == names_id(x->names, 0x17) && r.name && !r.marks && r.dir == 2);
	ask(x, 3, READ, "00 0011 00000008 00000064");
	r = answer_to(x, 3, READ, -5009);
	assert_true(r.offset == 8 && r.length == 100 && r.actual == 7 && !r.marks);
	/* without an error a reply was to come */
	ask(x, 4, CREATE, "00 1122 00000002 02 01 'd'");
	assert_int_equal(answer_to(x, 4, CREATE, 0).marks, AFS_MARK_REPLY);
	ask(x, 5, CREATE, "00 1122 00000002 02 01 'd'");
	assert_int_equal(answer_to(x, 5, CREATE, -5017).marks, 0);
	/* not of AFP */
	ask(x, 6, AFS_ACCOUNT_DSI + 4, "");
	assert_int_equal(answer_to(x, 6, AFS_ACCOUNT_DSI + 4, 0).marks, 0);
}

/* Cut anywhere, with nothing in the first part or more parts than two. */
static void a_request_may_come_in_parts(void **state)
{
	static const char text[] = "00 1122 00000002 02 04 'name'";
	struct rig *x = *state;
	struct afs_captured whole = captured(x, AFS_CAPTURED_BEGIN, 0, CREATE, text), h;
	struct afs_record_operations r, want;

	ask(x, 0, CREATE, text);
	want = answer_to(x, 0, CREATE, -1);
	assert_true(want.name && !want.marks);
	for (uint16_t cut = 0; cut <= whole.head.n; cut++)
		for (uint16_t more = cut; more <= whole.head.n; more++) {
			h = whole;
			h.head.dsi_id++;
			h.head.seq = x->seq++;
			h.head.n = cut;
			operations_captured(x->o, &h);
			h.head.part = AFS_CAPTURED_MORE;
			h.head.at = cut;
			h.head.n = more - cut;
			memcpy(h.bytes, whole.bytes + cut, h.head.n);
			operations_captured(x->o, &h);
			h.head.at = more;
			h.head.n = whole.head.n - more;
			memcpy(h.bytes, whole.bytes + more, h.head.n);
			operations_captured(x->o, &h);
			r = answer_to(x, 1, CREATE, -1);
			r.dsi_id = 0;
			assert_memory_equal(&r, &want, sizeof(r));
		}
}

static void a_part_that_is_missing_is_marked(void **state)
{
	struct rig *x = *state;
	struct afs_captured h = captured(x, AFS_CAPTURED_BEGIN, 1, CREATE,
					 "00 1122 00000002 02 04 'name'");
	struct afs_record_operations r;

	h.head.seq = x->seq++;
	h.head.n = 5;
	operations_captured(x->o, &h);
	h.head.part = AFS_CAPTURED_MORE;
	h.head.at = 7;
	operations_captured(x->o, &h);
	r = answer_to(x, 1, CREATE, -1);
	assert_true(r.marks == AFS_MARK_ARGUMENTS && r.volume == 0x1122 && !r.name);
	close_fork(x, 2, 17);
	assert_int_equal(answer_to(x, 2, CLOSE, 0).marks, 0);
	/* one that promises more than there is room for */
	h = captured(x, AFS_CAPTURED_BEGIN, 3, CREATE, "00");
	h.head.seq = x->seq++;
	h.head.len = UINT32_MAX;
	operations_captured(x->o, &h);
	h.head.part = AFS_CAPTURED_MORE;
	h.head.at = 1;
	h.head.n = AFS_COMMAND_LEN;
	operations_captured(x->o, &h);
	h.head.n = UINT16_MAX;
	operations_captured(x->o, &h);
	assert_int_equal(answer_to(x, 3, CREATE, -1).marks, AFS_MARK_ARGUMENTS);
}

/* More at a time than there is room for at first, with ids that wrap. */
static void many_are_under_way(void **state)
{
	struct rig *x = *state;

	for (uint32_t i = 0; i < 3000; i++)
		close_fork(x, (uint16_t)(64000 + i), (uint16_t)(i + 1));
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(answer_to(x, (uint16_t)(64000 + i), CLOSE, 0).fork, i + 1);
	/* of too many the oldest are forgotten, and that is marked */
	for (uint32_t i = 0; i < 5000; i++)
		close_fork(x, (uint16_t)i, (uint16_t)(i + 1));
	assert_int_equal(answer_to(x, 0, CLOSE, 0).marks, AFS_MARK_ARGUMENTS | AFS_MARK_LOST);
	assert_int_equal(answer_to(x, 4999, CLOSE, 0).fork, 5000);
}

static void what_was_lost_is_marked(void **state)
{
	struct rig *x = *state;
	struct afs_record_operations r;

	close_fork(x, 1, 17);
	assert_int_equal(answer_to(x, 1, CLOSE, 0).marks, 0);
	/* what the request asked for */
	x->seq++;
	assert_int_equal(answer_to(x, 2, CLOSE, 0).marks, AFS_MARK_ARGUMENTS);
	close_fork(x, 3, 17);
	r = answer_to(x, 3, CLOSE, 0);
	assert_true(r.marks == AFS_MARK_LOST && r.fork == 17);
	/* that it was answered */
	close_fork(x, 4, 17);
	close_fork(x, 5, 18);
	r = answer_to(x, 5, CLOSE, 0);
	assert_true(r.marks == AFS_MARK_LOST && r.fork == 18);
	/* both */
	x->seq += 3;
	close_fork(x, 9, 19);
	assert_int_equal(answer_to(x, 9, CLOSE, 0).marks, AFS_MARK_LOST);
	close_fork(x, 10, 20);
	assert_int_equal(answer_to(x, 10, CLOSE, 0).marks, 0);
}

/* Of a list only its begin is copied, however short it is. */
static void the_begin_of_a_short_reply_is_enough(void **state)
{
	struct rig *x = *state;
	struct afs_captured h;
	struct afs_record_operations r;

	ask(x, 1, 68, "00 1122 00000002 2000 2000 0010 00000001 00001000 03 00000000 0000");
	h = captured(x, AFS_CAPTURED_REPLY, 1, 68, "2000 2000 0003");
	h.head.len = 30;
	operations_captured(x->o, &h);
	r = answer_to(x, 1, 68, 0);
	assert_true(r.actual == 3 && !r.marks && r.room == 0x1000);
	ask(x, 2, CREATE, "00 1122 00000002 02 01 'd'");
	h = captured(x, AFS_CAPTURED_REPLY, 2, CREATE, "0000");
	h.head.len = 4;
	operations_captured(x->o, &h);
	assert_int_equal(answer_to(x, 2, CREATE, 0).marks, AFS_MARK_REPLY);
}

static void a_session_before_the_recording_is_marked(void **state)
{
	struct rig *x = *state;

	x->found = true;
	x->seq = 500;
	for (uint16_t id = 1; id < 3; id++) {
		close_fork(x, id, 17);
		assert_int_equal(answer_to(x, id, CLOSE, 0).marks, AFS_MARK_BEFORE);
	}
}

static void tell(struct rig *x, enum afs_event event, uint64_t at)
{
	const struct afs_record_sessions s = {
		.t = at, .session = SESSION, .port = PORT, .event = (uint8_t)event
	};

	operations_session(x->o, &s);
}

static void the_same_numbers_may_come_again(void **state)
{
	struct rig *x = *state;

	tell(x, AFS_EVENT_BEGIN, 1);
	close_fork(x, 1, 17);
	close_fork(x, 2, 17);
	tell(x, AFS_EVENT_END, 2);
	/* the last records of a session may come after its end */
	assert_int_equal(answer_to(x, 1, CLOSE, 0).fork, 17);
	tell(x, AFS_EVENT_BEGIN, 3);
	x->seq = 0;
	close_fork(x, 2, 18);
	assert_int_equal(answer_to(x, 2, CLOSE, 0).fork, 18);
	assert_int_equal(answer_to(x, 3, CLOSE, 0).marks, AFS_MARK_ARGUMENTS);
}

/* Connections that have ended are forgotten: a long recording has many. */
static void many_sessions_come_and_go(void **state)
{
	struct rig *x = *state;
	struct afs_captured h = captured(x, AFS_CAPTURED_BEGIN, 1, CLOSE, "00 0011");
	struct afs_record_sessions end = { .event = AFS_EVENT_END, .port = PORT };

	for (uint32_t i = 1; i < 200000; i++) {
		h.head.session = end.session = i;
		h.head.timestamp = end.t = i * 1000000000ull;
		operations_captured(x->o, &h);
		operations_session(x->o, &end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(each_request_has_its_own_record),
		TEST(a_request_may_come_in_parts),
		TEST(a_part_that_is_missing_is_marked),
		TEST(many_are_under_way),
		TEST(what_was_lost_is_marked),
		TEST(the_begin_of_a_short_reply_is_enough),
		TEST(a_session_before_the_recording_is_marked),
		TEST(the_same_numbers_may_come_again),
		TEST(many_sessions_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
