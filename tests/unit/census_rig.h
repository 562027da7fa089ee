/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_CENSUS_RIG_H
#define TESTS_UNIT_CENSUS_RIG_H

/* Invented processes and sockets. */

#include "base/vec.h"
#include "kinds/servers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define AFPD  "/usr/sbin/afpd"
#define METAD "/usr/sbin/cnid_metad"
#define DBD   "/usr/sbin/cnid_dbd"
#define NET   7 /* namespace of the one who looks */

static inline const char *base(const char *exe)
{
	return strrchr(exe, '/') + 1;
}

static inline struct census_process *process(struct census *c, pid_t pid, pid_t ppid,
					     const char *exe)
{
	struct census_process p = {
		.pid = pid,
		.ppid = ppid,
		.root = 1,
		.net = NET,
		.has_uid = true,
	};

	snprintf(p.comm, sizeof(p.comm), "%s", base(exe));
	snprintf(p.exe, sizeof(p.exe), "%s", exe);
	assert_int_equal(VEC_PUSH(c->process, c->n_processes, p), 0);
	return &c->process[c->n_processes - 1];
}

static inline void addr(struct sockets_addr *out, uint8_t host, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	out->ip[10] = out->ip[11] = 0xff;
	out->ip[12] = 10;
	out->ip[15] = host;
	out->port = port;
}

static inline size_t listening(struct census *c, uint64_t net, uint16_t port)
{
	struct census_socket s = { .net = net, .tcp.listens = true };

	s.tcp.ino = 1000 + c->n_sockets;
	addr(&s.tcp.local, 1, port);
	assert_int_equal(VEC_PUSH(c->socket, c->n_sockets, s), 0);
	return c->n_sockets - 1;
}

/* This end of a connection; host 1 is the server. */
static inline size_t connected(struct census *c, uint8_t from, uint16_t port, uint8_t to,
			       uint16_t to_port)
{
	struct census_socket s = { .net = NET };

	s.tcp.ino = 1000 + c->n_sockets;
	addr(&s.tcp.local, from, port);
	addr(&s.tcp.remote, to, to_port);
	assert_int_equal(VEC_PUSH(c->socket, c->n_sockets, s), 0);
	return c->n_sockets - 1;
}

/* The address of a session's client; "" if it is not known. */
static inline const char *client_of(const struct servers_session *s, char text[SOCKETS_TEXT_LEN])
{
	*text = '\0';
	if (s->client.port)
		sockets_text(text, SOCKETS_TEXT_LEN, &s->client);
	return text;
}

static inline void hold(struct census *c, pid_t pid, size_t socket)
{
	assert_int_equal(census_add_hold(c, census_find(c, pid), socket), 0);
}

/* Server 100 on port 548 with sessions 101 and 102, and 103 whose client has gone. */
static inline void one_server(struct census *c)
{
	*c = (struct census) { .net = NET };
	process(c, 1, 0, "/sbin/init");
	process(c, 100, 1, AFPD);
	process(c, 101, 100, AFPD)->uid = 501;
	snprintf(c->process[2].cwd, sizeof(c->process[2].cwd), "/srv/vol");
	process(c, 102, 100, AFPD);
	process(c, 103, 100, AFPD);
	process(c, 104, 102, "/sbin/unix_chkpwd");
	hold(c, 100, listening(c, NET, 548));
	hold(c, 101, connected(c, 1, 548, 9, 40001));
	hold(c, 102, connected(c, 1, 548, 9, 40002));
}

#endif
