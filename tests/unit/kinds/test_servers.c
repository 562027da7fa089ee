/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who serves whom, told from invented processes and sockets.
 * Also tests user/kinds/servers_text.c, user/host/census.c, user/host/net/sockets.c.
 */
#include "unit/census_rig.h"

static void sessions_are_the_children_with_the_same_program(void **state)
{
	char text[SOCKETS_TEXT_LEN];
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.session, 0);
	assert_int_equal(s.entry[0].master, 100);
	assert_int_equal(s.entry[0].n_ports, 1);
	assert_int_equal(s.entry[0].port[0], 548);
	assert_int_equal(s.entry[0].n_sessions, 3);
	assert_int_equal(s.entry[0].session[0].pid, 101);
	assert_int_equal(s.entry[0].session[0].uid, 501);
	assert_string_equal(client_of(&s.entry[0].session[0], text), "10.0.0.9:40001");
	assert_string_equal(s.entry[0].session[0].volume, "/srv/vol");
	assert_non_null(strstr(s.entry[0].session[0].volume_from, "cwd"));
	assert_string_equal(s.entry[0].session[1].volume, "");
	assert_null(s.entry[0].session[1].volume_from);
	assert_false(s.entry[0].session[1].disconnected);
	assert_true(s.entry[0].session[2].disconnected);
	assert_null(servers_session(&s.entry[0], 104));
	servers_fini(&s);
	census_fini(&c);
}

static void a_v6_client_is_named_in_its_own_form(void **state)
{
	char text[SOCKETS_TEXT_LEN];
	struct servers s;
	struct census c;
	size_t k;

	(void)state;
	one_server(&c);
	k = connected(&c, 1, 548, 9, 40009);
	memset(&c.socket[k].tcp.remote.ip, 0, 16);
	c.socket[k].tcp.remote.ip[15] = 1;
	hold(&c, 103, k);
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_string_equal(client_of(&s.entry[0].session[2], text), "[::1]:40009");
	servers_fini(&s);
	census_fini(&c);
}

static void one_session_can_be_chosen_alone(void **state)
{
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	assert_int_equal(servers_choose_pid(&s, &c, 102, NULL), 0);
	assert_int_equal(s.session, 102);
	assert_int_equal(s.entry[0].master, 100);
	assert_int_equal(s.entry[0].n_sessions, 1);
	assert_int_equal(s.entry[0].session[0].pid, 102);
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 100, NULL), 0);
	assert_int_equal(s.session, 0);
	assert_int_equal(s.entry[0].n_sessions, 3);
	servers_fini(&s);
	census_fini(&c);
}

static void a_server_of_any_name_is_found_by_pid_and_port(void **state)
{
	struct servers s;
	struct census c = { .net = NET };
	struct err e;

	(void)state;
	process(&c, 200, 1, "/opt/filed");
	process(&c, 201, 200, "/opt/filed");
	hold(&c, 200, listening(&c, NET, 5480));
	hold(&c, 201, connected(&c, 1, 5480, 9, 40003));
	assert_int_equal(servers_choose(&s, &c, &e), -ENXIO);
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 201, &e), 0);
	assert_int_equal(s.session, 201);
	servers_fini(&s);
	assert_int_equal(servers_choose_port(&s, &c, 5480, &e), 0);
	assert_int_equal(s.entry[0].master, 200);
	assert_int_equal(s.entry[0].n_sessions, 1);
	servers_fini(&s);
	process(&c, 300, 1, METAD);
	hold(&c, 300, listening(&c, NET, 4700));
	/* Nothing says that these two have to do with it. */
	assert_int_equal(servers_choose_pid(&s, &c, 200, &e), 0);
	assert_int_equal(s.entry[0].cnid_metad, 0);
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 300, &e), 0);
	assert_int_equal(s.entry[0].cnid_metad, 0);
	servers_fini(&s);
	census_fini(&c);
}

static void a_listener_inherited_by_a_child_makes_no_second_server(void **state)
{
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	hold(&c, 101, 0);
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.entry[0].n_sessions, 3);
	servers_fini(&s);
	census_fini(&c);
}

