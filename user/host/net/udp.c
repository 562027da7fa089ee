/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/net/udp, and asks a socket of another process by a copy of its descriptor. */
#include "host/net/udp.h"

#include "base/file.h"
#include "host/net/sockets.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

bool udp_parse(struct udp_socket *out, const char *line)
{
	*out = (struct udp_socket) { 0 };
	return sscanf(line,
		      " %*u: %*[0-9A-F]:%" SCNx16 " %*s %*x %*x:%" SCNx64
		      " %*x:%*x %*x %*u %*u %" SCNu64 " %*d %*s %" SCNu64,
		      &out->port, &out->queue, &out->ino, &out->drops) == 4;
}

static int udp_each_in(pid_t pid, const char *name,
		       int (*fn)(void *arg, const struct udp_socket *s), void *arg)
{
	struct procfs_lines l;
	struct udp_socket s;
	int r = procfs_lines(&l, pid, name);

	while (!r && procfs_line(&l))
		r = udp_parse(&s, l.text) ? fn(arg, &s) : 0;
	procfs_lines_end(&l);
	return r;
}

int udp_each(pid_t pid, int (*fn)(void *arg, const struct udp_socket *s), void *arg)
{
	int r = udp_each_in(pid, "net/udp", fn, arg);

	if (r)
		return r;
	r = udp_each_in(pid, "net/udp6", fn, arg);
	return r == -ENOENT ? 0 : r;
}

struct udp_open {
	int (*fn)(void *arg, const struct udp_socket *s);
	void *arg;
	struct sockets_held held;
};

static int call_open(void *arg, const struct udp_socket *s)
{
	const struct udp_open *o = arg;
	struct udp_socket is = *s;
	int r = 0;

	for (size_t i = 0; i < o->held.n && !r; i++) {
		is.fd = o->held.socket[i].fd;
		r = o->held.socket[i].ino == s->ino ? o->fn(o->arg, &is) : 0;
	}
	return r;
}

int udp_of(pid_t pid, int (*fn)(void *arg, const struct udp_socket *s), void *arg)
{
	struct udp_open o = { .fn = fn, .arg = arg };
	int r = sockets_hold(&o.held, pid);

	return r || !o.held.n ? r : udp_each(pid, call_open, &o);
}

int udp_buffer(uint64_t *out, pid_t pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), copy, value = 0, r = 0;
	socklen_t len = sizeof(value);

	if (process < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (copy < 0 || getsockopt(copy, SOL_SOCKET, SO_RCVBUF, &value, &len))
		r = -errno;
	/* At once: as long as there is a copy, the port is taken. */
	if (copy >= 0)
		close(copy);
	close(process);
	*out = (uint64_t)value;
	return r;
}

uint64_t udp_buffer_max(void)
{
	uint64_t most = 0;

	file_first_number(&most, "/proc/sys/net/core/rmem_max");
	return most;
}
