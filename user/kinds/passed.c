/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/passed.h"

#include "base/vec.h"

#include <math.h>

/* What went on, of what came. */
struct passage {
	uint64_t came, on;
};

/* Over Rx: to the server, and back. */
struct passages {
	struct passage data, back, all;
};

static double passed_of(struct passage p)
{
	return p.came ? (double)p.on / (double)p.came : 0;
}

static uint64_t passed_bytes(const struct ledger *l, enum afs_object object)
{
	return ledger_sum(l, AFS_ROLE_SERVER, AFS_N_CLASSES, object).bytes;
}

/* Datagrams go on as calls of its own, or from sockets that are not known as the server's. */
static void passed_add_packets(struct passages *p, const struct ledger *l)
{
	const struct afs_packets in = ledger_packets(l, false), out = ledger_packets(l, true);

	p->data.came += in.type[AFS_RX_DATA] - in.own;
	p->data.on += out.own;
	p->back.came += in.own;
	p->back.on += out.type[AFS_RX_DATA] - out.own;
	p->all.came += in.datagrams;
	p->all.on += ledger_sum(l, AFS_ROLE_SERVER, AFS_CLASS_SEND, AFS_OBJECT_SOCKET).calls;
}

static bool passed_all(double share)
{
	return share >= 0.8 && share <= 1.25;
}

/*
 * A file server, too, calls its clients back and asks others, in calls of its own, and its programs
 * talk to each other through Unix sockets: of what has a server's name only that counts which goes
 * on both ways, or that for which it has opened sockets.
 */
static double passed_packets(const struct passages *p, const struct target *t, const struct run *r)
{
	double data = passed_of(p->data), all = passed_of(p->all);

	if (t->foreign != way_by_name)
		return fmax(data, all);
	if (!passed_all(data) || !passed_all(passed_of(p->back)))
		data = 0;
	if (!VEC_FIND(s, r->socket, r->n_sockets,
		      s->port && !VEC_FIND(known, t->known.port, t->known.n_ports,
					   known->port == s->port)))
		all = 0;
	return fmax(data, all);
}

double passed_share(const struct target *t, const struct run *r)
{
	struct passage bytes = { 0 };
	struct passages packets = { 0 };
	bool seen = r->n_phases;

	for (size_t i = 0; i < r->n_phases && t->foreign; i++) {
		const struct ledger *l = &r->phase[i]->ledger;

		seen &= l->has_requests;
		if (l->n_packets) {
			passed_add_packets(&packets, l);
			continue;
		}
		bytes.came += passed_bytes(l, AFS_OBJECT_CLIENT);
		bytes.on += passed_bytes(l, AFS_OBJECT_PIPE) + passed_bytes(l, AFS_OBJECT_SOCKET);
	}
	if (t->foreign && !seen)
		return NAN;
	return fmax(passed_of(bytes), passed_packets(&packets, t, r));
}

int passed_note(const struct target *t, struct run *r, const char *name)
{
	double passed = passed_share(t, r);

	if (passed < PASSED_HARM)
		return 0;
	return run_note(&r->warnings, "way",
			"%s (pid %d) is %s, and %s: if it is a relay, give the port of the "
			"server behind it",
			name, t->server, t->foreign,
			isnan(passed) ? "what it passes on is not seen"
				      : "its clients' bytes may go on");
}
