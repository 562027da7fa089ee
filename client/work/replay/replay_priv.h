/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_REPLAY_REPLAY_PRIV_H
#define WORK_REPLAY_REPLAY_PRIV_H

/* What the sources of a plan share. */

#include "work/replay/replay.h"

/* Bits of the first byte of a command, which the recorder hands over in flags. */
#define REPLAY_FLAG_REPLACES 0x04u /* of FPSetExtAttr: it must be there */
#define REPLAY_FLAG_UNLOCK   0x01u /* of a lock */
#define REPLAY_FLAG_FROM_END 0x80u /* of a lock, of a write */
#define REPLAY_FLAG_READ     0x01u /* of FPOpenFork, and the next two */
#define REPLAY_FLAG_WRITE    0x02u
#define REPLAY_FLAG_DENIES   0x30u

/* Bits of file and directory bitmaps. */
#define REPLAY_BITS_OF_NAME 0x20c2u /* parent, names */
#define REPLAY_BIT_ID       0x0100u

/* Directories above each other: no path that a system takes has more names. */
#define REPLAY_DEPTH_MAX 2048

/* Of two lengths, which may be whatever a damaged recording says. */
static inline uint64_t replay_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A time that comes sooner, or later, at this speed, above 0. Likewise. */
static inline uint64_t replay_sooner(uint64_t ns, double speed)
{
	const double at = (double)ns / speed;

	return at < (double)INT64_MAX ? (uint64_t)at : INT64_MAX;
}

/* An open file while planning. */
struct replay_open {
	uint32_t client, file;
	uint32_t data; /* object, as replay_object.data */
	bool rsrc;
	bool holds; /* locks, or others may not open it: until it is closed others are refused */
};

/* Who has used and changed something, up to now. */
struct replay_turn {
	uint32_t changed;    /* the last step that changed it; REPLAY_NONE */
	uint32_t users;      /* since then, one for each client: a list; REPLAY_NONE */
	uint32_t first_user; /* the least index that these can have there */
};

/* The last step of a client that used it. */
struct replay_user {
	uint32_t step, next;
};

struct replay_maps {
	struct replay_map dirs;     /* volume and directory's hash: object */
	struct replay_map slots;    /* directory and name's hash: slot */
	struct replay_map sessions; /* client */
	struct replay_map files;    /* client and fork: open */
	struct replay_map attrs;    /* object and attribute's hash: attribute */
	struct replay_map paths;    /* directory and hash of a path of several names: slot */
	struct replay_open *open;
	size_t n_open;
	struct replay_turn *turn;
	size_t n_turns;
	struct replay_map uses; /* turn and client: user */
	struct replay_user *user;
	size_t n_users;
	uint32_t first_new; /* objects that the request under way has found */
	bool settled;       /* it says where a directory is of which only the id was known */
	int64_t grown;      /* bytes by which all files are longer than at the begin */
	bool out_of_memory;
};

/* Whether the reply says that what it names is not there. */
bool replay_is_missing(const struct replay_request *q);

/* Whether the command is about a directory. */
bool replay_is_of_dir(const struct replay_request *q);

/* What only planning needs. */
void replay_plan_forget(struct replay_plan *p);

/* ---- replay_tree.c: what is where, request after request ---- */

/* Where a path leads now: the directory and, unless it is the directory itself, the slot. */
struct replay_where {
	uint32_t dir, slot;
	uint32_t from; /* the directory that the path begins at */
};
struct replay_where replay_tree_find(struct replay_plan *p, const struct replay_path *path);
/* The object that is there now; REPLAY_NONE. */
uint32_t replay_tree_object(const struct replay_plan *p, struct replay_where at);
/* Something is there; if that is not known yet it was so at the begin. Its object. */
uint32_t replay_tree_is_there(struct replay_plan *p, struct replay_where at, bool is_dir);
/* Nothing is there. */
void replay_tree_is_missing(struct replay_plan *p, struct replay_where at);
uint32_t replay_tree_make(struct replay_plan *p, struct replay_where at, bool is_dir);
void replay_tree_remove(struct replay_plan *p, struct replay_where at);
void replay_tree_move(struct replay_plan *p, struct replay_where from, struct replay_where to,
		      uint32_t step);
/* Two files have each other's data. */
void replay_tree_swap(struct replay_plan *p, uint32_t a, uint32_t b);
/* The reply calls it so. */
void replay_tree_name(struct replay_plan *p, uint16_t volume, uint64_t id, struct replay_where at);
/* The directory of a volume: also of one that no request has named yet. */
uint32_t replay_tree_root(struct replay_plan *p, uint16_t volume);
int replay_tree_new(struct replay_plan *p);

/* The object that a reply called so; REPLAY_NONE. */
uint32_t replay_tree_by_id(const struct replay_plan *p, uint16_t volume, uint64_t id);

/* ---- replay_names.c: where things are at a step ---- */

/* A directory itself as a name in the one above, at a step; the directory of a volume has none. */
struct replay_where replay_itself_at(const struct replay_plan *p, struct replay_where at,
				     uint32_t step);

/* ---- replay_attrs.c: extended attributes ---- */

/* The request is about an object, and one of its attributes, whose index it returns, or
 * REPLAY_NONE. */
uint32_t replay_attrs_look(struct replay_plan *p, const struct replay_request *q,
			   const struct replay_step *s);
/* All were looked at: names that were only listed. */
int replay_attrs_close(struct replay_plan *p);

/* ---- replay_share.c ---- */

/* All clients have their steps: sets n_sessions and n_at_once, and those that follow each other
 * become one, if o.most_sessions says so and is enough. 0 or -ENOMEM. */
int replay_share(struct replay_plan *p);

/* ---- replay_order.c: which requests of other clients come before a step ---- */

/* Of something new: an index of maps.turn. Sets maps.out_of_memory. */
uint32_t replay_order_turn(struct replay_plan *p);

/* The last step, whose objects and slots are set, needs those before it. 0 or -ENOMEM. */
int replay_order_add(struct replay_plan *p, uint32_t step, const struct replay_open *open);

#endif
