/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses that connections begin at. */
#include "dsi/sources.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

static void addresses_are_read(void **state)
{
	struct sources s;
	struct err e;

	(void)state;
	assert_int_equal(sources_parse(&s, "127.0.0.2,::1,127.0.0.3", &e), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(sources_of(&s, AF_INET), 2);
	assert_int_equal(sources_of(&s, AF_INET6), 1);
	assert_int_equal(sources_parse(&s, "fe80::1%lo", &e), 0);
	assert_int_equal(s.at[0].v6.sin6_scope_id, 1);
}

static void what_is_no_address_is_named(void **state)
{
	static const struct {
		const char *list, *text;
	} row[] = {
		{ "", "'' is not an address such as 192.0.2.1, 2001:db8::1 or fe80::1%eth0" },
		{ "127.0.0.1,",
		  "'' is not an address such as 192.0.2.1, 2001:db8::1 or fe80::1%eth0" },
		{ "localhost",
		  "'localhost' is not an address such as 192.0.2.1, 2001:db8::1 or fe80::1%eth0" },
		{ "127.0.0.1,127.0.0.2,127.0.0.1", "'127.0.0.1' is given twice" },
		{ "an-endless-name-that-no-address-of-any-kind-could-ever-have-had-at-all",
		  "'an-endless-name-that...' is too long for an address" },
	};
	struct sources s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(sources_parse(&s, row[i].list, &e), -EINVAL);
		assert_string_equal(e.text, row[i].text);
	}
}

static void there_is_an_end_of_addresses(void **state)
{
	char list[(SOURCES_MAX + 1) * 16] = "";
	struct sources s;
	struct err e;

	(void)state;
	for (int i = 1; i <= SOURCES_MAX; i++)
		snprintf(list + strlen(list), 16, "%s10.0.0.%d", i > 1 ? "," : "", i);
	assert_int_equal(sources_parse(&s, list, &e), 0);
	assert_int_equal(s.n, SOURCES_MAX);
	strcat(list, ",10.0.1.1");
	assert_int_equal(sources_parse(&s, list, &e), -EINVAL);
	assert_string_equal(e.text, "more than 64 addresses");
}

static void an_address_of_another_host_is_named(void **state)
{
	struct sources s;
	struct err e;

	(void)state;
	assert_int_equal(sources_parse(&s, "127.0.0.1,192.0.2.7", &e), 0);
	assert_int_equal(sources_check(&s, &e), -EADDRNOTAVAIL);
	assert_string_equal(e.text, "--source: 192.0.2.7 is not an address of this host (ip addr)");
	assert_int_equal(sources_parse(&s, "127.0.0.1,127.9.9.9", &e), 0);
	assert_int_equal(sources_check(&s, &e), 0);
}

/* Where connection i of this family begins, "" without an address. */
static const char *begin_of(const struct sources *s, unsigned int i, int family, int want)
{
	static char text[INET6_ADDRSTRLEN];
	union source_addr a;
	socklen_t len = sizeof(a);
	int fd = socket(family, SOCK_STREAM, 0);

	assert_int_equal(sources_bind(s, i, fd, family), want);
	assert_int_equal(getsockname(fd, &a.sa, &len), 0);
	/* The port is chosen as it connects. */
	assert_int_equal(family == AF_INET ? a.v4.sin_port : a.v6.sin6_port, 0);
	close(fd);
	return inet_ntop(family,
			 family == AF_INET ? (void *)&a.v4.sin_addr : (void *)&a.v6.sin6_addr, text,
			 sizeof(text));
}

static void connections_take_turns_in_each_family(void **state)
{
	static const char *v4[] = { "127.0.0.2", "127.0.0.3", "127.0.0.4" };
	struct sources s;
	struct err e;

	(void)state;
	assert_int_equal(sources_parse(&s, "127.0.0.2,::1,127.0.0.3,127.0.0.4", &e), 0);
	for (unsigned int i = 0; i < 7; i++) {
		assert_string_equal(begin_of(&s, i, AF_INET, 0), v4[i % 3]);
		assert_string_equal(begin_of(&s, i, AF_INET6, 0), "::1");
	}
}

static void without_one_of_the_family_it_is_said(void **state)
{
	struct sources s;
	struct err e;

	(void)state;
	assert_int_equal(sources_parse(&s, "127.0.0.2", &e), 0);
	assert_string_equal(begin_of(&s, 0, AF_INET6, -EAFNOSUPPORT), "::");
	assert_string_equal(begin_of(NULL, 0, AF_INET, 0), "0.0.0.0");
	s.n = 0;
	assert_string_equal(begin_of(&s, 0, AF_INET, 0), "0.0.0.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read),
		cmocka_unit_test(what_is_no_address_is_named),
		cmocka_unit_test(there_is_an_end_of_addresses),
		cmocka_unit_test(an_address_of_another_host_is_named),
		cmocka_unit_test(connections_take_turns_in_each_family),
		cmocka_unit_test(without_one_of_the_family_it_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
