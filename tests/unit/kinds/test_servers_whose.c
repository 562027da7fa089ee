/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of invented processes count as servers, and as part of one. */
#include "unit/census_rig.h"

/* Server 100 of root, and 300 of user 1000, which calls itself so. */
static void what_a_user_calls_so_is_a_server_only_if_it_is_named(void **state)
{
	struct servers s;
	struct census c;
	struct err e;

	(void)state;
	one_server(&c);
	process(&c, 300, 1, AFPD)->owner = 1000;
	snprintf(c.process[c.n_processes - 1].conf, 16, "/home/conf");
	hold(&c, 300, listening(&c, NET, 5480));
	hold(&c, 300, listening(&c, NET + 1, 548)); /* in a namespace of its own */
	assert_int_equal(servers_choose(&s, &c, &e), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].master, 100);
	servers_fini(&s);
	assert_int_equal(servers_choose_port(&s, &c, 5480, &e), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].master, 300);
	assert_int_equal(s.entry[0].owner, 1000);
	assert_string_equal(s.entry[0].conf, "");
	servers_fini(&s);
	c.process[c.n_processes - 1].net = NET + 1;
	assert_int_equal(servers_choose_port(&s, &c, 548, &e), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].master, 100);
	servers_fini(&s);
	for (size_t i = 1; i < c.n_processes; i++)
		c.process[i].owner = 1000;
	assert_int_equal(servers_choose(&s, &c, &e), -ENXIO);
	assert_non_null(strstr(e.text, "no afpd of root runs here"));
	assert_non_null(strstr(e.text, "300 (user 1000)"));
	servers_fini(&s);
	census_fini(&c);
}

/* Place: what an ordinary user calls afpd, cnid_metad, glusterfsd, fileserver or rxperf, in
 *   any namespace */
static void what_a_user_calls_so_is_no_cnid_server(void **state)
{
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	process(&c, 300, 1, METAD)->owner = 1000;
	hold(&c, 300, listening(&c, NET, 4700));
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.entry[0].cnid_metad, 0);
	servers_fini(&s);
	c.process[c.n_processes - 1].owner = 0;
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.entry[0].cnid_metad, 300);
	servers_fini(&s);
	/* A client of this host, whose parent listens on the port from which it is connected. */
	process(&c, 400, 1, "/home/program");
	process(&c, 401, 400, "/home/program");
	hold(&c, 400, listening(&c, NET, 40005));
	hold(&c, 101, connected(&c, 1, 548, 1, 40005));
	hold(&c, 401, connected(&c, 1, 40005, 1, 548));
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.entry[0].cnid_metad, 300);
	servers_fini(&s);
	census_fini(&c);
}

static void sessions_of_an_earlier_server_are_its_successors(void **state)
{
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	process(&c, 150, 1, AFPD);
	process(&c, 151, 150, "/sbin/unix_chkpwd");
	process(&c, 152, 1, AFPD)->owner = 1000;
	process(&c, 153, 1, "/usr/bin/ssh");
	for (pid_t pid = 150; pid < 154; pid++)
		hold(&c, pid, connected(&c, 1, 548, 9, (uint16_t)(50000 + pid)));
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].n_sessions, 4);
	assert_int_equal(s.entry[0].n_left, 1);
	assert_non_null(servers_session(&s.entry[0], 150));
	assert_int_equal(servers_session(&s.entry[0], 150)->client.port, 50150);
	servers_fini(&s);
	census_fini(&c);
}

static void who_holds_a_port_for_others_is_no_server(void **state)
{
	struct servers s;
	struct census c = { .net = NET };
	struct err e;
	size_t k = listening(&c, NET, 548);

	(void)state;
	process(&c, 1, 0, "/lib/systemd");
	process(&c, 100, 1, AFPD);
	hold(&c, 1, k);
	assert_int_equal(servers_choose_port(&s, &c, 548, &e), -ENXIO);
	assert_non_null(strstr(e.text, "systemd holds port 548"));
	servers_fini(&s);
	hold(&c, 100, k);
	assert_int_equal(servers_choose_port(&s, &c, 548, &e), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].master, 100);
	servers_fini(&s);
	census_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_user_calls_so_is_a_server_only_if_it_is_named),
		cmocka_unit_test(what_a_user_calls_so_is_no_cnid_server),
		cmocka_unit_test(sessions_of_an_earlier_server_are_its_successors),
		cmocka_unit_test(who_holds_a_port_for_others_is_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