static void a_session_outlives_its_server(void **state)
{
	struct census c = { .net = NET };
	struct servers s;
	struct err e;

	(void)state;
	process(&c, 101, 1, AFPD);
	process(&c, 300, 1, METAD);
	hold(&c, 300, listening(&c, NET, 4700));
	hold(&c, 101, connected(&c, 1, 50000, 1, 4700));
	assert_int_equal(servers_choose_pid(&s, &c, 101, &e), -ENXIO);
	servers_fini(&s);
	hold(&c, 101, connected(&c, 1, 548, 9, 40001));
	assert_int_equal(servers_choose(&s, &c, &e), -ENXIO);
	assert_non_null(strstr(e.text, "101"));
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 101, &e), 0);
	assert_int_equal(s.session, 101);
	assert_int_equal(s.entry[0].master, 0);
	assert_int_equal(s.entry[0].port[0], 548);
	assert_int_equal(s.entry[0].session[0].client.port, 40001);
	servers_fini(&s);
	census_fini(&c);
}

/* It inherited them from the listener, two forks above it. */
static void a_session_with_more_listeners_than_are_named_is_no_trouble(void **state)
{
	struct census c = { .net = NET };
	struct servers s;
	struct err e;
	size_t socket;

	(void)state;
	process(&c, 90, 1, AFPD);
	process(&c, 91, 90, AFPD);
	process(&c, 101, 91, AFPD);
	for (uint16_t port = 1; port <= SERVERS_PORTS + 1; port++) {
		socket = listening(&c, NET, port);
		hold(&c, 90, socket);
		hold(&c, 91, socket);
		hold(&c, 101, socket);
	}
	hold(&c, 101, connected(&c, 1, 548, 9, 40001));
	assert_int_equal(servers_choose_pid(&s, &c, 101, &e), 0);
	assert_int_equal(s.entry[0].n_ports, SERVERS_PORTS);
	assert_int_equal(s.entry[0].port[0], 548);
	assert_false(s.entry[0].elsewhere);
	assert_false(s.entry[0].denied);
	servers_fini(&s);
	census_fini(&c);
}

static void the_port_of_the_cnid_server_is_no_afp_servers(void **state)
{
	struct servers s;
	struct census c;
	struct err e;

	(void)state;
	one_server(&c);
	process(&c, 300, 1, METAD);
	hold(&c, 300, listening(&c, NET, 4700));
	assert_int_equal(servers_choose_port(&s, &c, 4700, &e), -ENXIO);
	assert_non_null(strstr(e.text, "cnid_metad"));
	servers_fini(&s);
	census_fini(&c);
}

static void messages_name_the_way_out(void **state)
{
	struct servers s;
	struct census c;
	struct err e;

	(void)state;
	one_server(&c);
	assert_int_equal(servers_choose_port(&s, &c, 549, &e), -ENXIO);
	assert_non_null(strstr(e.text, "549"));
	assert_non_null(strstr(e.text, "pid 100 (port 548)"));
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 999, &e), -ESRCH);
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 1, &e), -ENXIO);
	servers_fini(&s);
	process(&c, 110, 1, AFPD);
	hold(&c, 110, listening(&c, NET, 10548));
	assert_int_equal(servers_choose(&s, &c, &e), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(servers_one(&s, &e), -ENOTUNIQ);
	assert_non_null(strstr(e.text, "pid 100 (port 548), pid 110 (port 10548)"));
	assert_non_null(strstr(e.text, "--port"));
	servers_fini(&s);
	census_fini(&c);
	assert_int_equal(servers_choose(&s, &c, &e), -ENXIO);
	assert_non_null(strstr(e.text, "hidepid"));
	servers_fini(&s);
}

