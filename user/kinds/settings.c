/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/settings.h"

#include "host/procfs.h"

#include <stdlib.h>

#define MAX_CONNECTIONS 200 /* the default */

/* "dircache size": the least, without which the default is taken; its powers of two are. */
#define DIRCACHE_MIN 1024
#define DIRCACHE_MAX (1ul << 31)

/* A positive number; 0: not set, or none. */
static unsigned long number(const struct afpconf *c, const char *key)
{
	const struct afpconf_item *i = afpconf_find(c, "Global", key);
	long n = i ? strtol(i->value, NULL, 10) : 0;

	return n > 0 ? (unsigned long)n : 0;
}

void settings_conf(struct run *r, const struct afpconf *c)
{
	unsigned long n = number(c, "max connections"), size = DIRCACHE_MIN;

	r->limit.sessions = n ? n : MAX_CONNECTIONS;
	n = number(c, "dircache size");
	while (size < n && size < DIRCACHE_MAX)
		size *= 2;
	r->limit.cached = n < DIRCACHE_MIN ? 0 : size;
}

void settings_look(struct run *r, const struct servers_entry *s)
{
	pid_t pid = s->master ? s->master : s->n_sessions ? s->session[0].pid : 0;
	struct afpconf c = { 0 };
	struct err e = { 0 };
	char root[64];

	/* Without cnid_dbd the CNID database is asked in other words. */
	if (!s->n_dbd)
		r->has_asking = false;
	if (!pid || !s->conf[0])
		return;
	procfs_inside(root, sizeof(root), pid, "");
	if (!afpconf_read(&c, root, s->conf, true, &e))
		settings_conf(r, &c);
	afpconf_fini(&c);
}
