/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dsi/sources.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int sources_add(struct sources *s, const char *text, struct err *e)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	if (s->n == SOURCES_MAX)
		return err_set(e, -EINVAL, "more than %d addresses", SOURCES_MAX);
	if (getaddrinfo(text, NULL, &hints, &found))
		return err_set(
		    e, -EINVAL,
		    "'%s' is not an address such as 192.0.2.1, 2001:db8::1 or fe80::1%%eth0", text);
	for (unsigned int i = 0; i < s->n; i++)
		if (!memcmp(&s->at[i], found->ai_addr, found->ai_addrlen)) {
			freeaddrinfo(found);
			return err_set(e, -EINVAL, "'%s' is given twice", text);
		}
	memset(&s->at[s->n], 0, sizeof(s->at[0]));
	memcpy(&s->at[s->n++], found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

int sources_parse(void *to, const char *list, struct err *e)
{
	struct sources *s = to;
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	size_t len;
	int r = 0;

	*s = (struct sources) { 0 };
	for (; !r; list += len + 1) {
		len = strcspn(list, ",");
		if (len >= sizeof(text))
			return err_set(e, -EINVAL, "'%.*s...' is too long for an address", 20,
				       list);
		memcpy(text, list, len);
		text[len] = '\0';
		r = sources_add(s, text, e);
		if (!list[len])
			break;
	}
	return r;
}

unsigned int sources_of(const struct sources *s, int family)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n; i++)
		n += s->at[i].sa.sa_family == family;
	return n;
}

static socklen_t source_len(const union source_addr *a)
{
	return a->sa.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

/* Without a port, of which none may be left. 0 or a negative errno. */
static int bind_address(int fd, const union source_addr *a)
{
	const int on = 1;

	if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) < 0 ||
	    bind(fd, &a->sa, source_len(a)))
		return -errno;
	return 0;
}

int sources_check(const struct sources *s, struct err *e)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	int fd, r = 0;

	for (unsigned int i = 0; !r && i < s->n; i++) {
		const union source_addr *a = &s->at[i];

		fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = fd < 0 ? -errno : bind_address(fd, a);
		if (fd >= 0)
			close(fd);
		if (r &&
		    getnameinfo(&a->sa, source_len(a), text, sizeof(text), NULL, 0, NI_NUMERICHOST))
			*text = '\0';
	}
	if (r == -EADDRNOTAVAIL)
		return err_set(e, r, "--source: %s is not an address of this host (ip addr)", text);
	return r ? err_set(e, r, "--source: cannot use %s: %s", text, strerror(-r)) : 0;
}

int sources_bind(const struct sources *s, unsigned int i, int fd, int family)
{
	unsigned int n = s ? sources_of(s, family) : 0, turn;
	const union source_addr *a = s ? s->at : NULL;

	if (!s || !s->n)
		return 0;
	if (!n)
		return -EAFNOSUPPORT;
	for (turn = i % n; a->sa.sa_family != family || turn--; a++)
		;
	return bind_address(fd, a);
}
