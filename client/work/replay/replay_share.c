/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a server has fewer places than the recording has sessions: one that has ended passes its
 * place on to the next one of the same user, whose requests are then sent in the same session.
 */
#include "work/replay/replay_priv.h"

#include <errno.h>
#include <stdlib.h>

/* A session, or several that follow each other. */
struct share_line {
	uint64_t begin_ns, end_ns; /* of its requests, since the begin of the replay */
	uint32_t client;
	uint32_t on; /* the client that it is put behind, or itself */
};

static int share_compare(const void *a, const void *b)
{
	const struct share_line *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->client < y->client ? -1 : x->client > y->client;
}

/* Those that send something, by their begin; how many. */
static uint32_t share_lines(const struct replay_plan *p, struct share_line *line)
{
	const double speed = p->o.speed > 0 ? p->o.speed : 1;
	const struct replay_client_plan *c;
	const struct replay_step *last;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_clients; i++) {
		c = &p->client[i];
		if (!c->n_steps)
			continue;
		last = &p->step[c->step[c->n_steps - 1]];
		line[n++] = (struct share_line) {
			.begin_ns = p->step[c->step[0]].due_ns,
			.end_ns = replay_sum(last->due_ns,
					     (uint64_t)((double)last->time_ns / speed)),
			.client = i,
		};
	}
	qsort(line, n, sizeof(*line), share_compare);
	return n;
}

/* The requests of one client behind those of another. 0 or -ENOMEM. */
static int share_append(struct replay_plan *p, struct replay_client_plan *to,
			struct replay_client_plan *from)
{
	const size_t n = (size_t)to->n_steps + from->n_steps;
	uint32_t *all = realloc(to->step, (n + 1) * sizeof(*all));
	struct replay_step *s;

	if (!all)
		return -ENOMEM;
	to->step = all;
	for (uint32_t i = 0; i < from->n_steps; i++) {
		s = &p->step[from->step[i]];
		s->file += s->file == REPLAY_NONE ? 0 : to->n_files;
		all[to->n_steps++] = from->step[i];
	}
	to->n_files += from->n_files;
	to->read_max = to->read_max > from->read_max ? to->read_max : from->read_max;
	to->write_max = to->write_max > from->write_max ? to->write_max : from->write_max;
	to->room_max = to->room_max > from->room_max ? to->room_max : from->room_max;
	from->n_steps = 0;
	return 0;
}

/* One of the first n of the same user that has ended by then; n: there is none. */
static uint32_t share_free(const struct replay_plan *p, const struct share_line *line, uint32_t n,
			   const struct share_line *next)
{
	const uint32_t user = p->client[next->client].user;
	uint32_t i = 0;

	while (i < n && (line[i].end_ns > next->begin_ns || p->client[line[i].client].user != user))
		i++;
	return i;
}

/* Into line.on: which client each goes on with. How many are needed at once. */
static uint32_t share_plan(const struct replay_plan *p, struct share_line *line, uint32_t n,
			   struct share_line *used)
{
	uint32_t n_used = 0, at;

	for (uint32_t i = 0; i < n; i++) {
		at = share_free(p, used, n_used, &line[i]);
		if (at == n_used)
			used[n_used++] = line[i];
		used[at].end_ns = line[i].end_ns;
		line[i].on = used[at].client;
	}
	return n_used;
}

static int share_put_together(struct replay_plan *p, const struct share_line *line)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < p->n_sessions; i++)
		if (line[i].on != line[i].client)
			r = share_append(p, &p->client[line[i].on], &p->client[line[i].client]);
	return r;
}

int replay_share(struct replay_plan *p, struct err *e)
{
	const uint32_t most = p->o.most_sessions;
	struct share_line *line = calloc(2 * ((size_t)p->n_clients + 1), sizeof(*line));
	int r = line ? 0 : -ENOMEM;

	if (line) {
		p->n_sessions = share_lines(p, line);
		p->n_at_once = share_plan(p, line, p->n_sessions, line + p->n_clients);
	}
	if (!r && most && p->n_sessions > most && p->n_at_once <= most)
		r = share_put_together(p, line);
	free(line);
	if (r)
		return err_set(e, r, "out of memory");
	if (!most || p->n_at_once <= most)
		return 0;
	return err_set(e, -EINVAL,
		       "--sessions %u: of the recording's %u sessions %u are needed at the same "
		       "time",
		       most, p->n_sessions, p->n_at_once);
}