/* Of any two, by any of their ports. */
static void a_port_that_two_of_several_have_chooses_none(void **state)
{
	static const uint16_t port[][3][SERVERS_PORTS] = {
		{ { 548 }, { 10548 }, { 10549 } },
		{ { 548 }, { 548 }, { 10548 } },
		{ { 548 }, { 10548 }, { 10548 } },
		{ { 548, 1548 }, { 10548 }, { 1548 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(port) / sizeof(port[0]); i++) {
		struct servers_entry entry[3] = { 0 };
		const struct servers s = { .n = 3, .entry = entry };
		struct err e;

		for (size_t k = 0; k < 3; k++)
			for (size_t p = 0; port[i][k][p]; p++)
				servers_add_port(entry[k].port, &entry[k].n_ports, port[i][k][p]);
		assert_int_equal(servers_one(&s, &e), -ENOTUNIQ);
		assert_non_null(strstr(e.text, "--pid PID"));
		assert_int_equal(!strstr(e.text, "--port"), i > 0);
	}
}

static void without_rights_the_name_has_to_do(void **state)
{
	struct servers s;
	struct census c;
	struct err e;

	(void)state;
	one_server(&c);
	c.n_holds = 0;
	for (size_t i = 0; i < c.n_processes; i++) {
		c.process[i].denied = true;
		c.process[i].exe[0] = '\0';
		c.process[i].root = c.process[i].net = 0;
	}
	assert_int_equal(servers_choose(&s, &c, &e), 0);
	assert_int_equal(s.n, 1);
	assert_true(s.entry[0].denied);
	assert_int_equal(s.entry[0].n_ports, 0);
	assert_int_equal(s.entry[0].n_sessions, 3);
	assert_false(s.entry[0].session[0].disconnected);
	servers_fini(&s);
	assert_int_equal(servers_choose_port(&s, &c, 548, &e), -EACCES);
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 104, &e), -EACCES);
	servers_fini(&s);
	census_fini(&c);
}

/* The CNID server of the first AFP server, and what told it. */
static pid_t metad_of(const struct census *c, const char *told)
{
	struct servers s;
	pid_t found;

	assert_int_equal(servers_choose(&s, c, NULL), 0);
	found = s.entry[0].cnid_metad;
	if (!strstr(s.entry[0].cnid_from, told))
		fail_msg("%s", s.entry[0].cnid_from);
	servers_fini(&s);
	return found;
}

static void add_metads(struct census *c)
{
	process(c, 300, 1, METAD);
	hold(c, 300, listening(c, NET, 4700));
	process(c, 301, 300, DBD);
	process(c, 310, 1, METAD);
	hold(c, 310, listening(c, NET, 4701));
	process(c, 311, 310, DBD);
}

static void the_cnid_server_is_told_by_a_connection_first(void **state)
{
	struct servers s;
	struct census c;

	(void)state;
	one_server(&c);
	add_metads(&c);
	snprintf(c.process[1].conf, 20, "/etc/a.conf");
	snprintf(c.process[census_find(&c, 300)].conf, 20, "/etc/a.conf");
	hold(&c, 102, connected(&c, 1, 50000, 1, 4701));
	hold(&c, 311, connected(&c, 1, 4701, 1, 50000));
	assert_int_equal(metad_of(&c, "connected"), 310);
	assert_int_equal(servers_choose(&s, &c, NULL), 0);
	assert_int_equal(s.entry[0].n_cnid_ports, 1);
	assert_int_equal(s.entry[0].cnid_port[0], 4701);
	assert_int_equal(s.entry[0].n_dbd, 1);
	assert_int_equal(s.entry[0].dbd[0], 311);
	servers_fini(&s);
	census_fini(&c);
}

static void then_by_the_parent_then_by_the_configuration(void **state)
{
	struct census c;
	size_t a, b;

	(void)state;
	one_server(&c);
	add_metads(&c);
	a = census_find(&c, 300);
	b = census_find(&c, 310);
	assert_int_equal(metad_of(&c, "several"), 0);
	snprintf(c.process[1].conf, 20, "/etc/a.conf");
	snprintf(c.process[b].conf, 20, "/etc/a.conf");
	assert_int_equal(metad_of(&c, "-F"), 310);
	c.process[1].ppid = c.process[a].ppid = 90;
	assert_int_equal(metad_of(&c, "parent"), 300);
	census_fini(&c);
}

