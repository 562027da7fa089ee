/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other end of real connections over the loopback interface. */
#include "host/net/tcpdiag.h"

#include "base/clock.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "run/tcp.h"
#include "unit/loopback.h"
#include "unit/wait.h"

#include <errno.h>
#include <grp.h>
#include <linux/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define BYTES 300001
#define LOOKS 1000

static struct loopback make(enum loopback_kind kind)
{
	struct loopback l;

	if (!loopback_listen(&l, kind))
		skip();
	assert_true(loopback_connect(&l, kind, 0));
	l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(l.server >= 0);
	return l;
}

static struct tcpdiag open_at(const struct loopback *l)
{
	struct tcpdiag d;

	assert_int_equal(tcpdiag_open(&d, &l->local, &l->peer), 0);
	return d;
}

/* The server's end. */
static struct sockets_entry end_at(const struct loopback *l)
{
	struct sockets_entry end = { 0 };

	assert_true(sockets_addr(&end.local, &l->peer));
	assert_true(sockets_addr(&end.remote, &l->local));
	return end;
}

/* From one end to the other, until the last byte is read there. */
static void carry(int from, int to, size_t len)
{
	static char buf[16384];
	size_t part;

	for (; len; len -= part) {
		part = len < sizeof(buf) ? len : sizeof(buf);
		assert_int_equal(send(from, buf, part, 0), part);
		assert_int_equal(recv(to, buf, part, MSG_WAITALL), part);
	}
}

/* What an end says about itself. */
static void ask_own(struct run_tcp *out, int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(out, 0, sizeof(*out));
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	tcp_info_take(out, &info, len);
}

/* Segments that the other end has not acknowledged: it may wait 40 ms with that. */
static unsigned int n_unacked(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_unacked;
}

static uint64_t option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int v = 0;

	assert_int_equal(getsockopt(fd, SOL_SOCKET, name, &v, &len), 0);
	return (uint64_t)v;
}

static void check_kind(enum loopback_kind kind)
{
	struct loopback l = make(kind);
	struct tcpdiag d = open_at(&l);
	struct run_tcp tcp = { .end = TCP_SERVER, .when = TCP_DURING, .t_ns = 7 }, own;

	assert_true(tcpdiag_look(&d, &tcp));
	assert_true(tcp.known[TCP_BYTES_RECEIVED]);
	assert_int_equal(tcp.value[TCP_BYTES_RECEIVED], 0);
	carry(l.client, l.server, BYTES);
	carry(l.server, l.client, 1000);
	assert_true(tcpdiag_look(&d, &tcp));
	assert_int_equal(tcp.value[TCP_BYTES_RECEIVED], BYTES);
	/* The caller's stay the caller's. */
	assert_true(tcp.end == TCP_SERVER && tcp.when == TCP_DURING && tcp.t_ns == 7);
	/* The end that connected counts its SYN as a byte. */
	ask_own(&own, l.client);
	assert_in_range(own.value[TCP_BYTES_ACKED], BYTES, BYTES + 1);
	assert_int_equal(own.value[TCP_BYTES_RECEIVED], 1000);
	tcpdiag_close(&d);
	loopback_end(&l);
}

static void the_other_end_received_what_was_sent_v4(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V4);
}

static void the_other_end_received_what_was_sent_v6(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V6);
}

static void the_other_end_received_what_was_sent_mapped(void **state)
{
	(void)state;
	check_kind(LOOPBACK_MAPPED);
}

