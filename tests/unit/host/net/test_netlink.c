/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the kernel, and of a kernel that is played: whole ones, cut ones, late ones. */
#include "host/net/netlink.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TYPE 77

/* n's other end is "kernel": what is sent there is an answer. */
static int play(struct netlink *n)
{
	int end[2];

	assert_return_code(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, end), 0);
	*n = (struct netlink) { .is_open = true, .fd = end[0], .flags = MSG_DONTWAIT };
	return end[1];
}

/* A datagram to be. */
struct made {
	size_t len;
	char text[256] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static void add(struct made *m, uint16_t type, uint32_t seq, const void *body, size_t len)
{
	const struct nlmsghdr head = { .nlmsg_len = (uint32_t)NLMSG_LENGTH(len),
				       .nlmsg_type = type,
				       .nlmsg_seq = seq };

	memcpy(m->text + m->len, &head, sizeof(head));
	memcpy(m->text + m->len + sizeof(head), body, len);
	m->len += NLMSG_SPACE(len);
}

static void tell(int kernel, const struct made *m)
{
	assert_int_equal(send(kernel, m->text, m->len, 0), m->len);
}

static void tell_one(int kernel, uint16_t type, uint32_t seq, const void *body, size_t len)
{
	struct made m = { 0 };

	add(&m, type, seq, body, len);
	tell(kernel, &m);
}

static void ask(struct netlink *n, struct netlink_answer *a, bool dump)
{
	const struct netlink_request q = { TYPE, dump, "what", 4 };

	assert_int_equal(netlink_ask(n, a, &q), 0);
}

static void a_request_is_what_was_asked(void **state)
{
	struct {
		struct nlmsghdr head;
		char body[32];
	} seen;
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	for (uint32_t seq = 1; seq <= 2; seq++) {
		ask(&n, &a, seq == 2);
		assert_int_equal(recv(kernel, &seen, sizeof(seen), 0), NLMSG_LENGTH(4));
		assert_int_equal(seen.head.nlmsg_len, NLMSG_LENGTH(4));
		assert_int_equal(seen.head.nlmsg_type, TYPE);
		assert_int_equal(seen.head.nlmsg_seq, seq);
		assert_int_equal(seen.head.nlmsg_flags,
				 seq == 2 ? NLM_F_REQUEST | NLM_F_DUMP : NLM_F_REQUEST);
		assert_memory_equal(seen.body, "what", 4);
	}
	netlink_close(&n);
	close(kernel);
}

static void one_message_is_the_answer_to_one_question(void **state)
{
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, false);
	tell_one(kernel, TYPE + 1, 1, "seven b", 7);
	assert_int_equal(netlink_next(&n, &a), 1);
	assert_int_equal(a.type, TYPE + 1);
	assert_int_equal(a.len, 7);
	assert_memory_equal(a.body, "seven b", 7);
	assert_int_equal(netlink_next(&n, &a), 0);
	netlink_close(&n);
	netlink_close(&n);
	close(kernel);
}

static void a_list_goes_on_until_it_is_done(void **state)
{
	static const char *const body[] = { "a", "bc", "", "defgh" };
	struct made first = { 0 }, second = { 0 };
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n), none = 0;

	(void)state;
	ask(&n, &a, true);
	add(&first, TYPE, 1, body[0], 1);
	add(&first, TYPE, 1, body[1], 2);
	add(&second, TYPE, 1, body[2], 0);
	add(&second, TYPE, 1, body[3], 5);
	add(&second, NLMSG_DONE, 1, &none, sizeof(none));
	tell(kernel, &first);
	tell(kernel, &second);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(netlink_next(&n, &a), 1);
		assert_int_equal(a.len, strlen(body[i]));
		assert_memory_equal(a.body, body[i], a.len);
	}
	assert_int_equal(netlink_next(&n, &a), 0);
	netlink_close(&n);
	close(kernel);
}

