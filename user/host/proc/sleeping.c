/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/task/TID/syscall, and in the process the lists that poll and select are given. */
#include "host/proc/sleeping.h"

#include "base/procstat.h"
#include "bpf/calls.h"
#include "host/proc/procfs.h"
#include "host/proc/syscalls.h"

#include <poll.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Calls that wait until descriptors are ready: where the list is, and where the time. */
enum list { LIST_POLL, LIST_SELECT, LIST_EPOLL };

static const struct waiting_call {
	const char *name;
	enum list list;
	unsigned int time; /* argument: a pointer, or with "ms" a number */
	bool ms;
} waiting_calls[] = {
	{ "poll", LIST_POLL, 2, true },
	{ "ppoll", LIST_POLL, 2, false },
	{ "select", LIST_SELECT, 4, false },
	{ "pselect6", LIST_SELECT, 4, false },
	{ "epoll_wait", LIST_EPOLL, 3, true },
	{ "epoll_pwait", LIST_EPOLL, 3, true },
	/*
	 * After a stop or a look of a debugger: poll has its arguments still, or it is a sleep or
	 * a lock, whose arguments are no short list.
	 */
	{ "restart_syscall", LIST_POLL, 2, true },
};

#define RESTARTED_FDS 16

static bool sleeping_read_memory(void *out, size_t len, pid_t pid, uint64_t at)
{
	struct iovec here = { out, len }, there = { (void *)(uintptr_t)at, len };

	return at && process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static void add_fd(struct sleeping *out, int fd)
{
	if (out->n_fds < SLEEPING_FDS)
		out->fd[out->n_fds++] = fd;
}

static void take_poll(struct sleeping *out, pid_t pid, const struct procfs_call *c)
{
	struct pollfd list[SLEEPING_FDS];
	size_t n = c->arg[1] < SLEEPING_FDS ? c->arg[1] : SLEEPING_FDS;

	if (!n || !sleeping_read_memory(list, n * sizeof(*list), pid, c->arg[0]))
		return;
	for (size_t i = 0; i < n; i++) {
		if (list[i].fd < 0)
			continue;
		add_fd(out, list[i].fd);
		out->writes |= (list[i].events & POLLOUT) != 0;
	}
}

/* The sets for reading, writing and exceptions have a bit for each descriptor below arg 0. */
static void take_select(struct sleeping *out, pid_t pid, const struct procfs_call *c)
{
	int n = c->arg[0] < FD_SETSIZE ? (int)c->arg[0] : FD_SETSIZE;
	size_t len = ((size_t)n + 63) / 64 * 8;
	fd_set all, one;

	FD_ZERO(&all);
	for (int k = 1; k <= 3; k++) {
		FD_ZERO(&one);
		if (!len || !sleeping_read_memory(&one, len, pid, c->arg[k]))
			continue;
		for (int fd = 0; fd < n; fd++) {
			if (!FD_ISSET(fd, &one))
				continue;
			FD_SET(fd, &all);
			out->writes |= k == 2;
		}
	}
	for (int fd = 0; fd < n; fd++)
		if (FD_ISSET(fd, &all))
			add_fd(out, fd);
}

static void sleeping_take_list(struct sleeping *out, pid_t pid, const struct procfs_call *c,
			       const struct waiting_call *w)
{
	out->ready = true;
	out->timed = w->ms ? (int)c->arg[w->time] >= 0 : c->arg[w->time] != 0;
	/* Their number of descriptors. Of a call that goes on after a stop it is not known. */
	if (c->nr != SYS_restart_syscall && w->list != LIST_EPOLL)
		out->naps = out->timed && !c->arg[w->list == LIST_POLL];
	if (w->list == LIST_POLL)
		take_poll(out, pid, c);
	else if (w->list == LIST_SELECT)
		take_select(out, pid, c);
	else
		add_fd(out, (int)c->arg[0]);
}

static bool sleeping_is_stopped(pid_t tid)
{
	struct procstat st;

	return !procstat_read(&st, tid) && (st.state == 'T' || st.state == 't');
}

static int sleeping_read_call(struct sleeping *out, pid_t pid, pid_t tid)
{
	struct procfs_call c;
	int r = procfs_thread_call(&c, pid, tid);
	const char *name = syscalls_name(c.nr);
	struct afs_call call;

	*out = (struct sleeping) { .nr = c.nr, .running = c.running };
	if (r || c.nr < 0)
		return r;
	for (size_t i = 0; i < sizeof(waiting_calls) / sizeof(waiting_calls[0]); i++) {
		if (!name || strcmp(waiting_calls[i].name, name) != 0)
			continue;
		if (c.nr == SYS_restart_syscall && c.arg[1] > RESTARTED_FDS)
			break;
		sleeping_take_list(out, pid, &c, &waiting_calls[i]);
		out->ready = out->n_fds || c.nr != SYS_restart_syscall;
		return 0;
	}
	call = syscalls_call(c.nr);
	out->naps = out->timed = call.waits == AFS_WAITS_TIME;
	if (call.fd < AFS_FD_NONE)
		add_fd(out, (int)c.arg[call.fd]);
	return 0;
}

int sleeping_read(struct sleeping *out, pid_t pid, pid_t tid)
{
	int r = sleeping_read_call(out, pid, tid);

	/* One that was stopped in its sleep is in that call still. */
	out->naps = out->naps && !sleeping_is_stopped(tid);
	return r;
}
