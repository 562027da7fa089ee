/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was said last on a connection: if the client did, and then nobody, the server has a request
 * to answer. The kernel keeps when data was last received and sent.
 */
#include "kinds/afp/looks.h"

#include "base/clock.h"
#include "host/net/sockets.h"
#include "host/net/tcpdiag.h"
#include "kinds/afp/inservice.h"

#define LEAST_NS  2000000000u
#define NS_PER_MS 1000000u
/* DSIOpenSession has at most about 30 bytes, FPLogin at least 50 more. */
#define LOGIN_BYTES 64

/* A session without a user that is at least so old, and lives. */
static bool is_stranger(const struct run *r, const struct run_session *s, uint64_t now_ns)
{
	uint64_t begun_ns = s->begun_ns ? s->begun_ns : r->phase[0]->start_ns;

	return !s->user && !s->ended_ns && s->pid && now_ns >= begun_ns + LEAST_NS;
}

struct count {
	double strangers, logins, longest_ns;
};

static void afp_strangers_look(struct count *n, struct run_figures *out,
			       const struct sockets_entry *client, pid_t pid)
{
	char text[SOCKETS_IP_LEN];
	uint32_t ms = 0;
	double ns;

	if (tcpdiag_owed(client, LOGIN_BYTES, &ms) && ms) {
		ns = (double)ms * NS_PER_MS;
		n->logins++;
		n->longest_ns = ns > n->longest_ns ? ns : n->longest_ns;
		return;
	}
	if (n->strangers++)
		return;
	sockets_ip_text(text, &client->remote);
	run_figure_who(out, RUN_FIGURE_NO_LOGIN, "%s port %u (pid %d)", text, client->remote.port,
		       pid);
}

static void most(struct run_figures *out, enum run_figure which, double value)
{
	if (!out->known[which] || out->value[which] < value)
		run_figure_set(out, which, value);
}

void strangers_look(struct run_figures *out, const struct run *r, const struct servers_entry *s)
{
	struct sockets all = { 0 };
	const struct sockets_entry *client;
	struct count n = { 0 };
	uint64_t now_ns = clock_now_ns();
	int fd;

	if (r->n_phases && !sockets_read(&all, NULL)) {
		for (size_t i = 0; i < r->n_sessions; i++) {
			pid_t pid = r->session[i].pid;

			if (!is_stranger(r, &r->session[i], now_ns))
				continue;
			client = inservice_client(&fd, &all, s, pid);
			if (client)
				afp_strangers_look(&n, out, client, pid);
		}
		run_figure_set(out, RUN_FIGURE_NO_LOGIN, n.strangers);
		most(out, RUN_FIGURE_LOGIN_PENDING, n.logins);
		if (n.logins > 0)
			most(out, RUN_FIGURE_LOGIN, n.longest_ns);
	}
	sockets_fini(&all);
}
