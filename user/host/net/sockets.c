/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One dump of TCP (both families) and Unix sockets, kept as a list in the order of inodes: of a
 * large server each descriptor of each session is looked up.
 */

#include "host/net/sockets.h"

#include "base/vec.h"
#include "host/net/netlink.h"
#include "host/proc/procfs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 1000 /* of a part of a list */

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

void sockets_diag_addr(struct sockets_addr *out, int family, const void *ip, uint16_t port,
		       uint32_t interface)
{
	bool v4 = family == AF_INET;

	memcpy(out->ip, mapped, sizeof(mapped));
	memcpy(out->ip + (v4 ? 12 : 0), ip, v4 ? 4 : 16);
	out->port = ntohs(port);
	out->scope =
	    IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(void *)out->ip) ? interface : 0;
}

static int add_tcp(void *arg, const struct netlink_answer *a)
{
	const struct inet_diag_msg *m = a->body;
	struct sockets *s = arg;
	struct sockets_entry entry = { 0 };

	if (a->len < sizeof(*m))
		return -EPROTO;
	entry.ino = m->idiag_inode;
	entry.uid = m->idiag_uid;
	entry.listens = m->idiag_state == TCP_LISTEN;
	sockets_diag_addr(&entry.local, m->idiag_family, m->id.idiag_src, m->id.idiag_sport,
			  m->id.idiag_if);
	sockets_diag_addr(&entry.remote, m->idiag_family, m->id.idiag_dst, m->id.idiag_dport,
			  m->id.idiag_if);
	return VEC_PUSH(s->entry, s->n, entry);
}

static void take_attributes(struct sockets_entry *out, const void *list, size_t list_len)
{
	struct unix_diag_vfs vfs;
	uint32_t peer;

	netlink_copy(&peer, sizeof(peer), list, list_len, UNIX_DIAG_PEER);
	netlink_copy(&vfs, sizeof(vfs), list, list_len, UNIX_DIAG_VFS);
	netlink_copy(out->path, sizeof(out->path) - 1, list, list_len, UNIX_DIAG_NAME);
	out->peer = peer;
	out->file_ino = vfs.udiag_vfs_ino;
	out->file_dev = vfs.udiag_vfs_dev;
}

static int add_unix(void *arg, const struct netlink_answer *a)
{
	const struct unix_diag_msg *m = a->body;
	struct sockets *s = arg;
	struct sockets_entry entry = { 0 };

	if (a->len < sizeof(*m))
		return -EPROTO;
	entry.ino = m->udiag_ino;
	take_attributes(&entry, m + 1, a->len - sizeof(*m));
	return entry.peer || entry.path[0] ? VEC_PUSH(s->entry, s->n, entry) : 0;
}

static int sockets_dump(const void *req, size_t len, sockets_fn *fn, void *arg)
{
	const struct netlink_request q = { SOCK_DIAG_BY_FAMILY, true, req, len };
	struct netlink_answer a;
	struct netlink n;
	int r = netlink_open(&n, NETLINK_SOCK_DIAG, TIMEOUT_MS);

	r = r ? r : netlink_ask(&n, &a, &q);
	while (!r && (r = netlink_next(&n, &a)) > 0)
		r = fn(arg, &a);
	netlink_close(&n);
	return r;
}

int sockets_each_tcp(const struct inet_diag_req_v2 *of, sockets_fn *fn, void *arg)
{
	struct inet_diag_req_v2 req = *of;
	int r;

	req.sdiag_protocol = IPPROTO_TCP;
	req.sdiag_family = AF_INET;
	r = sockets_dump(&req, sizeof(req), fn, arg);
	req.sdiag_family = AF_INET6;
	return r ? r : sockets_dump(&req, sizeof(req), fn, arg);
}

