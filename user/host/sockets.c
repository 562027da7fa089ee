/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One dump of TCP (both families) and Unix sockets, kept as a list. A run needs few lookups, hence
 * no index.
 */

#include "host/sockets.h"

#include "host/procfs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static int add(struct sockets *s, const struct sockets_entry *entry)
{
	struct sockets_entry *more;
	size_t room;

	if (s->n == s->room) {
		room = s->room ? 2 * s->room : 64;
		more = realloc(s->entry, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->entry = more;
		s->room = room;
	}
	s->entry[s->n++] = *entry;
	return 0;
}

static void addr_v4(struct sockets_addr *out, const void *ip)
{
	memcpy(out->ip, mapped, sizeof(mapped));
	memcpy(out->ip + 12, ip, 4);
}

/* A family's address from a diagnostics message. */
static void addr_of(struct sockets_addr *out, int family, const void *ip, uint16_t port)
{
	if (family == AF_INET)
		addr_v4(out, ip);
	else
		memcpy(out->ip, ip, 16);
	out->port = ntohs(port);
}

static int add_tcp(struct sockets *s, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	struct sockets_entry entry = { .ino = m->idiag_inode, .uid = m->idiag_uid };

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return -EPROTO;
	addr_of(&entry.local, m->idiag_family, m->id.idiag_src, m->id.idiag_sport);
	addr_of(&entry.remote, m->idiag_family, m->id.idiag_dst, m->id.idiag_dport);
	return add(s, &entry);
}

static void take_attribute(struct sockets_entry *out, const struct rtattr *a)
{
	size_t len = RTA_PAYLOAD(a);
	struct unix_diag_vfs vfs;
	uint32_t peer;

	if (a->rta_type == UNIX_DIAG_PEER && len >= sizeof(peer)) {
		memcpy(&peer, RTA_DATA(a), sizeof(peer));
		out->peer = peer;
	} else if (a->rta_type == UNIX_DIAG_NAME && len < sizeof(out->path)) {
		memcpy(out->path, RTA_DATA(a), len);
		out->path[len] = '\0';
	} else if (a->rta_type == UNIX_DIAG_VFS && len >= sizeof(vfs)) {
		memcpy(&vfs, RTA_DATA(a), sizeof(vfs));
		out->file_ino = vfs.udiag_vfs_ino;
		out->file_dev = vfs.udiag_vfs_dev;
	}
}

static int add_unix(struct sockets *s, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	struct sockets_entry entry = { .ino = m->udiag_ino };
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		take_attribute(&entry, a);
	return entry.peer || entry.path[0] ? add(s, &entry) : 0;
}

/* Reads one dump to its end. */
static int receive(struct sockets *s, int fd,
		   int (*fn)(struct sockets *s, const struct nlmsghdr *h))
{
	char buf[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *h;
	ssize_t len;
	int r, code;

	for (;;) {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len ? -errno : -EPROTO;
		for (h = (const void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR) {
				memcpy(&code, NLMSG_DATA(h), sizeof(code));
				return code ? code : -EPROTO;
			}
			r = fn(s, h);
			if (r)
				return r;
		}
	}
}

static int dump_tcp(struct sockets *s, int fd, uint8_t family)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 req;
	} msg = {
		.h = { .nlmsg_len = sizeof(msg),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~(1u << TCP_LISTEN | 1u << TCP_CLOSE |
					   1u << TCP_TIME_WAIT) },
	};

	if (send(fd, &msg, sizeof(msg), 0) < 0)
		return -errno;
	return receive(s, fd, add_tcp);
}

static int dump_unix(struct sockets *s, int fd)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req req;
	} msg = {
		.h = { .nlmsg_len = sizeof(msg),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.req = { .sdiag_family = AF_UNIX,
			 .udiag_states = 1u << TCP_ESTABLISHED | 1u << TCP_LISTEN,
			 .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME | UDIAG_SHOW_VFS },
	};

	if (send(fd, &msg, sizeof(msg), 0) < 0)
		return -errno;
	return receive(s, fd, add_unix);
}

static int read_diag(struct sockets *s)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int r;

	if (fd < 0)
		return -errno;
	r = dump_tcp(s, fd, AF_INET);
	if (!r)
		r = dump_tcp(s, fd, AF_INET6);
	/* A kernel without unix_diag: then only TCP is known, which is all that netatalk uses. */
	if (!r && dump_unix(s, fd) == -ENOMEM)
		r = -ENOMEM;
	close(fd);
	return r;
}

