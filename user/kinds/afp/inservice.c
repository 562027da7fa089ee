/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpd waits for its client's next request in read, or in poll or select without a time. A thread
 * that sleeps in any other call works for a request; one on a CPU is not judged, as it will soon be
 * in a state that tells.
 */
#include "kinds/afp/inservice.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/net/sockets.h"
#include "host/net/tcpdiag.h"
#include "host/proc/procfs.h"
#include "host/proc/sleeping.h"
#include "host/proc/syscalls.h"
#include "kinds/target.h"
#include "run/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_PER_MS 1000000u

struct look {
	struct inservice *out;
	const struct servers_entry *server;
	const struct inservice_known *known;
	struct sockets all;     /* read when first needed */
	struct backend backend; /* the database server's */
	/* Of the session that is looked at. */
	const struct sockets_entry *client; /* NULL: none */
	int client_fd;
};

const struct sockets_entry *inservice_client(int *fd, const struct sockets *all,
					     const struct servers_entry *s, pid_t session)
{
	const struct sockets_entry *e;
	struct sockets_held its;

	its.n = 0;
	sockets_hold(&its, session);
	for (size_t i = 0; i < its.n; i++) {
		*fd = its.socket[i].fd;
		e = sockets_of_inode(all, its.socket[i].ino);
		if (e && !e->peer && e->remote.port &&
		    servers_has_port(s->port, s->n_ports, e->local.port))
			return e;
	}
	*fd = -1;
	return NULL;
}

static bool is_backend(const struct look *l, const struct sockets_entry *e)
{
	const struct sockets_entry *there = e->peer ? sockets_of_inode(&l->all, e->peer) : NULL;

	if (e->peer)
		return there && there->path[0] && backend_is_socket(&l->backend, there->path);
	return servers_has_port(l->server->cnid_port, l->server->n_cnid_ports, e->remote.port) ||
	       e->remote.port == l->backend.port;
}

/* What a descriptor is; *who: in words, where more is known than the object. */
static enum afs_object object_of_fd(const struct look *l, pid_t pid, int fd, char *who, size_t len)
{
	const struct sockets_entry *e;
	char name[CENSUS_PATH_MAX];
	uint64_t ino;

	*who = '\0';
	if (fd == l->client_fd)
		return AFS_OBJECT_CLIENT;
	if (procfs_fd_name(name, sizeof(name), pid, fd))
		return AFS_OBJECT_UNKNOWN;
	ino = procfs_socket(name);
	e = ino ? sockets_of_inode(&l->all, ino) : NULL;
	if (!e || e->listens)
		return *name == '/' ? AFS_OBJECT_DATA : AFS_OBJECT_OTHER;
	if (is_backend(l, e))
		return AFS_OBJECT_BACKEND;
	if (!e->peer)
		sockets_text(who, len, &e->remote);
	return AFS_OBJECT_SOCKET;
}

/* The first descriptor that is not the client's. */
static int inservice_fd_of(const struct look *l, const struct sleeping *is)
{
	for (size_t i = 0; i < is->n_fds; i++)
		if (is->fd[i] != l->client_fd)
			return is->fd[i];
	return is->n_fds ? is->fd[0] : -1;
}

/* Names what it waits for: "select on the CNID server". */
static void describe_wait(const struct look *l, struct run_service *r, const struct sleeping *is)
{
	static const char *const words[AFS_N_OBJECTS] = {
		[AFS_OBJECT_CLIENT] = " on the client",
		[AFS_OBJECT_BACKEND] = " on the CNID server",
		[AFS_OBJECT_SOCKET] = " on ",
		[AFS_OBJECT_DATA] = " on a file",
	};
	enum afs_object object = AFS_OBJECT_NONE;
	struct afs_call call = syscalls_call(is->nr);
	const char *name = syscalls_name(is->nr);
	char who[64] = "";
	int fd = inservice_fd_of(l, is);

	if (fd >= 0)
		object = object_of_fd(l, r->pid, fd, who, sizeof(who));
	r->pauses = is->nr >= 0 && fd < 0;
	r->naps = is->naps;
	/* Of all calls on a descriptor without bytes only those for locks sleep. */
	if (call.class == AFS_CLASS_FD)
		call.class = AFS_CLASS_LOCK;
	r->column = (uint8_t)(is->nr < 0 ? ACCOUNT_DISK
					 : account_blocked_column(call.class, object));
	if (object == AFS_OBJECT_SOCKET && !*who)
		snprintf(who, sizeof(who), "another process");
	if (name)
		snprintf(r->on, sizeof(r->on), "%s%s%s", name, words[object] ? words[object] : "",
			 who);
}

