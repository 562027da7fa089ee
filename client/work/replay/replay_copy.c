/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a copy of a recording has of its own, and how its users leave what they made. */
#include "work/replay/replay_client_priv.h"

#include <errno.h>
#include <stdlib.h>

int replay_copy_init(struct replay_copy *c)
{
	const struct replay_plan *p = c->plan;

	c->answered = calloc(p->n_steps + 1, sizeof(*c->answered));
	c->id = calloc(p->n_objects + 1, sizeof(*c->id));
	c->progress = calloc(p->n_clients + 1, sizeof(*c->progress));
	return c->answered && c->id && c->progress ? 0 : -ENOMEM;
}

void replay_copy_fini(struct replay_copy *c)
{
	free(c->answered);
	free(c->id);
	free(c->progress);
}

int replay_copy_begin_dir(struct replay_client *c)
{
	const struct replay_plan *p = c->c->plan;
	const struct replay_step *s;
	uint32_t slot;

	for (; c->at - c->plan->n_files < c->plan->n_steps; c->at++) {
		s = &p->step[c->plan->step[c->at - c->plan->n_files]];
		if (s->verb != STORE_MKDIR || s->object == REPLAY_NONE)
			continue;
		slot = replay_place_at(p, s->object, UINT32_MAX);
		c->op = (struct store_op) { .verb = STORE_SET_MODE, .how = REPLAY_DIR_FOR_ALL };
		if (replay_client_name(c, p->slot[slot].parent, slot, UINT32_MAX, &c->op.dir,
				       &c->op.name, c->name[0]))
			return STORE_SET_MODE;
	}
	return SCRIPT_END;
}