static void last_by_being_the_only_one(void **state)
{
	struct census c;
	size_t b;

	(void)state;
	one_server(&c);
	assert_int_equal(metad_of(&c, "inside afpd"), 0);
	add_metads(&c);
	b = census_find(&c, 310);
	c.process[b].net = NET + 1;
	assert_int_equal(metad_of(&c, "only"), 300);
	/* One that reads another configuration is another server's. */
	snprintf(c.process[1].conf, 20, "/etc/a.conf");
	snprintf(c.process[census_find(&c, 300)].conf, 20, "/etc/b.conf");
	assert_int_equal(metad_of(&c, "inside afpd"), 0);
	census_fini(&c);
}

static void a_server_in_another_namespace_is_told_apart(void **state)
{
	/* Its number is shown without its device, as lsns shows it. */
	const uint64_t there = NET + 1 + (4ull << 32);
	char other[64];
	struct servers s;
	struct census c;
	struct err e;

	(void)state;
	one_server(&c);
	process(&c, 400, 1, AFPD)->net = there;
	hold(&c, 400, listening(&c, there, 548));
	assert_int_equal(servers_choose(&s, &c, &e), 0);
	assert_int_equal(s.n, 2);
	assert_false(s.entry[0].elsewhere);
	assert_true(s.entry[1].elsewhere);
	servers_fini(&s);
	/* The port is both's: neither is taken without a word. */
	assert_int_equal(servers_choose_port(&s, &c, 548, &e), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(servers_one(&s, &e), -ENOTUNIQ);
	assert_non_null(strstr(e.text, "pid 100 (port 548, address "));
	snprintf(other, sizeof(other), ", network namespace %d)", NET + 1);
	assert_non_null(strstr(e.text, other));
	assert_non_null(strstr(e.text, "pid 400 (port 548, "));
	assert_non_null(strstr(e.text, "choose one with --pid PID"));
	servers_fini(&s);
	assert_int_equal(servers_choose_pid(&s, &c, 400, &e), 0);
	assert_int_equal(servers_one(&s, &e), 0);
	assert_int_equal(s.entry[0].master, 400);
	servers_fini(&s);
	census_fini(&c);
}

static void a_listening_line_is_read(void **state)
{
	const char *line = "   0: 0100007F:0224 00000000:0000 0A 00000000:00000000 00:00000000 "
			   "00000000     0        0 4711 1 0000000000000000 100 0 0 10 0";
	struct sockets_entry s;

	(void)state;
	assert_true(sockets_parse(&s, line) && s.listens);
	assert_int_equal(s.local.port, 548);
	assert_int_equal(s.ino, 4711);
	assert_false(sockets_parse(&s, "  sl  local_address rem_address   st"));
}

static void paths_are_those_below_the_root(void **state)
{
	static const char *const cases[][3] = {
		{ "/srv/root/a/b", "/srv/root", "/a/b" },
		{ "/srv/root", "/srv/root", "" },
		{ "/srv/rootless", "/srv/root", "/srv/rootless" },
		{ "/a", "/", "/a" },
		{ "/", "/", "" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		census_below(out, sizeof(out), cases[i][0], cases[i][1]);
		assert_string_equal(out, cases[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_the_children_with_the_same_program),
		cmocka_unit_test(a_v6_client_is_named_in_its_own_form),
		cmocka_unit_test(one_session_can_be_chosen_alone),
		cmocka_unit_test(a_server_of_any_name_is_found_by_pid_and_port),
		cmocka_unit_test(a_listener_inherited_by_a_child_makes_no_second_server),
		cmocka_unit_test(a_session_outlives_its_server),
		cmocka_unit_test(a_session_with_more_listeners_than_are_named_is_no_trouble),
		cmocka_unit_test(the_port_of_the_cnid_server_is_no_afp_servers),
		cmocka_unit_test(messages_name_the_way_out),
		cmocka_unit_test(a_port_that_two_of_several_have_chooses_none),
		cmocka_unit_test(without_rights_the_name_has_to_do),
		cmocka_unit_test(the_cnid_server_is_told_by_a_connection_first),
		cmocka_unit_test(then_by_the_parent_then_by_the_configuration),
		cmocka_unit_test(last_by_being_the_only_one),
		cmocka_unit_test(a_server_in_another_namespace_is_told_apart),
		cmocka_unit_test(a_listening_line_is_read),
		cmocka_unit_test(paths_are_those_below_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
