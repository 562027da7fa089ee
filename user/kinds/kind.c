/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of all kinds of servers. */
#include "kinds/kind.h"

#include "host/owner.h"

#include <errno.h>
#include <stdio.h>
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

static int judge_owner(struct kind_found *out, const struct kind_wish *wish, struct err *e)
{
	const struct servers_entry *s = out->servers.n ? &out->servers.entry[0] : NULL;
	pid_t pid = out->target.server;
	size_t len = 0;

	out->owner = owner_of(pid);
	if (wish->owner && out->owner != *wish->owner)
		return err_set(e, -ENXIO,
			       "what listens there now (process %d) is of user %u, not of user %u: "
			       "it is not watched",
			       pid, out->owner, *wish->owner);
	if (!owner_counts(out->owner))
		len = (size_t)snprintf(out->note, sizeof(out->note),
				       "process %d is of user %u, not of root", pid, out->owner);
	if (s && s->n_left)
		snprintf(out->note + len, sizeof(out->note) - len,
			 "%s%zu of the sessions are of an earlier server that has ended, and are "
			 "counted too",
			 len ? "; " : "", s->n_left);
	return 0;
}

int kind_find(const struct kind *k, struct kind_found *out, const struct kind_wish *wish,
	      struct err *e)
{
	int r = k->find(out, wish, e);

	out->target.decoder = k->decoder;
	out->target.any_order = k->any_order;
	out->target.files = k->files;
	out->target.accounts = k->is.accounts;
	return r ? r : judge_owner(out, wish, e);
}

int kind_find_other(const struct kind **k, struct kind_found *out, const struct kind_wish *wish,
		    struct err *e)
{
	struct kind_wish known = *wish;
	const struct kind *first = NULL;

	known.known = true;
	for (size_t i = 1; kind_judged[i]; i++) {
		const struct kind *is = kind_at(kind_place(kind_judged[i]));
		struct kind_found found = { 0 };
		struct err not = { 0 };

		int r = kind_find(is, &found, &known, &not );

		if (r == -ENOTUNIQ) {
			*e = not ;
			return r;
		}
		if (r)
			continue;
		if (first) {
			kind_found_fini(&found);
			kind_found_fini(out);
			*e = (struct err) { 0 };
			return err_set(e, -ENOTUNIQ,
				       "there are servers of kind %s and of kind %s here: name one "
				       "with --kind",
				       first->is.name, is->is.name);
		}
		first = is;
		*out = found;
	}
	*k = first ? first : *k;
	return first ? 0 : -ENXIO;
}

void kind_found_fini(struct kind_found *f)
{
	servers_fini(&f->servers);
	free(f->folder);
	f->folder = NULL;
	f->n_folders = 0;
}
