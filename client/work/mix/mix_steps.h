/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_MIX_STEPS_H
#define WORK_MIX_MIX_STEPS_H

/* The actions of a mix as lists of steps. Only for client/work/mix. */

#include "store/store.h"
#include "work/mix/mix.h"

/* The names a step is about: of the file chosen, and others beside it. */
enum mix_name {
	OF_BASE, /* the directory of all clients, in the root */
	OF_HOME, /* one of the client's own, in that */
	OF_FILE,
	OF_NEW,
	OF_OLD,
	OF_TEMP, /* of MIX_CREATE */
	OF_TEMP_NEW,
	N_WHICH
};

struct mix_step {
	enum store_verb verb; /* N_STORE_VERBS: the action's end */
	enum mix_name name, to;
	unsigned int how; /* OPEN */
	bool any;         /* whatever the answer is */
};

/* What a client does besides its actions; each is an index of mix_steps, too. */
#define MAKE       N_MIX_ACTIONS
#define MAKE_MORE  (N_MIX_ACTIONS + 1) /* another directory */
#define MAKE_FILES (N_MIX_ACTIONS + 2)
#define FIND       (N_MIX_ACTIONS + 3)
#define FIND_MORE  (N_MIX_ACTIONS + 4)
#define CLEAR      (N_MIX_ACTIONS + 5)
#define CLEAR_ALL  (N_MIX_ACTIONS + 6)
#define CLEAR_TEMP (N_MIX_ACTIONS + 7)
#define CLEAR_HOME (N_MIX_ACTIONS + 8)
#define VERIFY     (N_MIX_ACTIONS + 9)

/* Each ends with a step whose verb is N_STORE_VERBS. */
#define MIX_STEPS_MAX 16
extern const struct mix_step mix_steps[][MIX_STEPS_MAX];
/* What makes the set whole again after an action has failed. */
#define MIX_CURES_MAX 4
extern const struct mix_step mix_cures[N_MIX_ACTIONS][MIX_CURES_MAX];
extern const struct mix_step mix_close;

#endif
