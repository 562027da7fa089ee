/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/whom.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

int whom_check(const struct whom_cfg *c, int parsed, struct err *e)
{
	char text[ERR_TEXT_MAX];

	if (parsed == -ERANGE && !strncmp(e->text, "-p: ", 4)) {
		snprintf(text, sizeof(text), "%.200s", e->text);
		return err_set(e, parsed, "%s; -p is the port, use --pid to name a process", text);
	}
	if (!parsed && c->pid && c->port)
		return err_set(e, -EINVAL, "--port and --pid each name a server: give one of them");
	return parsed;
}

int whom_find(struct servers *out, const struct whom_cfg *c, struct err *e)
{
	char text[ERR_TEXT_MAX];
	int r;

	if (c->pid)
		return servers_of_pid(out, (pid_t)c->pid, e);
	if (!c->port)
		return servers_find(out, e);
	r = servers_of_port(out, (uint16_t)c->port, e);
	if (r == -ENXIO && (!kill((pid_t)c->port, 0) || errno == EPERM)) {
		snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 100, e->text);
		return err_set(e, r, "%s (for the process with this number: --pid %u)", text,
			       c->port);
	}
	return r;
}
