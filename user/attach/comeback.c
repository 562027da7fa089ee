/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/comeback.h"

#include "app/cmd.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#define LOOK_MS 100

int comeback_find(struct kind_found *out, const struct kind *k, const struct kind_wish *wish,
		  struct err *e)
{
	int r;

	*e = (struct err) { 0 };
	r = k ? kind_find(k, out, wish, e) : kind_find_sessions(out, wish, e);
	if (!r && out->target.server)
		return 0;
	kind_found_fini(out);
	*out = (struct kind_found) { 0 };
	return r ? r : err_set(e, -ECHILD, "the process that accepts connections has ended");
}

unsigned int comeback_port(const struct kind_found *found, unsigned int asked)
{
	const struct servers_entry *s = found->servers.n ? &found->servers.entry[0] : NULL;

	return asked ? asked : s && s->n_ports ? s->port[0] : 0;
}

pid_t comeback_wait(unsigned int port, const struct kind_found *before, int timeout_ms)
{
	const struct kind_wish wish = { .port = port, .owner = &before->owner };
	struct kind_found found = { 0 };
	struct err e;
	uint64_t until_ns;
	pid_t pid = 0;

	until_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000;
	while (port && !pid && !cmd_stop && clock_now_ns() < until_ns) {
		poll(NULL, 0, LOOK_MS);
		if (comeback_find(&found, before->kind, &wish, &e))
			continue;
		pid = found.target.server != before->target.server ? found.target.server : 0;
		kind_found_fini(&found);
		found = (struct kind_found) { 0 };
	}
	return pid;
}

char *comeback_time(char out[COMEBACK_TIME_MAX])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(out, COMEBACK_TIME_MAX, "%H:%M:%S", localtime_r(&now, &tm));
	return out;
}
