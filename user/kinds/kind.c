/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of all kinds of servers. */
#include "kinds/kind.h"

#include <stdlib.h>
#include <string.h>

const char *const kind_names[] = {
#define X(name) #name,
	KINDS(X)
#undef X
	    NULL,
};

const char *const kind_judged[] = {
#define X(name) #name,
	KINDS_JUDGED(X)
#undef X
	    NULL,
};

int kind_place(const char *name)
{
	int i = 0;

	while (strcmp(kind_names[i], name) != 0)
		i++;
	return i;
}

const struct kind *kind_at(int index)
{
	static const struct kind *const kinds[] = {
#define X(name) &kind_##name,
		KINDS(X)
#undef X
	};

	return kinds[index];
}

int kind_find(const struct kind *k, struct kind_found *out, const struct kind_wish *wish,
	      struct err *e)
{
	int r = k->find(out, wish, e);

	out->target.decoder = k->decoder;
	out->target.any_order = k->any_order;
	out->target.files = k->files;
	out->target.accounts = k->is.accounts;
	return r;
}

void kind_found_fini(struct kind_found *f)
{
	servers_fini(&f->servers);
	free(f->folder);
	f->folder = NULL;
	f->n_folders = 0;
}
