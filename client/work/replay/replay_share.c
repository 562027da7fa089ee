/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a server has fewer places than the recording has sessions: one that has ended passes its
 * place on to the next one of the same user, whose requests are then sent in the same session.
 */
#include "load/timers.h"
#include "work/replay/replay_priv.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* A session that sends something. */
struct share_line {
	struct timer end; /* first: of its requests, since the begin of the replay */
	uint64_t begin_ns, end_ns;
	uint32_t first, last; /* steps */
	uint32_t user, client;
	uint32_t on; /* the client that it is put behind, or itself */
};

/* By user, of each by their begin. */
static int share_compare(const void *a, const void *b)
{
	const struct share_line *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* How many there are. */
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
			.end_ns = replay_sum(last->due_ns, replay_sooner(last->time_ns, speed)),
			.first = c->step[0],
			.last = c->step[c->n_steps - 1],
			.user = c->user,
			.client = i,
			.on = i,
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

/*
 * Its requests must also be behind in the order of all, which a damaged recording's times need not
 * have: a step needs only what is before it there, so that no two clients wait for each other.
 */
static bool share_can_follow(const struct share_line *next, const struct share_line *before)
{
	return before->end_ns <= next->begin_ns && before->last < next->first;
}

/*
 * Into line.on: which client each goes on with. How many are needed at once. heap: room for one
 * more than there are.
 */
static uint32_t share_plan(struct share_line *line, uint32_t n, struct timer **heap)
{
	struct timers ends = { .heap = heap }; /* of the user's, the last of each client */
	const struct share_line *before;
	uint32_t n_places = 0;

	_Static_assert(offsetof(struct share_line, end) == 0, "a timer is the head of its line");
	for (uint32_t i = 0; i < n; i++) {
		if (i && line[i].user != line[i - 1].user)
			ends.n = 0;
		before = (const struct share_line *)timers_first(&ends);
		if (before && share_can_follow(&line[i], before)) {
			line[i].on = before->on;
			timers_remove(&ends, timers_first(&ends));
		} else {
			n_places++;
		}
		timers_sooner(&ends, &line[i].end, line[i].end_ns);
	}
	return n_places;
}

static int share_put_together(struct replay_plan *p, const struct share_line *line)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < p->n_sessions; i++)
		if (line[i].on != line[i].client)
			r = share_append(p, &p->client[line[i].on], &p->client[line[i].client]);
	return r;
}

int replay_share(struct replay_plan *p)
{
	const uint32_t most = p->o.most_sessions;
	struct share_line *line = calloc((size_t)p->n_clients + 1, sizeof(*line));
	struct timer **heap = calloc((size_t)p->n_clients + 1, sizeof(struct timer *));
	int r = line && heap ? 0 : -ENOMEM;

	if (!r) {
		p->n_sessions = share_lines(p, line);
		p->n_at_once = share_plan(line, p->n_sessions, heap);
		if (p->n_sessions > most && p->n_at_once <= most)
			r = share_put_together(p, line);
	}
	free(heap);
	free(line);
	return r;
}