/* As of a module that is not there: the kernel says so where the list ends. */
static void a_list_that_failed_is_not_an_empty_one(void **state)
{
	const int code = -ENOENT;
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, true);
	tell_one(kernel, NLMSG_DONE, 1, &code, sizeof(code));
	assert_int_equal(netlink_next(&n, &a), -ENOENT);
	ask(&n, &a, true);
	tell_one(kernel, NLMSG_DONE, 2, "", 0);
	assert_int_equal(netlink_next(&n, &a), 0);
	netlink_close(&n);
	close(kernel);
}

static void an_error_is_the_kernel_s_own(void **state)
{
	const struct nlmsgerr no = { .error = -EPERM }, yes = { .error = 0 };
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, false);
	tell_one(kernel, NLMSG_ERROR, 1, &no, sizeof(no));
	assert_int_equal(netlink_next(&n, &a), -EPERM);
	/* Nobody asked for a confirmation. */
	ask(&n, &a, false);
	tell_one(kernel, NLMSG_ERROR, 2, &yes, sizeof(yes));
	assert_int_equal(netlink_next(&n, &a), -EPROTO);
	ask(&n, &a, false);
	tell_one(kernel, NLMSG_ERROR, 3, "", 0);
	assert_int_equal(netlink_next(&n, &a), -EPROTO);
	netlink_close(&n);
	close(kernel);
}

static void a_late_answer_is_not_the_next_one_s(void **state)
{
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, false);
	assert_int_equal(netlink_next(&n, &a), -ETIMEDOUT);
	ask(&n, &a, false);
	tell_one(kernel, TYPE, 1, "old", 3);
	tell_one(kernel, TYPE, 2, "new", 3);
	assert_int_equal(netlink_next(&n, &a), 1);
	assert_memory_equal(a.body, "new", 3);
	netlink_close(&n);
	close(kernel);
}

/* Each length of a message that has one attribute, and each length that it may claim. */
static void a_message_that_is_cut_is_refused(void **state)
{
	struct made m = { 0 }, part;
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n), r;

	(void)state;
	add(&m, TYPE, 1, "twelve bytes", 12);
	for (uint32_t claims = 0; claims <= m.len + 8; claims++) {
		for (part = m; part.len; part.len--) {
			ask(&n, &a, false);
			n.seq = 1;
			memcpy(part.text, &claims, sizeof(claims));
			tell(kernel, &part);
			r = netlink_next(&n, &a);
			if (claims < sizeof(struct nlmsghdr) || claims > part.len)
				assert_int_equal(r, -EPROTO);
			else
				assert_true(r == 1 && a.len == claims - NLMSG_HDRLEN);
			/* What has been asked. */
			assert_true(recv(kernel, part.text + m.len, sizeof(m.text) - m.len, 0) > 0);
		}
	}
	netlink_close(&n);
	close(kernel);
}

static void an_answer_without_bytes_is_refused(void **state)
{
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, false);
	assert_int_equal(send(kernel, "", 0, 0), 0);
	assert_int_equal(netlink_next(&n, &a), -EPROTO);
	netlink_close(&n);
	close(kernel);
}

static void more_than_there_is_room_for_is_an_error(void **state)
{
	static char big[sizeof(((struct netlink_answer *)0)->buf) + 4];
	struct netlink_answer a;
	struct netlink n;
	int kernel = play(&n);

	(void)state;
	ask(&n, &a, false);
	assert_int_equal(send(kernel, big, sizeof(big), 0), sizeof(big));
	assert_int_equal(netlink_next(&n, &a), -EMSGSIZE);
	netlink_close(&n);
	close(kernel);
}

