/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_MIX_RIG_H
#define TESTS_UNIT_MIX_RIG_H

/* Clients of a mix on a store in memory, whose scripts a test drives as the engine does. */

#include "unit/memory_store.h"
#include "work/mix/mix.h"

#define KIB 1024u

/* One client, or two of a shared set, on a store with the directory "base". */
struct rig {
	struct memory_store m;
	struct mix mix;
	struct mix_data *data;
	struct mix_client *client[2];
	struct err e;
	uint64_t bytes; /* of the last action */
};

static inline void rig_begin(struct rig *g, const struct mix *mix)
{
	struct mix_client_opts o = {
		.mix = &g->mix, .base = "base", .n_clients = 2, .n_dirs = 2, .seed = 1
	};
	struct store_op op = { .verb = STORE_MKDIR, .name = "base" };

	memset(g, 0, sizeof(*g));
	memory_begin(&g->m, 8 * KIB);
	g->m.closes = true;
	assert_int_equal(memory_do(&g->m, &op), STORE_OK);
	g->mix = *mix;
	o.data = g->data = mix_data_new(&g->mix, 1);
	for (; o.number < 2; o.number++) {
		g->client[o.number] = mix_client_new(&o);
		assert_non_null(g->client[o.number]);
	}
}

static inline void rig_end(struct rig *g)
{
	for (unsigned int i = 0; i < 2; i++)
		mix_client_free(g->client[i]);
	mix_data_free(g->data);
	memory_end(&g->m);
}

/* The script's next action to its end, as the engine does it. SCRIPT_GOES_ON: it has none. */
static inline enum script_state act(struct rig *g, struct script *s)
{
	enum script_state how = SCRIPT_GOES_ON;
	uint64_t before = s->bytes;
	struct store *store = &g->m.s;
	struct store_op *op;

	g->m.log[0] = '\0';
	g->e = (struct err) { 0 };
	if (s->type->begin(s, store) < 0)
		return how;
	while (how == SCRIPT_GOES_ON) {
		while ((op = s->type->next(s)))
			assert_int_equal(store_submit(store, op, &g->e), 0);
		assert_true(store->in_flight > 0); /* else it would never be called again */
		how = s->type->answered(s, store_take(store), &g->e);
	}
	assert_int_equal(store->in_flight, 0);
	g->bytes = s->bytes - before;
	return how;
}

static inline void makes(struct rig *g, unsigned int client)
{
	assert_int_equal(act(g, mix_client_make(g->client[client])), SCRIPT_DONE);
	assert_int_equal(act(g, mix_client_make(g->client[client])), SCRIPT_GOES_ON);
}

static inline enum script_state uses(struct rig *g)
{
	return act(g, mix_client_use(g->client[0]));
}

static inline bool nothing_is_open(const struct rig *g)
{
	for (int i = 0; i < MEMORY_NODES; i++)
		if (g->m.node[i].opened)
			return false;
	return true;
}

/* A mix of one action. */
static inline struct mix one(unsigned int action)
{
	struct mix mix = { .name = "one",
			   .files = 3,
			   .window = 1,
			   .requests = 3,
			   .sizes = { .value = 20 * KIB },
			   .request_len = 1u << 20 };

	mix.weight[action] = 1;
	return mix;
}

#endif