static int read_diag(struct sockets *s)
{
	const struct inet_diag_req_v2 tcp = {
		.idiag_states = ~(1u << TCP_CLOSE | 1u << TCP_TIME_WAIT),
	};
	const struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = 1u << TCP_ESTABLISHED | 1u << TCP_LISTEN,
		.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME | UDIAG_SHOW_VFS,
	};
	int r = sockets_each_tcp(&tcp, add_tcp, s);

	/* A kernel without unix_diag: then only TCP is known. */
	return r ? r : sockets_dump(&req, sizeof(req), add_unix, s) == -ENOMEM ? -ENOMEM : 0;
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
	sockets_diag_addr(out, n == 1 ? AF_INET : AF_INET6, word, 0, 0);
	return sscanf(colon + 1, "%4" SCNx16, &out->port) == 1;
}

bool sockets_parse(struct sockets_entry *out, const char *line)
{
	char local[64], remote[64];
	unsigned int state;

	memset(out, 0, sizeof(*out));
	if (sscanf(line, " %*u: %63s %63s %x %*x:%*x %*x:%*x %*x %" SCNu32 " %*u %" SCNu64, local,
		   remote, &state, &out->uid, &out->ino) != 5)
		return false;
	out->listens = state == TCP_LISTEN;
	return state != TCP_CLOSE && state != TCP_TIME_WAIT && parse_addr(&out->local, local) &&
	       parse_addr(&out->remote, remote);
}

int sockets_hold(struct sockets_held *to, pid_t pid)
{
	struct procfs_numbers fd;
	int r = procfs_fds(&fd, pid);
	uint64_t ino;

	while (procfs_next(&fd)) {
		ino = procfs_fd_socket(pid, fd.number);
		if (!ino || to->n == SOCKETS_HELD_MAX)
			continue;
		to->socket[to->n].ino = ino;
		to->socket[to->n++].fd = fd.number;
	}
	return r;
}

int sockets_by_inode(const void *a, const void *b)
{
	const struct sockets_entry *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

static void sockets_sort(struct sockets *s)
{
	if (s->n)
		qsort(s->entry, s->n, sizeof(*s->entry), sockets_by_inode);
}

static int add_lines(struct sockets *s, pid_t pid, const char *name)
{
	struct sockets_entry entry;
	struct procfs_lines l;
	int r = procfs_lines(&l, pid, name);

	while (!r && procfs_line(&l))
		if (sockets_parse(&entry, l.text))
			r = VEC_PUSH(s->entry, s->n, entry);
	procfs_lines_end(&l);
	return r;
}

int sockets_read_proc(struct sockets *out, pid_t pid)
{
	int r;

	memset(out, 0, sizeof(*out));
	r = add_lines(out, pid, "net/tcp");
	if (r)
		return r;
	r = add_lines(out, pid, "net/tcp6");
	sockets_sort(out);
	/* A kernel without IPv6 has no such file. */
	return r == -ENOENT ? 0 : r;
}

int sockets_read(struct sockets *out, struct err *e)
{
	int r, why;

	memset(out, 0, sizeof(*out));
	why = read_diag(out);
	sockets_sort(out);
	if (!why)
		return 0;
	sockets_fini(out);
	r = sockets_read_proc(out, 0);
	if (r)
		err_set(e, r, "cannot list connections: socket diagnostics: %s; /proc/net/tcp: %s",
			strerror(-why), strerror(-r));
	return r;
}

int sockets_read_of(struct sockets *out, pid_t pid, struct err *e)
{
	uint64_t net = procfs_identity(pid, "ns/net");
	int r;

	if (!net || net == procfs_identity(0, "ns/net"))
		return sockets_read(out, e);
	r = sockets_read_proc(out, pid);
	return r ? err_set(e, r, "cannot list connections: /proc/%d/net/tcp: %s", pid, strerror(-r))
		 : 0;
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
		sockets_diag_addr(out, AF_INET, &v4->sin_addr, v4->sin_port, 0);
	else if (from->ss_family == AF_INET6)
		sockets_diag_addr(out, AF_INET6, &v6->sin6_addr, v6->sin6_port, v6->sin6_scope_id);
	else
		return false;
	return true;
}

bool sockets_addr_parse(struct sockets_addr *out, const char *text)
{
	char ip[SOCKETS_IP_LEN + 1], binary[16], *scope;
	const char *colon = strrchr(text, ':');
	bool brackets = *text == '[';
	int family = brackets ? AF_INET6 : AF_INET;
	size_t len = colon ? (size_t)(colon - text) - 2 * brackets : sizeof(ip);

	if (len >= sizeof(ip))
		return false;
	memcpy(ip, text + brackets, len);
	ip[len] = '\0';
	scope = strchr(ip, '%');
	if (scope)
		*scope++ = '\0';
	if (inet_pton(family, ip, binary) != 1)
		return false;
	sockets_diag_addr(out, family, binary, htons((uint16_t)strtoul(colon + 1, NULL, 10)),
			  scope ? (uint32_t)strtoul(scope, NULL, 10) : 0);
	return true;
}

struct sockaddr_storage sockets_sockaddr(const struct sockets_addr *from)
{
	struct sockaddr_storage out = { 0 };
	struct sockaddr_in6 *v6 = (void *)&out;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(from->port);
	v6->sin6_scope_id = from->scope;
	memcpy(&v6->sin6_addr, from->ip, sizeof(from->ip));
	return out;
}

void sockets_ip_text(char out[static SOCKETS_IP_LEN], const struct sockets_addr *from)
{
	bool v4 = sockets_is_v4(from);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, from->ip + (v4 ? 12 : 0), out, INET6_ADDRSTRLEN))
		snprintf(out, INET6_ADDRSTRLEN, "?");
	if (from->scope)
		snprintf(out + strlen(out), SOCKETS_IP_LEN - INET6_ADDRSTRLEN + 1, "%%%" PRIu32,
			 from->scope);
}

