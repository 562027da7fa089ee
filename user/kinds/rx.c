/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers over Rx: those of OpenAFS, rxperf's, and "afpscope rx --serve". They are found by their
 * programs' names, their clients' sockets by the ports that they have.
 */
#include "bpf/services.h"
#include "host/cgroup.h"
#include "host/owner.h"
#include "host/procfs.h"
#include "host/udp.h"
#include "kinds/kind.h"
#include "kinds/rx_names.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 32
#define SOCKETS_MAX   4
#define WORD_LEN      256
/* A packet of usual length in the kernel's memory, and a client's window. */
#define PACKET_LEN 2304
#define WINDOW     32
/* A buffer with less room than for the windows of so many clients is worth a warning. */
#define CLIENTS_LEAST 64

struct rx_daemon {
	pid_t pid;
	bool in;            /* it was asked for */
	const char *option; /* for its receive buffer; NULL: it has none */
	char name[sizeof(((struct procstat *)0)->comm)];
	size_t n;
	struct udp_socket socket[SOCKETS_MAX];
};

struct rx_daemons {
	size_t n;
	struct rx_daemon daemon[PROCESSES_MAX];
};

/* The names of the programs, and their options for the receive buffer. */
static const struct {
	const char *name, *option;
} programs[] = {
	{ "fileserver", "-udpsize BYTES" },
	{ "dafileserver", "-udpsize BYTES" },
	{ "volserver", "-udpsize BYTES" },
	{ "davolserver", "-udpsize BYTES" },
	{ "vlserver", NULL },
	{ "ptserver", NULL },
	{ "buserver", NULL },
	{ "bosserver", NULL },
	{ "rxperf", "-u KIB" },
	{ "afpscope", "--buffer BYTES" },
};

/* The program's place in the table; -1: it is no server. */
static int program_of(const char *name, pid_t pid)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(name, programs[i].name))
			return strcmp(name, "afpscope") || procfs_has_word(pid, "--serve") ? (int)i
											   : -1;
	return -1;
}

static int add_socket(void *arg, const struct udp_socket *s)
{
	struct rx_daemon *d = arg;

	if (s->port && d->n < SOCKETS_MAX)
		d->socket[d->n++] = *s;
	return 0;
}

/* Its sockets of datagrams. */
static void look(struct rx_daemon *d)
{
	udp_of(d->pid, add_socket, d);
}

static bool note_name(struct rx_daemon *d)
{
	struct procstat st;

	if (procstat_read(&st, d->pid) || !procstat_lives(&st))
		return false;
	snprintf(d->name, sizeof(d->name), "%s", st.comm);
	return true;
}

static int add(void *arg, pid_t pid)
{
	struct rx_daemons *m = arg;
	struct rx_daemon *d = &m->daemon[m->n];
	int program;

	if (m->n == PROCESSES_MAX || !owner_counts(owner_of(pid)))
		return 0;
	*d = (struct rx_daemon) { .pid = pid };
	program = note_name(d) ? program_of(d->name, pid) : -1;
	if (program >= 0) {
		d->option = programs[program].option;
		look(d);
		m->n++;
	}
	return 0;
}

static struct rx_daemon *daemon_of(struct rx_daemons *m, pid_t pid)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].pid == pid)
			return &m->daemon[i];
	return NULL;
}

/* Whatever its name, if it has a socket of datagrams. */
static int choose_pid(struct rx_daemons *m, pid_t pid, struct err *e)
{
	struct rx_daemon *is = daemon_of(m, pid);

	if (!is && m->n < PROCESSES_MAX) {
		is = &m->daemon[m->n];
		*is = (struct rx_daemon) { .pid = pid };
		if (!note_name(is))
			return err_set(e, -ESRCH, "there is no process %d%s", pid, procfs_hides());
		look(is);
		m->n++;
	}
	if (!is || !is->n)
		return err_set(e, -ENXIO,
			       "process %d has no UDP socket: it is no server over Rx, or there is "
			       "no right to see its sockets",
			       pid);
	is->in = true;
	return 0;
}

static bool has_port(const struct rx_daemon *d, unsigned int port)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->socket[i].port == port)
			return true;
	return false;
}