/* Two attributes, the second inside of which is a third; at each length. */
static void an_attribute_is_found_and_never_beyond_the_list(void **state)
{
	const struct nlattr one = { .nla_type = 1, .nla_len = NLA_HDRLEN + 3 };
	const struct nlattr two = { .nla_type = 2 | NLA_F_NESTED, .nla_len = 2 * NLA_HDRLEN + 2 };
	const struct nlattr in = { .nla_type = 3, .nla_len = NLA_HDRLEN + 2 };
	const size_t one_ends = NLA_HDRLEN + 3, all = 3 * NLA_HDRLEN + 4 + 2;
	char text[32] = { 0 }, copy[] = "??old";
	const char *at;
	size_t len, inner;

	(void)state;
	memcpy(text, &one, sizeof(one));
	memcpy(text + 4, "xyz", 3);
	memcpy(text + 8, &two, sizeof(two));
	memcpy(text + 12, &in, sizeof(in));
	memcpy(text + 16, "in", 2);
	for (size_t n = 0; n <= all; n++) {
		at = netlink_find(text, n, 1, &len);
		assert_true(n < one_ends ? !at : at == text + 4 && len == 3);
		at = netlink_find(text, n, 2, &len);
		assert_true(n < all ? !at : at == text + 12 && len == NLA_HDRLEN + 2);
		assert_null(netlink_find(text, n, 3, &len));
	}
	at = netlink_find(text + 12, len, 3, &inner);
	assert_true(at == text + 16 && inner == 2);
	assert_int_equal(netlink_copy(copy, 2, text, all, 1), 2);
	assert_memory_equal(copy, "xyold", 5);
	assert_int_equal(netlink_copy(copy, 5, text, all, 1), 3);
	assert_memory_equal(copy, "xyz\0\0", 5);
	assert_int_equal(netlink_copy(copy, 3, text, all, 3), 0);
	assert_memory_equal(copy, "\0\0", 3);
	/* One that claims nothing would be found for ever. */
	memset(text, 0, sizeof(text));
	assert_null(netlink_find(text, sizeof(text), 1, &len));
}

static void the_kernel_lists_the_loopback_interface(void **state)
{
	const struct ifinfomsg every = { .ifi_family = AF_UNSPEC };
	const struct netlink_request q = { RTM_GETLINK, true, &every, sizeof(every) };
	const struct netlink_request no = { 0x7777, false, &every, sizeof(every) };
	struct netlink_answer a;
	struct netlink n;
	const char *name;
	bool found = false;
	size_t len;
	int r;

	(void)state;
	assert_int_equal(netlink_open(&n, NETLINK_ROUTE, 1000), 0);
	assert_int_equal(netlink_ask(&n, &a, &q), 0);
	while ((r = netlink_next(&n, &a)) > 0) {
		name = netlink_find((const char *)a.body + sizeof(every), a.len - sizeof(every),
				    IFLA_IFNAME, &len);
		found |= name && !strcmp(name, "lo");
	}
	assert_int_equal(r, 0);
	assert_true(found);
	assert_int_equal(netlink_ask(&n, &a, &no), 0);
	assert_int_equal(netlink_next(&n, &a), -EOPNOTSUPP);
	netlink_close(&n);
	assert_false(n.is_open);
	assert_true(netlink_open(&n, 9999, 0) < 0);
	assert_false(n.is_open);
}

static void silence_ends_after_the_time_given(void **state)
{
	const unsigned int wait_ms[] = { 0, 50 };
	struct netlink_answer a = { .dump = true };
	struct netlink n;
	uint64_t ms;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(netlink_open(&n, NETLINK_ROUTE, wait_ms[i]), 0);
		ms = clock_now_ns() / 1000000;
		assert_int_equal(netlink_next(&n, &a), -ETIMEDOUT);
		ms = clock_now_ns() / 1000000 - ms;
		assert_in_range(ms, wait_ms[i] ? wait_ms[i] - 1 : 0, wait_ms[i] + 5000);
		netlink_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_what_was_asked),
		cmocka_unit_test(one_message_is_the_answer_to_one_question),
		cmocka_unit_test(a_list_goes_on_until_it_is_done),
		cmocka_unit_test(a_list_that_failed_is_not_an_empty_one),
		cmocka_unit_test(an_error_is_the_kernel_s_own),
		cmocka_unit_test(a_late_answer_is_not_the_next_one_s),
		cmocka_unit_test(a_message_that_is_cut_is_refused),
		cmocka_unit_test(an_answer_without_bytes_is_refused),
		cmocka_unit_test(more_than_there_is_room_for_is_an_error),
		cmocka_unit_test(an_attribute_is_found_and_never_beyond_the_list),
		cmocka_unit_test(the_kernel_lists_the_loopback_interface),
		cmocka_unit_test(silence_ends_after_the_time_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
