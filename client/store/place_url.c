/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/place_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *place_url_host(char host[static PLACE_URL_NAME_MAX], int *port, int usual_port,
			   const char *at, const char *end)
{
	const char *stop = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL, *colon;
	char *rest;
	long n;

	if (*at == '[' && !stop)
		return "a [ has no ]";
	colon = stop ? stop + 1 : memchr(at, ':', (size_t)(end - at));
	stop = stop ? stop : colon ? colon : end;
	at += *at == '[';
	if (at == stop)
		return "there is no host";
	if ((size_t)(stop - at) >= PLACE_URL_NAME_MAX)
		return "the host is too long";
	memcpy(host, at, (size_t)(stop - at));
	host[stop - at] = '\0';
	*port = usual_port;
	if (!colon || colon == end)
		return NULL;
	n = strtol(colon + 1, &rest, 10);
	if (*colon != ':' || rest != end || n < 1 || n > UINT16_MAX)
		return "the port is not in 1..65535";
	*port = (int)n;
	return NULL;
}

/* Takes len bytes of text without %XX. */
static const char *place_url_take(char *out, size_t room, const char *text, size_t len)
{
	char hex[3] = "";

	for (const char *end = text + len; text < end; text++) {
		if (!room--)
			return "a part is too long";
		*out++ = *text;
		if (*text != '%')
			continue;
		if (end - text < 3 || !isxdigit((unsigned char)text[1]) ||
		    !isxdigit((unsigned char)text[2]))
			return "% must be followed by two hex digits";
		memcpy(hex, text + 1, 2);
		out[-1] = (char)strtoul(hex, NULL, 16);
		if (!out[-1])
			return "%00: a name cannot contain a NUL";
		text += 2;
	}
	if (!room)
		return "a part is too long";
	*out = '\0';
	return NULL;
}

/* Of a URL with a password, which is not shown. */
static const char place_url_secret[] =
    "ps shows a password there to everybody: AFPSCOPE_PASSWORD or "
    "--password-file has it";

static const char *place_url_user(struct place_url *out, const struct place_url_form *form,
				  const char **at, const char *end)
{
	const char *stop = memrchr(*at, '@', (size_t)(end - *at));
	size_t len = stop ? (size_t)(stop - *at) : 0;
	const char *why;

	if (!stop)
		return NULL;
	if (!form->has_user)
		return "it has no users";
	if (memchr(*at, ':', len))
		return place_url_secret;
	why = place_url_take(out->user, sizeof(out->user), *at, len);
	*at = stop + 1;
	return why;
}

static const char *place_url_path(struct place_url *out, const char *at)
{
	size_t len;

	at += *at ? strspn(at, "/") - 1 : 0;
	len = strlen(at);
	while (len && at[len - 1] == '/')
		len--;
	return place_url_take(out->path, sizeof(out->path), at, len);
}

static const char *place_url_read(struct place_url *out, const struct place_url_form *form,
				  const char *where)
{
	const char *end = where + strcspn(where, "/"), *why;
	size_t len;

	why = place_url_user(out, form, &where, end);
	why = why ? why : place_url_host(out->host, &out->port, form->port, where, end);
	if (why || !form->name)
		return why ? why : place_url_path(out, end);
	end += strspn(end, "/");
	len = strcspn(end, "/");
	if (!len)
		return "";
	why = place_url_take(out->name, sizeof(out->name), end, len);
	return why ? why : place_url_path(out, end + len);
}

int place_url_parse(struct place_url *out, const struct place_url_form *form, const char *where,
		    struct err *e)
{
	char none[64];
	const char *why;

	*out = (struct place_url) { 0 };
	why = place_url_read(out, form, where);
	if (!why)
		return 0;
	if (why == place_url_secret)
		where = "...";
	snprintf(none, sizeof(none), "there is no %s", form->name ? form->name : "");
	return err_set(e, -EINVAL, "'%s%.200s': %s; give it as %s", form->prefix, where,
		       *why ? why : none, form->hint);
}

/* ---- addresses ---- */

/* Of a name, which is asked for without a limit in time: the last answer. */
static struct {
	pthread_mutex_t lock;
	char host[PLACE_URL_NAME_MAX], address[64];
} place_url_last = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int place_url_ask(struct place_url *u, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char text[60];
	struct addrinfo *found;
	int r = getaddrinfo(u->host, NULL, &hints, &found);

	if (!r) {
		r = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
				NI_NUMERICHOST);
		snprintf(u->address, sizeof(u->address),
			 found->ai_family == AF_INET6 ? "[%s]" : "%s", r ? "" : text);
		freeaddrinfo(found);
	}
	if (!r)
		return 0;
	return err_set(e, -EHOSTUNREACH, "cannot find host %s: %s", u->host,
		       r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
}

int place_url_resolve(struct place_url *u, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&place_url_last.lock);
	if (strcmp(place_url_last.host, u->host) != 0) {
		r = place_url_ask(u, e);
		if (!r) {
			memcpy(place_url_last.host, u->host, sizeof(u->host));
			memcpy(place_url_last.address, u->address, sizeof(u->address));
		}
	}
	if (!r)
		memcpy(u->address, place_url_last.address, sizeof(u->address));
	pthread_mutex_unlock(&place_url_last.lock);
	return r;
}