static int is_port(void *arg, const struct udp_socket *s)
{
	return s->port == *(const unsigned int *)arg;
}

/* A server may have the port whose sockets cannot be seen; the port itself can. */
static int no_server_at(unsigned int port, struct err *e)
{
	if (udp_each(0, is_port, &port) == 1)
		return err_set(e, -EACCES,
			       "no right to see which process has UDP port %u: run as root "
			       "(afpscope check says more), if it is not the kernel itself",
			       port);
	return err_set(e, -ENXIO, "no server over Rx of this host has UDP port %u", port);
}

struct port_holders {
	struct rx_daemons *m;
	unsigned int port;
	size_t n;
	char text[ERR_TEXT_MAX];
};

/* Whatever its name, and whose ever it is. */
static int take_holder(void *arg, pid_t pid)
{
	struct port_holders *h = arg;
	struct err e;

	if (udp_of(pid, is_port, &h->port) == 1 && !choose_pid(h->m, pid, &e)) {
		owner_append(h->text, pid);
		h->n++;
	}
	return 0;
}

static int choose_port(struct rx_daemons *m, unsigned int port, bool known, struct err *e)
{
	struct port_holders h = { .m = m, .port = port };

	for (size_t i = 0, n = m->n; i < n; i++)
		if (has_port(&m->daemon[i], port))
			take_holder(&h, m->daemon[i].pid);
	if (!h.n && !known)
		procfs_each(take_holder, &h);
	if (!h.n)
		return no_server_at(port, e);
	if (h.n > 1)
		return err_set(e, -ENOTUNIQ,
			       "several servers have UDP port %u (%.400s): name one with --pid",
			       port, h.text);
	return 0;
}

static int choose_listed(void *arg, pid_t pid)
{
	struct rx_daemon *is = daemon_of(arg, pid);

	if (is)
		is->in = true;
	return 0;
}

static int choose(struct rx_daemons *m, const struct kind_wish *w, struct err *e)
{
	if (w->pid)
		return choose_pid(m, (pid_t)w->pid, e);
	if (w->port)
		return choose_port(m, w->port, w->known, e);
	if (w->unit)
		return cgroup_each_process(w->unit, choose_listed, m, e);
	for (size_t i = 0; i < m->n; i++)
		m->daemon[i].in = !w->exe || !strcmp(m->daemon[i].name, w->exe);
	return 0;
}

static int make_target(struct target *out, const struct rx_daemons *m, bool named, struct err *e)
{
	pid_t pid[PROCESSES_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].in && m->daemon[i].n)
			pid[n++] = m->daemon[i].pid;
	r = named ? 0 : owner_one(pid, n, "several servers over Rx run here", e);
	if (r)
		return r;
	if (!n)
		return err_set(
		    e, -ENXIO,
		    "no such server over Rx (fileserver, dafileserver, vlserver, ptserver, "
		    "volserver, bosserver, rxperf) runs here: ps -e lists the processes");
	target_processes(out, pid, n);
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; m->daemon[i].in && k < m->daemon[i].n; k++)
			target_add_port(out, m->daemon[i].socket[k].port, AFS_OBJECT_CLIENT);
	return 0;
}

/* The partitions of a file server: the folders of its root whose names begin so. */
#define PARTITION      "vicep"
#define PARTITIONS_MAX 16

static bool has_files(const struct rx_daemons *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].in && (strstr(m->daemon[i].name, "fileserver") ||
					strstr(m->daemon[i].name, "volserver")))
			return true;
	return false;
}

static int take_partitions(struct kind_found *out)
{
	struct dirent *entry;
	char root[64];
	DIR *d;

	procfs_inside(root, sizeof(root), out->target.server, "");
	d = opendir(root);
	out->folder = d ? calloc(PARTITIONS_MAX, sizeof(*out->folder)) : NULL;
	while (out->folder && out->n_folders < PARTITIONS_MAX && (entry = readdir(d)))
		if (!strncmp(entry->d_name, PARTITION, strlen(PARTITION)))
			snprintf(out->folder[out->n_folders++], CENSUS_PATH_MAX, "/%.200s",
				 entry->d_name);
	if (d)
		closedir(d);
	return d && !out->folder ? -ENOMEM : 0;
}

