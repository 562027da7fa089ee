/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_REPLAY_REPLAY_CLIENT_PRIV_H
#define WORK_REPLAY_REPLAY_CLIENT_PRIV_H

#include "afp/again.h"
#include "work/replay/replay_client.h"

#define REPLAY_PATH_MAX     4096
#define REPLAY_DIR_FOR_ALL  0777 /* modes, see replay_copy.for_all */
#define REPLAY_FILE_FOR_ALL 0666
#define REPLAY_LIST_MORE    64 /* bytes beyond the room of a reply: some servers forget a head */
#define REPLAY_LAST_BYTE    ((uint64_t)INT64_MAX) /* that a file can have */

enum replay_work { REPLAY_MAKE_DIRS, REPLAY_MAKE_FILES, REPLAY_USE, REPLAY_FINISH };

struct replay_open_file {
	struct store_file file;
	bool open;
};

struct replay_client {
	struct script s; /* first */
	const struct replay_copy *c;
	const struct replay_client_plan *plan;
	unsigned int number;
	enum replay_work work;
	const struct store *store;
	bool by_id; /* the store has ids for directories that all clients share */
	struct store_op op;
	bool sent; /* op is lent */
	char name[2][REPLAY_PATH_MAX];
	void *sink, *list;
	size_t sink_len, list_len;
	struct afp_again again;         /* of an AFP store: the request in its terms */
	uint8_t place[STORE_PLACE_LEN]; /* where the last search came to */
	uint64_t moved;                 /* of the action's bytes */
	uint64_t begun_ns;              /* its first request; 0: none is answered */
	uint64_t ideal_ns; /* since the replay's begin: the end of the one before, without delays */

	/* The replay */
	uint32_t at; /* of plan->step */
	bool waited, looks_up, closes;
	uint32_t awaited;              /* while it waits: a step of another client, */
	uint32_t seen;                 /* that one's progress, */
	uint64_t seen_ns;              /* and after how long that has changed last */
	struct replay_open_file *file; /* plan->n_files */
	struct store_dir listed;       /* by paths: the directory that is listed */
	uint32_t listed_object;
	struct replay_done done;

	/* The image */
	uint32_t object, fill; /* the next one; of a directory, the next file in it */
	uint32_t slot;         /* to be cleared */
	uint32_t attr;         /* the next one of it */
	unsigned int stage;
	bool was_there, rsrc;
};

/* Names dir/slot as it is at a step: sets the dir and *name of op. false: it has no place now. */
bool replay_client_name(struct replay_client *c, uint32_t dir, uint32_t slot, uint32_t step,
			struct store_dir *at, const char **name, char *room);

/* The rest of a read or write of len bytes from offset on: false: there is none. */
bool replay_client_move(struct replay_client *c, uint64_t offset, uint64_t len);

/* Over AFP: names what a step is about, and says all else as it was recorded. false: it cannot be
 * sent, as what it is about is not there. */
bool replay_client_again(struct replay_client *c, const struct replay_step *s);

/* ---- replay_copy.c ---- */

/* Lets all users remove what is in the next directory that it has made: its verb; SCRIPT_END: that
 * was the last one. */
int replay_copy_begin_dir(struct replay_client *c);

/* ---- replay_make.c: scripts of the image ---- */

int replay_make_begin(struct replay_client *c);
struct store_op *replay_make_next(struct replay_client *c);
enum script_state replay_make_answered(struct replay_client *c, struct err *e);

#endif