/* An IPv6 client too may know its addresses as IPv4 ones. */
static void mapped_addresses_name_an_ipv4_connection(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	struct sockaddr_storage addr[2] = { l.local, l.peer };
	struct sockaddr_in6 *v6;
	struct run_tcp tcp = {};
	struct tcpdiag d;
	struct in_addr ip;
	uint16_t port;

	(void)state;
	for (int i = 0; i < 2; i++) {
		ip = ((struct sockaddr_in *)&addr[i])->sin_addr;
		port = ((struct sockaddr_in *)&addr[i])->sin_port;
		loopback_addr(&addr[i], AF_INET6, port);
		v6 = (void *)&addr[i];
		memset(&v6->sin6_addr, 0, sizeof(v6->sin6_addr));
		memset(v6->sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(v6->sin6_addr.s6_addr + 12, &ip, sizeof(ip));
	}
	assert_int_equal(tcpdiag_open(&d, &addr[0], &addr[1]), 0);
	assert_true(tcpdiag_look(&d, &tcp));
	tcpdiag_close(&d);
	loopback_end(&l);
}

/* It says what the other end would say of itself. */
static void every_value_is_the_other_end_s_own(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	struct tcpdiag d = open_at(&l);
	struct run_tcp tcp = {}, own;
	const int size = 100000;

	(void)state;
	assert_int_equal(setsockopt(l.server, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	assert_int_equal(setsockopt(l.server, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	carry(l.client, l.server, BYTES);
	carry(l.server, l.client, 1000);
	wait_until(!n_unacked(l.client) && !n_unacked(l.server));
	assert_true(tcpdiag_look(&d, &tcp));
	ask_own(&own, l.server);
	for (int i = 0; i < N_TCP; i++) {
		if (i == TCP_SNDBUF || i == TCP_RCVBUF || i == TCP_QUEUE || i == TCP_UNREAD)
			continue;
		if (tcp.known[i] != own.known[i] || tcp.value[i] != own.value[i])
			fail_msg("%s: %llu, itself says %llu", run_tcp_values[i].key,
				 (unsigned long long)tcp.value[i],
				 (unsigned long long)own.value[i]);
	}
	assert_true(tcp.known[TCP_SNDBUF] && tcp.known[TCP_RCVBUF]);
	assert_int_equal(tcp.value[TCP_SNDBUF], option(l.server, SO_SNDBUF));
	assert_int_equal(tcp.value[TCP_RCVBUF], option(l.server, SO_RCVBUF));
	tcpdiag_close(&d);
	loopback_end(&l);
}

static void the_other_end_s_congestion_control_is_its_own(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	struct tcpdiag d = open_at(&l);
	char name[TCP_CONGESTION_LEN] = "", own[TCP_CONGESTION_LEN] = "";
	socklen_t len = sizeof(own) - 1;

	(void)state;
	assert_int_equal(getsockopt(l.server, IPPROTO_TCP, TCP_CONGESTION, own, &len), 0);
	assert_true(tcpdiag_congestion(&d, name));
	assert_string_equal(name, own);
	/* The one that every kernel has. */
	assert_int_equal(setsockopt(l.server, IPPROTO_TCP, TCP_CONGESTION, "reno", 4), 0);
	assert_true(tcpdiag_congestion(&d, name));
	assert_string_equal(name, "reno");
	tcpdiag_close(&d);
	assert_false(tcpdiag_congestion(&d, name));
	loopback_end(&l);
}

static void a_closed_end_says_nothing(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	struct tcpdiag d = open_at(&l);
	struct run_tcp tcp = { .value = { [TCP_RTT] = 1 } };

	(void)state;
	/* Its socket outlives it: this end has not closed. */
	close(l.server);
	l.server = -1;
	assert_false(tcpdiag_look(&d, &tcp));
	assert_int_equal(tcp.value[TCP_RTT], 1);
	loopback_reset(&l.client);
	assert_false(tcpdiag_look(&d, &tcp));
	tcpdiag_close(&d);
	assert_false(tcpdiag_look(&d, &tcp));
	tcpdiag_close(&d);
	loopback_end(&l);
}

static void a_connection_cut_off_says_nothing(void **state)
{
	struct loopback l = make(LOOPBACK_V6);
	struct pollfd gone = { .fd = l.server };
	struct tcpdiag d = open_at(&l);
	struct run_tcp tcp = {};

	(void)state;
	loopback_reset(&l.client);
	assert_int_equal(poll(&gone, 1, 10000), 1);
	assert_false(tcpdiag_look(&d, &tcp));
	tcpdiag_close(&d);
	loopback_end(&l);
}

/* How long, and what its process has left unread; nothing of one that has said its last word. */
static void a_client_is_silent_since_its_last_byte(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	const struct sockets_entry end = end_at(&l);
	uint32_t ms, unread_bytes;

	(void)state;
	assert_false(tcpdiag_silent(&end, &ms, &unread_bytes));
	carry(l.client, l.server, 10);
	usleep(200000);
	assert_true(tcpdiag_silent(&end, &ms, &unread_bytes));
	assert_in_range(ms, 185, 10000);
	assert_int_equal(unread_bytes, 0);
	assert_int_equal(send(l.client, "abc", 3, 0), 3);
	carry(l.server, l.client, 100);
	assert_true(tcpdiag_silent(&end, &ms, &unread_bytes));
	assert_in_range(ms, 0, 180);
	assert_int_equal(unread_bytes, 3);
	shutdown(l.client, SHUT_WR);
	wait_until(!tcpdiag_silent(&end, &ms, &unread_bytes));
	loopback_end(&l);
}

static void a_later_connection_of_the_same_addresses_is_another_one(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	const uint16_t port = ((struct sockaddr_in *)&l.local)->sin_port;
	struct tcpdiag d = open_at(&l), next;
	struct run_tcp tcp = {};

	(void)state;
	loopback_reset(&l.client);
	loopback_reset(&l.server);
	assert_true(loopback_connect(&l, LOOPBACK_V4, port));
	l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_false(tcpdiag_look(&d, &tcp));
	next = open_at(&l);
	assert_true(tcpdiag_look(&next, &tcp));
	tcpdiag_close(&next);
	tcpdiag_close(&d);
	loopback_end(&l);
}

static void a_listening_socket_is_not_taken_for_the_connection(void **state)
{
	struct loopback l = make(LOOPBACK_MAPPED);
	struct sockaddr_in *local = (void *)&l.local;
	struct tcpdiag d;

	(void)state;
	local->sin_port = htons(1);
	assert_int_equal(tcpdiag_open(&d, &l.local, &l.peer), -ENOENT);
	assert_false(d.netlink.is_open);
	local->sin_family = AF_UNIX;
	assert_int_equal(tcpdiag_open(&d, &l.local, &l.peer), -ENOENT);
	loopback_end(&l);
}

static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
	       !setresuid(65534, 65534, 65534);
}

/* Asks from a process that has given up its rights, and opens there too (later). */
static void check_without_rights(bool later, bool nobody)
{
	struct loopback l = make(LOOPBACK_V4);
	struct tcpdiag d = open_at(&l);
	struct run_tcp tcp = {};
	int status = -1;
	pid_t pid;

	carry(l.client, l.server, BYTES);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(l.server);
		if (nobody ? !become_nobody() : rights_drop(0) != 0)
			_exit(2);
		if (later)
			d = open_at(&l);
		if (!tcpdiag_look(&d, &tcp) || tcp.value[TCP_BYTES_RECEIVED] != BYTES)
			_exit(3);
		for (int i = 0; i < N_TCP; i++)
			if (!tcp.known[i] && i != TCP_MSS && i != TCP_MIN_RTT &&
			    i != TCP_DELIVERY_RATE) /* this end has only received */
				_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	tcpdiag_close(&d);
	loopback_end(&l);
}

static void it_takes_no_rights(void **state)
{
	(void)state;
	check_without_rights(false, false);
	check_without_rights(true, false);
	if (getuid())
		skip();
	check_without_rights(false, true);
	check_without_rights(true, true);
}

static unsigned int open_fds(void)
{
	struct procfs_numbers fd;
	unsigned int n = 0;

	assert_int_equal(procfs_fds(&fd, getpid()), 0);
	while (procfs_next(&fd))
		n++;
	return n;
}

/* The server's end owes the client an answer from its last byte until the first of the answer. */
static void who_spoke_last_is_known(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	const struct sockets_entry end = end_at(&l);
	uint64_t end_ns = clock_now_ns() + 5000000000u;
	uint32_t ms = 0;

	(void)state;
	assert_false(tcpdiag_owed(&end, 1, &ms));
	carry(l.client, l.server, 100);
	while (!tcpdiag_owed(&end, 100, &ms) && clock_now_ns() < end_ns)
		poll(NULL, 0, 1);
	assert_true(tcpdiag_owed(&end, 100, &ms));
	/* So that the answer is not within one step of the kernel's clock. */
	while (ms < 20 && clock_now_ns() < end_ns) {
		poll(NULL, 0, 1);
		assert_true(tcpdiag_owed(&end, 100, &ms));
	}
	carry(l.server, l.client, 10);
	assert_false(tcpdiag_owed(&end, 100, &ms));
	loopback_end(&l);
}

static void looks_leave_nothing_open(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	const unsigned int before = open_fds();
	struct run_tcp tcp = {};
	struct tcpdiag d;

	(void)state;
	assert_true(before > 0);
	for (int i = 0; i < LOOKS; i++) {
		d = open_at(&l);
		assert_true(tcpdiag_look(&d, &tcp));
		tcpdiag_close(&d);
	}
	assert_int_equal(open_fds(), before);
	d = open_at(&l);
	for (int i = 0; i < LOOKS; i++)
		assert_true(tcpdiag_look(&d, &tcp));
	assert_int_equal(open_fds(), before + 1);
	tcpdiag_close(&d);
	assert_int_equal(open_fds(), before);
	loopback_end(&l);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The socket is busy all the time: its process writes what the client reads. */
static pid_t stream(struct loopback *l)
{
	static char buf[1 << 20];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (recv(l->client, buf, sizeof(buf), 0) > 0)
			;
		_exit(0);
	}
	while (send(l->server, buf, sizeof(buf), 0) > 0)
		;
	_exit(0);
}

static void price(const char *what, const struct loopback *l)
{
	static uint64_t ns[20 * LOOKS];
	const size_t n = sizeof(ns) / sizeof(ns[0]);
	struct tcpdiag d = open_at(l);
	struct run_tcp tcp = {};
	uint64_t begun;

	for (size_t i = 0; i < n; i++) {
		begun = clock_now_ns();
		assert_true(tcpdiag_look(&d, &tcp));
		ns[i] = clock_now_ns() - begun;
	}
	qsort(ns, n, sizeof(ns[0]), by_size);
	print_message("a look, %s: median %llu ns, 99%% %llu ns, most %llu ns\n", what,
		      (unsigned long long)ns[n / 2], (unsigned long long)ns[n * 99 / 100],
		      (unsigned long long)ns[n - 1]);
	/* Far above what it takes anywhere: it never waits for the server. */
	assert_true(ns[n / 2] < 10000000);
	tcpdiag_close(&d);
}

static void a_look_waits_for_nobody(void **state)
{
	struct loopback l = make(LOOPBACK_V4);
	struct run_tcp own;
	pid_t pid;

	(void)state;
	price("quiet", &l);
	pid = stream(&l);
	wait_until((ask_own(&own, l.server), own.value[TCP_BYTES_ACKED] > 1 << 20));
	price("while it writes", &l);
	kill(pid, SIGSTOP);
	price("its process stopped", &l);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	loopback_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_other_end_received_what_was_sent_v4),
		cmocka_unit_test(the_other_end_received_what_was_sent_v6),
		cmocka_unit_test(the_other_end_received_what_was_sent_mapped),
		cmocka_unit_test(mapped_addresses_name_an_ipv4_connection),
		cmocka_unit_test(every_value_is_the_other_end_s_own),
		cmocka_unit_test(the_other_end_s_congestion_control_is_its_own),
		cmocka_unit_test(a_closed_end_says_nothing),
		cmocka_unit_test(a_connection_cut_off_says_nothing),
		cmocka_unit_test(a_client_is_silent_since_its_last_byte),
		cmocka_unit_test(a_later_connection_of_the_same_addresses_is_another_one),
		cmocka_unit_test(a_listening_socket_is_not_taken_for_the_connection),
		cmocka_unit_test(it_takes_no_rights),
		cmocka_unit_test(who_spoke_last_is_known),
		cmocka_unit_test(looks_leave_nothing_open),
		cmocka_unit_test(a_look_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
