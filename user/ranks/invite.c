/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/invite.h"

#include "base/buf.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#define INVITE_VERSION 1

static struct sockaddr_in *v4(struct sockaddr_storage *a)
{
	return (struct sockaddr_in *)a;
}

static struct sockaddr_in6 *v6(struct sockaddr_storage *a)
{
	return (struct sockaddr_in6 *)a;
}

static void set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET)
		v4(a)->sin_port = htons(port);
	else
		v6(a)->sin6_port = htons(port);
}

static void invite_add(struct invite *p, const struct ifaddrs *i)
{
	struct sockaddr_storage *a = &p->address[p->n];

	if (p->n == INVITE_ADDRESSES)
		return;
	memset(a, 0, sizeof(*a));
	if (i->ifa_addr->sa_family == AF_INET) {
		memcpy(a, i->ifa_addr, sizeof(struct sockaddr_in));
	} else {
		memcpy(a, i->ifa_addr, sizeof(struct sockaddr_in6));
		/* its interface has another number on another host */
		if (IN6_IS_ADDR_LINKLOCAL(&v6(a)->sin6_addr))
			return;
	}
	set_port(a, p->port);
	p->n++;
}

static void add_all(struct invite *p, const struct ifaddrs *list, bool loopback)
{
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) ||
		    !(i->ifa_flags & IFF_LOOPBACK) != !loopback)
			continue;
		if (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6)
			invite_add(p, i);
	}
}

int invite_here(struct invite *out, uint16_t port, struct err *e)
{
	struct ifaddrs *list;

	*out = (struct invite) { .port = port };
	if (getrandom(out->secret, sizeof(out->secret), 0) != sizeof(out->secret))
		return err_set(e, -EIO, "no random numbers: %s", strerror(errno));
	if (getifaddrs(&list))
		return err_set(e, -errno, "cannot list this host's addresses: %s", strerror(errno));
	add_all(out, list, false);
	add_all(out, list, true);
	freeifaddrs(list);
	return out->n ? 0 : err_set(e, -EADDRNOTAVAIL, "this host has no address");
}

void invite_pack(const struct invite *p, uint8_t out[static INVITE_LEN])
{
	struct wbuf b = wbuf_of(out, INVITE_LEN);
	struct sockaddr_storage a;

	memset(out, 0, INVITE_LEN);
	wbuf_u16(&b, INVITE_VERSION);
	wbuf_u16(&b, p->port);
	wbuf_bytes(&b, p->secret, INVITE_SECRET);
	wbuf_u8(&b, (uint8_t)p->n);
	for (unsigned int i = 0; i < p->n; i++) {
		a = p->address[i];
		wbuf_u8(&b, a.ss_family == AF_INET ? 4 : 6);
		if (a.ss_family == AF_INET)
			wbuf_bytes(&b, &v4(&a)->sin_addr, 4);
		else
			wbuf_bytes(&b, &v6(&a)->sin6_addr, 16);
	}
}

int invite_unpack(struct invite *out, const uint8_t in[static INVITE_LEN])
{
	struct rbuf b = rbuf_of(in, INVITE_LEN);
	const uint8_t *secret, *bytes;
	struct sockaddr_storage *a;
	bool is_v4;

	memset(out, 0, sizeof(*out));
	if (rbuf_u16(&b) != INVITE_VERSION)
		return -EPROTO;
	out->port = rbuf_u16(&b);
	secret = rbuf_bytes(&b, INVITE_SECRET);
	memcpy(out->secret, secret, INVITE_SECRET);
	out->n = rbuf_u8(&b);
	if (out->n > INVITE_ADDRESSES)
		return -EPROTO;
	for (unsigned int i = 0; i < out->n; i++) {
		a = &out->address[i];
		is_v4 = rbuf_u8(&b) == 4;
		bytes = rbuf_bytes(&b, is_v4 ? 4 : 16);
		if (!bytes)
			return -EPROTO;
		a->ss_family = is_v4 ? AF_INET : AF_INET6;
		memcpy(is_v4 ? (void *)&v4(a)->sin_addr : (void *)&v6(a)->sin6_addr, bytes,
		       is_v4 ? 4 : 16);
		set_port(a, out->port);
	}
	return 0;
}