/* Whether its client's next request is all that it waits for. */
static bool inservice_is_idle(const struct look *l, const struct sleeping *is)
{
	enum afs_class class = syscalls_call(is->nr).class;

	if (is->ready)
		return !is->timed && !is->writes; /* a reply waits for room */
	return (class == AFS_CLASS_READ || class == AFS_CLASS_RECV) && is->n_fds &&
	       is->fd[0] == l->client_fd;
}

static int inservice_add_request(struct look *l, pid_t pid, const struct sleeping *is, bool stopped)
{
	struct inservice *out = l->out;
	struct run_service *more;
	uint32_t ms, unread_bytes;

	if (!tcpdiag_silent(l->client, &ms, &unread_bytes) ||
	    (inservice_is_idle(l, is) && !unread_bytes))
		return 0;
	more = VEC_ADD(out->request, out->n);
	if (!more)
		return -ENOMEM;
	*more = (struct run_service) { .pid = pid,
				       .before = true,
				       .account = AFS_ACCOUNT_BETWEEN,
				       .age_ns = (uint64_t)ms * NS_PER_MS };
	sockets_text(more->address, sizeof(more->address), &l->client->remote);
	describe_wait(l, more, is);
	if (stopped)
		more->column = ACCOUNT_STOPPED;
	return 0;
}

static int look_at_session(void *arg, pid_t pid)
{
	struct look *l = arg;
	struct procstat st;
	struct sleeping is;
	bool stopped;
	int r;

	if (l->known->fn && l->known->fn(l->known->arg, pid))
		return 0;
	stopped = !procstat_read(&st, pid) && (st.state == 'T' || st.state == 't');
	r = sleeping_read(&is, pid, pid);
	if (r) {
		/* One that has just ended has no request. */
		l->out->known &= r == -ESRCH || r == -ENOENT;
		return 0;
	}
	l->client_fd = -1;
	if (is.running || (!stopped && is.ready && inservice_is_idle(l, &is)))
		return 0;
	if (!l->all.n)
		sockets_read(&l->all, NULL);
	l->client = inservice_client(&l->client_fd, &l->all, l->server, pid);
	if (!l->client || (!stopped && inservice_is_idle(l, &is)))
		return 0;
	return inservice_add_request(l, pid, &is, stopped);
}

int inservice_look(struct inservice *out, const struct servers_entry *s,
		   const struct inservice_known *known)
{
	struct look l = { .out = out, .server = s, .known = known };
	int r = 0;

	*out = (struct inservice) { .looked_ns = clock_now_ns(),
				    .known = !s->denied && !s->elsewhere };
	if (!out->known)
		return 0;
	backend_read(&l.backend, servers_process(s));
	if (s->master)
		r = procfs_each_child(s->master, look_at_session, &l);
	else
		for (size_t i = 0; i < s->n_sessions && !r; i++)
			r = look_at_session(&l, s->session[i].pid);
	sockets_fini(&l.all);
	return r == -ENOMEM ? r : 0;
}

void inservice_fini(struct inservice *l)
{
	free(l->request);
	*l = (struct inservice) { 0 };
}

const struct run_service *inservice_of(const struct inservice *l, pid_t pid)
{
	return VEC_FIND(r, l->request, l->n, r->pid == pid);
}
