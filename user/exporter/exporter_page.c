/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics on their way from the process that watches to the others: all are this program. */
#include "attach/guard.h"
#include "base/clock.h"
#include "exporter/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define NS_PER_S  1000000000u
#define PAUSE_NS  20000000u /* between two readings, however many ask */
#define ANSWER_MS 2000      /* the longest wait for one */

int exporter_page_make(struct exporter_page *out, const struct tally *t,
		       struct openmetrics_style style)
{
	size_t len;
	FILE *text;
	int e = 0;

	*out = (struct exporter_page) { .up = t->up, .made_ns = clock_now_ns() };
	text = open_memstream(&out->text, &len);
	if (!text)
		return -ENOMEM;
	for (unsigned int i = 0; i < 2 && !e; i++) {
		style.openmetrics = i;
		e = openmetrics_write(text, t, &style, &out->age_at[i]);
		out->end[i] = (size_t)ftell(text);
	}
	if (fclose(text))
		e = -ENOMEM;
	if (e) {
		free(out->text);
		out->text = NULL;
	}
	return e;
}

char *exporter_page_text(const struct exporter_page *p, bool openmetrics, size_t *len)
{
	size_t at = openmetrics ? p->end[0] : 0, age_at = p->age_at[openmetrics];
	uint64_t age_ns = clock_now_ns() - p->made_ns;
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	if (age_at) {
		fwrite(p->text + at, 1, age_at - at, out);
		fprintf(out, "%" PRIu64 ".%09" PRIu64, age_ns / NS_PER_S, age_ns % NS_PER_S);
		at = age_at;
	}
	fwrite(p->text + at, 1, p->end[openmetrics] - at, out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int exporter_page_put(int socket, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(socket, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* No signal but the one that ends this process interrupts it. */
static bool exporter_page_get(int socket, void *to, size_t len)
{
	return recv(socket, to, len, MSG_WAITALL) == (ssize_t)len;
}

int exporter_page_send(const struct exporter_page *p, int socket)
{
	int e = exporter_page_put(socket, p, sizeof(*p));

	return e ? e : exporter_page_put(socket, p->text, p->end[1]);
}

bool exporter_reader_take(struct exporter_reader *r, int timeout_ms)
{
	struct pollfd fd = { .fd = r->socket, .events = POLLIN };
	struct exporter_page page;

	if (r->over || poll(&fd, 1, timeout_ms) <= 0)
		return false;
	if (exporter_page_get(r->socket, &page, sizeof(page))) {
		page.text = malloc(page.end[1]);
		if (page.text && exporter_page_get(r->socket, page.text, page.end[1])) {
			free(r->page.text);
			r->page = page;
			r->asked = false;
			return true;
		}
		free(page.text);
	}
	r->over = true;
	return false;
}

void exporter_reader_refresh(struct exporter_reader *r)
{
	const uint64_t used_ns = guard_own_ns();

	exporter_reader_take(r, 0);
	if (r->over || r->asked || clock_now_ns() - r->page.made_ns < PAUSE_NS)
		return;
	r->asked = true;
	if (!exporter_page_put(r->socket, &used_ns, sizeof(used_ns)))
		exporter_reader_take(r, ANSWER_MS);
}
