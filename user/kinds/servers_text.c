/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers as text, and why there is none, for messages. */

#include "base/vec.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "kinds/servers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DBD_SHOWN 8

/* Adds all of them, with details that distinguish them. */
static void servers_list(struct err_list *list, const struct servers *s)
{
	const struct servers_entry *e;
	bool apart = false;

	/* Servers in different namespaces may have the same port. */
	for (size_t i = 0; i < s->n; i++)
		apart |= s->entry[i].elsewhere;
	for (size_t i = 0; i < s->n; i++) {
		char text[ERR_TEXT_MAX] = "";

		e = &s->entry[i];
		err_append(text, "pid %d", e->master);
		for (size_t k = 0; k < e->n_ports; k++)
			err_append(text, "%s%u",
				   k                ? ", "
				   : e->n_ports > 1 ? " (ports "
						    : " (port ",
				   e->port[k]);
		err_append(text, "%s", e->n_ports ? "" : " (port unknown");
		if (apart && e->address[0])
			err_append(text, ", address %s", e->address);
		/* As lsns and stat show it: without the device. */
		if (e->elsewhere)
			err_append(text, ", network namespace %" PRIu32, (uint32_t)e->net);
		err_list_add(list, "%s)", text);
	}
}

static bool share_a_port(const struct servers_entry *a, const struct servers_entry *b)
{
	for (size_t i = 0; i < a->n_ports; i++)
		if (VEC_FIND(port, b->port, b->n_ports, *port == a->port[i]))
			return true;
	return false;
}

/* Then a port does not tell all apart, as in different network namespaces. */
static bool servers_share_a_port(const struct servers *s)
{
	for (size_t i = 1; i < s->n; i++)
		if (VEC_FIND(e, s->entry, i, share_a_port(e, &s->entry[i])))
			return true;
	return false;
}

int servers_one(const struct servers *s, struct err *e)
{
	struct err_list list = { .room = 380 };

	if (s->n == 1)
		return 0;
	servers_list(&list, s);
	return err_set(e, -ENOTUNIQ, "%zu AFP servers run here: %s: choose one with %s--pid PID",
		       s->n, err_list_end(&list), servers_share_a_port(s) ? "" : "--port PORT or ");
}

/* The error when no server listens; it mentions processes of that name. */
int servers_none(const struct census *c, struct err *e)
{
	struct err_list ours = { .room = 200 }, others = { .room = 300 };

	for (size_t i = 0; i < c->n_processes; i++) {
		const struct census_process *p = &c->process[i];

		if (strcmp(p->comm, SERVERS_AFPD) != 0)
			continue;
		if (owner_counts(p->owner))
			err_list_add(&ours, "%d", p->pid);
		else
			err_list_add(&others, "%d (user %u)", p->pid, p->owner);
	}
	if (*ours.text)
		return err_set(e, -ENXIO,
			       "no afpd listens here, although there are processes of that name "
			       "(%s): starting, or sessions whose server has ended (--pid PID "
			       "watches one)",
			       err_list_end(&ours));
	if (*others.text)
		return err_set(e, -ENXIO,
			       "no afpd of root runs here. What ordinary users call so is watched "
			       "only if it is named, with --pid PID or --port PORT: %s",
			       err_list_end(&others));
	if (census_find(c, 1) == c->n_processes)
		return err_set(e, -ENXIO, "no afpd can be seen: %s",
			       procfs_is_mounted() ? PROCFS_HIDDEN : PROCFS_UNMOUNTED);
	return err_set(
	    e, -ENXIO,
	    "no afpd runs here, or it is in another PID namespace: start netatalk, or "
	    "run afpscope on the server's host; --pid PID and --port PORT watch a server "
	    "of another name");
}

int servers_serves_nobody(const struct census_process *p, struct err *e)
{
	if (p->denied)
		return err_set(e, -EACCES,
			       "no right to see what process %d (%s) serves: " RIGHTS_TO_LOOK,
			       p->pid, p->comm);
	return err_set(e, -ENXIO,
		       "process %d (%s) neither listens on a TCP port nor serves a TCP connection",
		       p->pid, p->comm);
}

int servers_not_afp(const struct servers *others, uint16_t port, const char *why, struct err *e)
{
	struct err_list list = { .room = 380 };

	servers_list(&list, others);
	return err_set(e, -ENXIO, "%s port %u here; AFP servers: %s%s", why, port,
		       others->n ? err_list_end(&list) : "none", procfs_hides());
}

int servers_no_port(const struct census *c, uint16_t port, const char *starter,
		    const struct servers *others, struct err *e)
{
	if (starter)
		return err_set(e, -ENXIO,
			       "%s holds port %u until a client comes, and starts the server then: "
			       "connect a client, and try again",
			       starter, port);
	for (size_t i = 0; i < c->n_sockets; i++)
		if (c->socket[i].tcp.listens && c->socket[i].tcp.local.port == port)
			return err_set(
			    e, -EACCES,
			    "port %u is open, but no right to see which process listens on it (its socket is of user id %u): " RIGHTS_TO_LOOK
			    "; or its process is in another PID namespace%s",
			    port, c->socket[i].tcp.uid, procfs_hides());
	return servers_not_afp(others, port, "nothing listens on", e);
}

void servers_append_ports(char *text, const uint16_t *port, size_t n)
{
	for (size_t i = 0; i < n; i++)
		err_append(text, "%s%u", i ? ", " : n > 1 ? ", ports " : ", port ", port[i]);
}

const char *servers_backend(const struct servers_entry *s, char out[ERR_TEXT_MAX])
{
	if (!s->cnid_metad)
		return s->cnid_from;
	snprintf(out, ERR_TEXT_MAX, "cnid_metad pid %d", s->cnid_metad);
	servers_append_ports(out, s->cnid_port, s->n_cnid_ports);
	err_append(out, " (known from: %s); %zu cnid_dbd", s->cnid_from, s->n_dbd);
	for (size_t i = 0; i < s->n_dbd && i < DBD_SHOWN; i++)
		err_append(out, "%s%d", i ? ", " : ": pid ", s->dbd[i]);
	if (s->n_dbd > DBD_SHOWN)
		err_append(out, ", ...");
	return out;
}
