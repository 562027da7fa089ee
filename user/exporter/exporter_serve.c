/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that answers by HTTP: it has no rights, and asks the one that watches. */
#include "app/cmd.h"
#include "exporter/exporter.h"
#include "exporter/exporter_http.h"
#include "host/net/sockets.h"
#include "host/rights.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#define POLL_MS 500

/* While no server is watched nothing changes: a page comes when one is. */
static char *exporter_serve_text(void *user, bool openmetrics, size_t *len)
{
	struct exporter_reader *r = user;

	if (r->page.up)
		exporter_reader_refresh(r);
	return exporter_page_text(&r->page, openmetrics, len);
}

static void say_where(int listener)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	char text[SOCKETS_TEXT_LEN];
	struct sockets_addr at;

	if (getsockname(listener, (void *)&a, &len) || !sockets_addr(&at, &a))
		return;
	sockets_text(text, sizeof(text), &at);
	cmd_say("listening: http://%s/metrics", text);
}

int exporter_serve(int socket, int listener)
{
	struct exporter_reader r = { .socket = socket };
	struct pollfd fd[] = { { .fd = socket, .events = POLLIN }, { .events = POLLIN } };
	struct err e = { 0 };
	struct http *h;

	if (http_open(&h, listener, exporter_serve_text, &r, &e)) {
		cmd_say("%s", e.text);
		return OUTCOME_FAILED;
	}
	fd[1].fd = http_fd(h);
	cmd_note_rights(rights_drop_all(EXPORTER_NOBODY, EXPORTER_NOBODY), NULL);
	exporter_reader_take(&r, -1); /* the first one is sent at once */
	if (!r.over)
		say_where(listener);
	while (!r.over && !cmd_stop) {
		if (poll(fd, 2, http_timeout_ms(h, POLL_MS)) < 0)
			continue;
		exporter_reader_take(&r, 0);
		http_run(h);
	}
	http_close(h);
	free(r.page.text);
	return OUTCOME_OK;
}
