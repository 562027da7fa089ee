/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/whom.h"

#include <errno.h>
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