static int find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct rx_daemons *m = calloc(1, sizeof(*m));
	int r = m ? 0 : err_set(e, -ENOMEM, "out of memory");

	if (!r) {
		procfs_each(add, m);
		r = choose(m, w, e);
	}
	r = r ? r : make_target(&out->target, m, w->pid || w->port || w->unit, e);
	if (!r && has_files(m) && take_partitions(out))
		r = err_set(e, -ENOMEM, "out of memory");
	free(m);
	return r;
}

/* The kernel makes the half of a buffer's memory the size that was asked for. */
static int warn_of_buffer(struct run *r, const struct rx_daemon *d, const struct udp_socket *s,
			  uint64_t memory)
{
	uint64_t most = udp_buffer_max(), asked = 0;
	char word[WORD_LEN];

	if (!procfs_argument(word, sizeof(word), d->pid, "-udpsize"))
		asked = strtoull(word, NULL, 10);
	if (asked > memory / 2)
		return run_note(&r->warnings, "socket-buffer",
				"%s (process %d) asked for a receive buffer of %" PRIu64
				" bytes for UDP port %u and got %" PRIu64
				": net.core.rmem_max is %" PRIu64
				"; raise it with sysctl and start the server again",
				d->name, d->pid, asked, s->port, memory / 2, most);
	if (memory >= (uint64_t)CLIENTS_LEAST * WINDOW * PACKET_LEN)
		return 0;
	return run_note(&r->warnings, "socket-buffer",
			"the receive buffer of %s (process %d, UDP port %u) is %" PRIu64
			" bytes, room for some %" PRIu64
			" packets: it overflows when several clients write at once%s%s; "
			"net.core.rmem_max, the most that it gets, is %" PRIu64,
			d->name, d->pid, s->port, memory / 2, memory / PACKET_LEN,
			d->option ? "; raise it with " : "", d->option ? d->option : "", most);
}

static int describe_socket(struct run *r, const struct rx_daemon *d, const struct udp_socket *s)
{
	char key[32], text[64] = "n/a";
	uint64_t memory;
	bool known = !udp_buffer(&memory, d->pid, s->fd);
	int e;

	if (known)
		snprintf(text, sizeof(text), "%" PRIu64 " bytes", memory / 2);
	snprintf(key, sizeof(key), "port %u", s->port);
	e = run_note(&r->server, key, "%s (process %d), receive buffer %s", d->name, d->pid, text);
	return !e && known ? warn_of_buffer(r, d, s, memory) : e;
}

static int describe_process(struct run *r, struct rx_daemons *m, pid_t pid)
{
	struct rx_daemon *d = &m->daemon[0];
	int e = 0;

	*d = (struct rx_daemon) { .pid = pid };
	if (!note_name(d))
		return 0;
	look(d);
	for (size_t i = 0; i < d->n && !e; i++)
		e = describe_socket(r, d, &d->socket[i]);
	return e;
}

static int describe(const struct kind_found *f, struct run *r)
{
	struct rx_daemons *m = calloc(1, sizeof(*m));
	const struct target *t = &f->target;
	int e = m ? 0 : -ENOMEM;

	for (size_t i = 0; i <= t->n_sessions && !e; i++)
		e = describe_process(r, m, i ? t->session[i - 1].pid : t->server);
	if (!e && t->n_sessions)
		e = run_note(&r->server, "name", "%zu servers over Rx", t->n_sessions + 1);
	else if (!e)
		e = run_note(&r->server, "name", "%s", m->daemon[0].name);
	free(m);
	return e;
}

const struct kind kind_rx = {
	.is = { .name = "rx",
		.role = { [AFS_ROLE_SERVER] = "server", [AFS_ROLE_BACKEND] = "backend" },
		.has_requests = true,
		.has_threads = true,
		.has_diagnosis = true,
		.accounts = &rx_accounts,
		.result_text = rx_result },
	.decoder = AFS_DECODER_RX,
	.any_order = true,
	.find = find,
	.describe = describe,
};
