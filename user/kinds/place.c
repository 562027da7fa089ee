/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/place.h"

#include "host/filesystem.h"
#include "host/net/sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL        "gluster://"
#define RX_URL     "rx://"
#define MOUNT_TYPE "fuse.glusterfs"

static bool take_name(char *out, const char *text, size_t len)
{
	return len && snprintf(out, PLACE_NAME_MAX, "%.*s", (int)len, text) < PLACE_NAME_MAX;
}

/* The first component of a path. */
static bool take_volume(struct place_server *out, const char *path)
{
	path += strspn(path, "/");
	return take_name(out->volume, path, strcspn(path, "/"));
}

/* "HOST:PORT", "[ADDRESS]:PORT"; the port may be missing. */
static bool take_host(struct place_server *out, const char *text, size_t len)
{
	const char *end = memrchr(text, ':', len);

	if (*text != '[')
		return take_name(out->host, text, end ? (size_t)(end - text) : len);
	end = memchr(text, ']', len);
	return end && take_name(out->host, text + 1, (size_t)(end - text) - 1);
}

/* Of a mount from "HOST:/VOLUME". */
static bool find_mount(struct place_server *out, const char *path)
{
	struct proctext_mount m;
	const char *colon;

	if (filesystem_mount_named(&m, 0, path) || strcmp(m.type, MOUNT_TYPE) != 0)
		return false;
	colon = strchr(m.source, ':');
	return colon && take_name(out->host, m.source, (size_t)(colon - m.source)) &&
	       take_volume(out, colon + 1);
}

/* "ADDRESS:PORT" */
static bool kinds_place_take_rx(struct place_server *out, const char *text)
{
	struct sockets_addr at;

	out->port = sockets_addr_parse(&at, text) && sockets_is_ours(&at) ? at.port : 0;
	return out->port && take_host(out, text, strlen(text));
}

const struct kind *place_kind(struct place_server *out, const char *place)
{
	const char *host, *path;
	char *real;
	bool found;

	*out = (struct place_server) { 0 };
	if (!strncmp(place, RX_URL, strlen(RX_URL)))
		return kinds_place_take_rx(out, place + strlen(RX_URL)) ? &kind_rx : NULL;
	if (!strncmp(place, URL, strlen(URL))) {
		host = place + strlen(URL);
		path = strchr(host, '/');
		found = path && take_host(out, host, (size_t)(path - host)) &&
			take_volume(out, path);
	} else {
		real = realpath(place, NULL);
		found = real && find_mount(out, real);
		free(real);
	}
	return found ? &kind_gluster : NULL;
}

struct kind_wish place_wish(const struct place_server *place)
{
	return (
	    struct kind_wish) { .volume = place->volume, .host = place->host, .port = place->port };
}
