/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server passes on, by what it did. */
#include "kinds/kind.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const char not_known[] = "no server";

/* A run of one phase, whose target is foreign for this reason. */
struct rig {
	struct run r;
	struct run_phase phase, *phases[1];
	struct run_socket socket;
	struct target t;
};

static struct rig *rig_new(const char *foreign, size_t n_rows, size_t n_packets)
{
	struct rig *x = calloc(1, sizeof(*x));
	struct ledger *l = &x->phase.ledger;

	*l = (struct ledger) { .has_requests = true, .n_rows = n_rows, .n_packets = n_packets };
	l->row = calloc(n_rows + 1, sizeof(*l->row));
	l->packets = calloc(n_packets + 1, sizeof(*l->packets));
	x->phases[0] = &x->phase;
	x->r.n_phases = 1;
	x->r.phase = x->phases;
	x->socket.port = 7000;
	x->r.socket = &x->socket;
	x->r.n_sockets = 1;
	x->t.foreign = foreign;
	x->t.known.n_ports = 1;
	x->t.known.port[0].port = 7000;
	return x;
}

static double rig_end(struct rig *x)
{
	double share = passed_share(&x->t, &x->r);

	ledger_fini(&x->phase.ledger);
	free(x);
	return share;
}

static struct ledger_row row(enum afs_class class, enum afs_object object, uint64_t n)
{
	return (struct ledger_row) { .role = AFS_ROLE_SERVER,
				     .class = class,
				     .object = object,
				     .cell = { .calls = n, .bytes = n } };
}

/* came, on: bytes of clients, and through pipes and sockets. */
static double of_bytes(const char *foreign, uint64_t came, uint64_t on)
{
	struct rig *x = rig_new(foreign, 3, 0);
	struct ledger_row *r = x->phase.ledger.row;

	r[0] = row(AFS_CLASS_READ, AFS_OBJECT_CLIENT, came);
	r[1] = row(AFS_CLASS_WRITE, AFS_OBJECT_PIPE, on / 2);
	r[2] = row(AFS_CLASS_WRITE, AFS_OBJECT_SOCKET, on / 2);
	return rig_end(x);
}

static void a_server_by_name_alone_is_judged_by_its_bytes(void **state)
{
	(void)state;
	assert_true(of_bytes(way_by_name, 1000, 1000) > 0.99);
	assert_true(of_bytes(not_known, 1000, 1000) > 0.99);
	assert_true(of_bytes(NULL, 1000, 1000) == 0);
	assert_true(of_bytes(way_by_name, 1000, 10) < PASSED_HARM);
	assert_true(of_bytes(way_by_name, 0, 1000) == 0);
}

static void without_requests_it_is_not_known(void **state)
{
	struct rig *x = rig_new(way_by_name, 0, 0);

	(void)state;
	x->phase.ledger.has_requests = false;
	assert_true(isnan(rig_end(x)));
	x = rig_new(NULL, 0, 0);
	x->phase.ledger.has_requests = false;
	assert_true(rig_end(x) == 0);
}

/* Packets of data: of clients, and of its own calls; each way. */
struct data {
	uint64_t asked, own_asked, own_answered, answered;
};

static double of_packets(const char *foreign, struct data d, uint64_t sent, uint16_t port)
{
	struct rig *x = rig_new(foreign, 1, 2);
	struct ledger *l = &x->phase.ledger;

	l->row[0] = row(AFS_CLASS_SEND, AFS_OBJECT_SOCKET, sent);
	l->packets[0].sum.own = d.own_answered;
	l->packets[0].sum.type[AFS_RX_DATA] = d.asked + d.own_answered;
	l->packets[0].sum.datagrams = d.asked + d.own_answered;
	l->packets[1].from_server = true;
	l->packets[1].sum.own = d.own_asked;
	l->packets[1].sum.type[AFS_RX_DATA] = d.answered + d.own_asked;
	x->socket.port = port;
	return rig_end(x);
}

static void a_relay_called_as_a_file_server_passes_all_on(void **state)
{
	const struct data relay = { 100, 100, 4000, 4000 }, none = { 100, 0, 0, 4000 };

	(void)state;
	assert_true(of_packets(way_by_name, relay, 0, 7000) > 0.99);
	assert_true(of_packets(not_known, relay, 0, 7000) > 0.99);
	/* Over sockets that it opened for it. */
	assert_true(of_packets(way_by_name, none, 100, 40000) > 0.99);
	assert_true(of_packets(not_known, none, 100, 7000) > 0.99);
}

static void a_file_server_that_calls_others_is_no_relay(void **state)
{
	const struct data breaks_callbacks = { 100, 900, 900, 100 },
			  asks_for_groups = { 100, 60, 60, 4000 }, none = { 100, 0, 0, 100 };

	(void)state;
	assert_true(of_packets(way_by_name, breaks_callbacks, 0, 7000) < PASSED_HARM);
	assert_true(of_packets(way_by_name, asks_for_groups, 0, 7000) < PASSED_HARM);
	/* A volume server asks the file server by a Unix socket. */
	assert_true(of_packets(way_by_name, none, 100, 7000) < PASSED_HARM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_by_name_alone_is_judged_by_its_bytes),
		cmocka_unit_test(without_requests_it_is_not_known),
		cmocka_unit_test(a_relay_called_as_a_file_server_passes_all_on),
		cmocka_unit_test(a_file_server_that_calls_others_is_no_relay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
