/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers as text, for messages. */

#include "kinds/servers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void servers_append(char *text, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, ERR_TEXT_MAX - len, fmt, ap);
	va_end(ap);
}

void servers_list(char *text, const struct servers *s)
{
	const struct servers_entry *e;
	bool apart = false;

	/* Servers in different namespaces may have the same port. */
	for (size_t i = 0; i < s->n; i++)
		apart |= s->entry[i].elsewhere;
	for (size_t i = 0; i < s->n; i++) {
		e = &s->entry[i];
		servers_append(text, "%spid %d", i ? ", " : "", e->master);
		for (size_t k = 0; k < e->n_ports; k++)
			servers_append(text, "%s%u",
				       k                ? ", "
				       : e->n_ports > 1 ? " (ports "
							: " (port ",
				       e->port[k]);
		servers_append(text, "%s", e->n_ports ? "" : " (port unknown");
		if (apart && e->address[0])
			servers_append(text, ", address %s", e->address);
		if (e->elsewhere)
			servers_append(text, ", network namespace %" PRIu64, e->net);
		servers_append(text, ")");
	}
}

int servers_one(const struct servers *s, struct err *e)
{
	char text[ERR_TEXT_MAX] = "";

	if (s->n == 1)
		return 0;
	servers_list(text, s);
	return err_set(e, -ENOTUNIQ,
		       "%zu AFP servers run here: %.380s: choose one with --port PORT or "
		       "--pid PID",
		       s->n, text);
}