/* "0100007F:1F90": words of an address in the host's byte order. */
static bool parse_addr(struct sockets_addr *out, const char *text)
{
	const char *colon = strchr(text, ':');
	uint32_t word[4] = {};
	size_t n = colon ? (size_t)(colon - text) / 8 : 0;

	if (n != 1 && n != 4)
		return false;
	for (size_t i = 0; i < n; i++)
		if (sscanf(text + 8 * i, "%8" SCNx32, &word[i]) != 1)
			return false;
	if (n == 1)
		addr_v4(out, word);
	else
		memcpy(out->ip, word, sizeof(word));
	return sscanf(colon + 1, "%4" SCNx16, &out->port) == 1;
}

/* false: not a socket. *state is the kernel's number for its state. */
static bool parse_line(struct sockets_entry *out, unsigned int *state, const char *line)
{
	char local[64], remote[64];

	memset(out, 0, sizeof(*out));
	if (sscanf(line, " %*u: %63s %63s %x %*x:%*x %*x:%*x %*x %" SCNu32 " %*u %" SCNu64, local,
		   remote, state, &out->uid, &out->ino) != 5)
		return false;
	return parse_addr(&out->local, local) && parse_addr(&out->remote, remote);
}

bool sockets_parse(struct sockets_entry *out, const char *line)
{
	unsigned int state;

	return parse_line(out, &state, line) && state != TCP_LISTEN && state != TCP_CLOSE &&
	       state != TCP_TIME_WAIT;
}

bool sockets_parse_listening(struct sockets_entry *out, const char *line)
{
	unsigned int state;

	return parse_line(out, &state, line) && state == TCP_LISTEN;
}

struct each {
	int (*fn)(void *arg, const struct sockets_entry *entry, bool listening);
	void *arg;
};

static int call(void *arg, const char *line)
{
	const struct each *each = arg;
	struct sockets_entry entry;

	if (sockets_parse(&entry, line))
		return each->fn(each->arg, &entry, false);
	return sockets_parse_listening(&entry, line) ? each->fn(each->arg, &entry, true) : 0;
}

int sockets_each(pid_t pid, int (*fn)(void *arg, const struct sockets_entry *entry, bool listening),
		 void *arg)
{
	struct each each = { .fn = fn, .arg = arg };
	int r = procfs_each_line(pid, "net/tcp", call, &each);

	if (r)
		return r;
	r = procfs_each_line(pid, "net/tcp6", call, &each);
	return r == -ENOENT ? 0 : r;
}

static int add_connected(void *arg, const struct sockets_entry *entry, bool listening)
{
	return listening ? 0 : add(arg, entry);
}

int sockets_read(struct sockets *out, struct err *e)
{
	int r, why;

	memset(out, 0, sizeof(*out));
	why = read_diag(out);
	if (!why)
		return 0;
	sockets_fini(out);
	r = sockets_each(0, add_connected, out);
	if (r)
		err_set(e, r, "cannot list connections: socket diagnostics: %s; /proc/net/tcp: %s",
			strerror(-why), strerror(-r));
	return r;
}

void sockets_fini(struct sockets *s)
{
	free(s->entry);
	memset(s, 0, sizeof(*s));
}

bool sockets_addr(struct sockets_addr *out, const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->ss_family == AF_INET)
		addr_of(out, AF_INET, &v4->sin_addr, v4->sin_port);
	else if (from->ss_family == AF_INET6)
		addr_of(out, AF_INET6, &v6->sin6_addr, v6->sin6_port);
	else
		return false;
	return true;
}

static bool same(const struct sockets_addr *a, const struct sockets_addr *b)
{
	return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

const struct sockets_entry *sockets_find(const struct sockets *s, const struct sockets_addr *local,
					 const struct sockets_addr *remote)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->entry[i].peer && same(&s->entry[i].local, local) &&
		    same(&s->entry[i].remote, remote))
			return &s->entry[i];
	return NULL;
}

const struct sockets_entry *sockets_of_inode(const struct sockets *s, uint64_t ino)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->entry[i].ino == ino)
			return &s->entry[i];
	return NULL;
}

uint64_t sockets_peer(const struct sockets *s, uint64_t ino)
{
	const struct sockets_entry *own = sockets_of_inode(s, ino), *end;

	if (!own || own->peer || !own->remote.port)
		return own ? own->peer : 0;
	end = sockets_find(s, &own->remote, &own->local);
	return end ? end->ino : 0;
}