void sockets_text(char *out, size_t len, const struct sockets_addr *from)
{
	char ip[SOCKETS_IP_LEN];

	sockets_ip_text(ip, from);
	snprintf(out, len, strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip, from->port);
}

bool sockets_is_v4(const struct sockets_addr *a)
{
	return !memcmp(a->ip, mapped, sizeof(mapped));
}

bool sockets_is_loopback(const struct sockets_addr *a)
{
	static const uint8_t v6[16] = { [15] = 1 };

	return !memcmp(a->ip, v6, sizeof(v6)) || (sockets_is_v4(a) && a->ip[12] == 127);
}

bool sockets_is_ours(const struct sockets_addr *a)
{
	bool v4 = sockets_is_v4(a);
	struct sockaddr_in at4 = { .sin_family = AF_INET };
	struct sockaddr_storage at6 = sockets_sockaddr(a);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ours;

	memcpy(&at4.sin_addr, a->ip + 12, 4);
	((struct sockaddr_in6 *)&at6)->sin6_port = 0;
	ours = !bind(fd, v4 ? (const void *)&at4 : &at6,
		     v4 ? sizeof(at4) : sizeof(struct sockaddr_in6));
	if (fd >= 0)
		close(fd);
	return ours;
}

bool sockets_same(const struct sockets_addr *a, const struct sockets_addr *b)
{
	return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip)) &&
	       (a->scope == b->scope || !a->scope || !b->scope);
}

const struct sockets_entry *sockets_find(const struct sockets *s, const struct sockets_addr *local,
					 const struct sockets_addr *remote, size_t *n)
{
	const struct sockets_entry *found = NULL;
	size_t n_found = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct sockets_entry *e = &s->entry[i];

		if (e->peer || !e->ino || !sockets_same(&e->local, local) ||
		    !sockets_same(&e->remote, remote))
			continue;
		found = e;
		n_found++;
	}
	if (n)
		*n += n_found;
	return n_found == 1 ? found : NULL;
}

const struct sockets_entry *sockets_of_inode(const struct sockets *s, uint64_t ino)
{
	const struct sockets_entry key = { .ino = ino };

	return s->n ? bsearch(&key, s->entry, s->n, sizeof(key), sockets_by_inode) : NULL;
}

uint64_t sockets_peer(const struct sockets *s, uint64_t ino)
{
	const struct sockets_entry *own = sockets_of_inode(s, ino), *end;

	if (!own || own->peer || !own->remote.port)
		return own ? own->peer : 0;
	end = sockets_find(s, &own->remote, &own->local, NULL);
	return end ? end->ino : 0;
}
