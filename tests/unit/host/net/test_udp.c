/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc/net/udp, and a socket of one's own. */
#include "host/net/udp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SENT 40000 /* datagrams of a byte: more than fit */

static void lines_of_both_families_are_read(void **state)
{
	struct udp_socket s;

	(void)state;
	assert_true(udp_parse(
	    &s, " 1069: 00000000:1B58 00000000:0000 07 00000001:00AB0200 00:00000000 00000000"
		"     0        0 12154724 2 0000000079ac8eea 832      "));
	assert_int_equal(s.port, 7000);
	assert_int_equal(s.ino, 12154724);
	assert_int_equal(s.queue, 0xab0200);
	assert_int_equal(s.drops, 832);
	assert_true(udp_parse(
	    &s, "  77: 00000000000000000000000001000000:0001 "
		"00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000 "
		"1000 0 99 2 0000000000000000 18446744073709551615"));
	assert_int_equal(s.port, 1);
	assert_true(s.drops == UINT64_MAX);
	assert_false(udp_parse(&s, "   sl  local_address rem_address   st tx_queue rx_queue"));
	assert_false(udp_parse(&s, " 1: 00000000:1B58 00000000:0000 07 00000001:00AB0200"));
	assert_false(udp_parse(&s, ""));
}

struct own {
	uint64_t ino;
	struct udp_socket is;
};

static int is_own(void *arg, const struct udp_socket *s)
{
	struct own *own = arg;

	if (s->ino != own->ino)
		return 0;
	own->is = *s;
	return 1;
}

/* What does not fit is counted by the kernel; so is what waits. */
static void a_full_socket_shows_its_queue_and_drops(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	int asked = 100000;
	socklen_t len = sizeof(a);
	uint64_t buffer, waiting = 0;
	struct own own = { 0 };
	struct stat st;
	char c;

	(void)state;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &asked, sizeof(asked)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(fstat(fd, &st), 0);
	own.ino = st.st_ino;
	for (int i = 0; i < SENT; i++)
		assert_int_equal(sendto(from, "x", 1, 0, (struct sockaddr *)&a, len), 1);
	assert_int_equal(udp_each(0, is_own, &own), 1);
	assert_int_equal(own.is.port, ntohs(a.sin_port));
	own.is = (struct udp_socket) { 0 };
	assert_int_equal(udp_of(getpid(), is_own, &own), 1);
	assert_int_equal(own.is.port, ntohs(a.sin_port));
	assert_int_equal(own.is.fd, fd);
	assert_in_range(own.is.queue, 1, 400000);
	while (recv(fd, &c, 1, MSG_DONTWAIT) == 1)
		waiting++;
	assert_int_equal(own.is.drops, SENT - waiting);
	assert_int_equal(udp_each(0, is_own, &own), 1);
	assert_int_equal(own.is.queue, 0);
	if (!udp_buffer(&buffer, getpid(), fd))
		assert_int_equal(buffer, 2 * asked);
	assert_true(udp_buffer(&buffer, getpid(), 9999) < 0);
	assert_true(udp_buffer_max() >= (uint64_t)asked);
	close(fd);
	close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_both_families_are_read),
		cmocka_unit_test(a_full_socket_shows_its_queue_and_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
