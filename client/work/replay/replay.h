/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_REPLAY_REPLAY_H
#define WORK_REPLAY_REPLAY_H

/*
 * A recording of requests as a load: what must exist before the first of them (the image), in which
 * order they may be sent, and what each of them is on a store. No name is known, only keyed hashes:
 * names are made from them, of the same length and kind.
 *
 *	replay_plan_new
 *	replay_plan_add     each request, in the order of their ends
 *	replay_plan_close   image, names and order
 *
 * Objects are directories and files. A slot is a name in a directory: objects come and go there.
 */

#include "base/err.h"
#include "base/hist.h"
#include "store/store.h"
#include "work/replay/replay_map.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_UNKNOWN UINT64_MAX /* a size */

/* struct replay_request.marks */
#define REPLAY_ARGS_MISSING  0x1u  /* the request's bytes could not all be read */
#define REPLAY_NAME_CUT      0x2u  /* its name is longer than what was read */
#define REPLAY_BEGUN_BEFORE  0x4u  /* its session was there before the recording began */
#define REPLAY_LOST_BEFORE   0x8u  /* requests of its session were lost just before it */
#define REPLAY_REPLY_MISSING 0x10u /* the reply's figures are not known */

enum replay_name_kind {
	REPLAY_NAME_NONE,
	REPLAY_NAME_ASCII,
	REPLAY_NAME_COMPOSED,
	REPLAY_NAME_DECOMPOSED,
	REPLAY_NAME_WIDE,  /* CJK and the like */
	REPLAY_NAME_EMOJI, /* beyond the BMP */
	REPLAY_NAME_LEGACY,
};

/* A name as it was recorded: hashes, and what it looks like. */
struct replay_path {
	uint64_t dir;  /* hash of the directory's id; 2: the volume's root, 1: above it; 0: none */
	uint64_t name; /* hash of the path from there; 0: the directory itself */
	uint64_t parent;       /* hash of the path without its last component; 0: it has one */
	uint16_t volume, len;  /* bytes of the last component */
	uint8_t depth;         /* components */
	uint8_t kind, ext_len; /* enum replay_name_kind; bytes behind the last dot */
};

/* A request of AFP as it was recorded. */
struct replay_request {
	uint64_t t_ns, time_ns; /* begin, since the recording's begin; length, in the server */
	uint64_t session;       /* one number for each connection */
	struct replay_path path, to;
	uint64_t offset, length;
	uint64_t actual; /* as the reply says: bytes read, end of a write, entries */
	uint64_t size;   /* of the data fork, where the reply has it; else REPLAY_UNKNOWN */
	uint64_t id;     /* hash of what the reply calls the object; 0: none */
	uint32_t room;   /* most bytes of the reply */
	int32_t result;
	uint32_t user; /* account that its session works as; 0: not known */
	uint16_t command, marks, bitmap, dir_bitmap, flags, fork;
	uint8_t which;  /* 1: the resource fork */
	bool of_others; /* its session is not one of those that are to be replayed */
};

/* Why a request is not replayed. X(NAME, what is said of such) */
#define REPLAY_REASONS(X)                                                                          \
	X(SESSION, "of logging in and out, and of volumes: sessions are opened before, and "       \
		   "closed after the replay")                                                      \
	X(OUTSIDE, "outside the time that was asked for")                                          \
	X(OTHERS, "of users that were not asked for")                                              \
	X(DAMAGED, "without all of their arguments in the recording")                              \
	X(FORK, "on files that were opened before the recording began, or by a request that is "   \
		"not replayed")                                                                    \
	X(LOST, "on what a request made that is not in the recording")                             \
	X(UNNAMED, "by the id of a file that no request names")                                    \
	X(COMMAND, "of commands that are not replayed")

enum replay_reason {
#define X(name, text) REPLAY_##name,
	REPLAY_REASONS(X)
#undef X
	    REPLAY_N_REASONS
};

/* "outside the time ..." */
const char *replay_reason_text(enum replay_reason r);

/* A name in a directory. */
struct replay_slot {
	uint64_t key;      /* hash of the name */
	uint32_t parent;   /* object */
	uint32_t object;   /* while planning: what is there now; REPLAY_NONE */
	uint32_t at_begin; /* what the image has there; REPLAY_NONE */
	uint32_t turn;     /* while planning: who uses and changes what is there */
	uint32_t alias;    /* it is another name for this slot; REPLAY_NONE */
	uint16_t len, salt;
	uint8_t kind, ext_len;
	bool known; /* while planning: whether it is known what was there at the begin */
	bool made;  /* something comes there during the recording, or must not be there */
};

struct replay_object {
	uint32_t place; /* the last one */
	uint32_t attr;  /* extended attributes: the first, REPLAY_NONE */
	/* While planning. Lengths are those of the data: which object had them before files were
	 * exchanged, and which one has the data now that this one had. */
	uint32_t data, holder;
	uint32_t attrs_turn; /* while planning: who uses and changes its attributes; REPLAY_NONE */
	uint32_t grown;      /* last step that made it longer */
	bool is_dir, at_begin, touched, cut, rsrc_cut, lost;
	uint64_t size, rsrc;    /* at the begin, bytes */
	uint64_t now, rsrc_now; /* while planning: as far as is known */
	/* Of a directory: entries that are known to be there at the begin and now, and how many
	 * must be there at the begin beside those that are not known yet. */
	int64_t n_begin, n_now, n_want;
	uint32_t fill; /* files that are only there to be listed */
	/* Bytes of the names of attributes, likewise. */
	int64_t attrs_begin, attrs_now, attrs_want;
};

/* An extended attribute of an object. */
struct replay_attr {
	uint64_t key;  /* hash of its name */
	uint32_t next; /* of the same object */
	uint32_t len;  /* of its value at the begin, bytes */
	uint16_t name_len;
	uint8_t kind, ext_len;
	bool at_begin;
	bool known, there; /* while planning: whether it is known that it is there now or not */
};

/* Where an object is from a step on. */
struct replay_place {
	uint32_t slot, since; /* since: step */
	uint32_t before;      /* the place before; REPLAY_NONE */
};

/* A request to send. */
struct replay_step {
	uint64_t due_ns;  /* since the begin of the replay */
	uint64_t time_ns; /* as recorded */
	uint64_t offset, len;
	uint64_t done; /* as recorded: bytes, or entries; REPLAY_UNKNOWN */
	uint32_t client;
	uint32_t object;          /* what it is about, as recorded; REPLAY_NONE: nothing is there */
	uint32_t dir, slot;       /* where that is: object; slot in it, REPLAY_NONE: itself */
	uint32_t to_dir, to_slot; /* likewise */
	uint32_t from, to_from;   /* object whose id the recorded paths begin at */
	uint32_t attr;            /* that it is about, REPLAY_NONE */
	uint32_t file;            /* of the client's open files; REPLAY_NONE */
	uint32_t first_need, n_needs; /* steps of others that must be answered before */
	uint16_t how;
	/* The command and what it said, in terms of AFP. */
	uint64_t said_offset;
	uint32_t room;
	uint16_t bitmap, dir_bitmap, flags;
	uint8_t command, which, depth, to_depth;
	uint8_t verb, result; /* enum store_verb, enum store_result as recorded */
	bool with_attrs;
	bool wants_id;  /* of a directory: it is looked up */
	uint8_t effect; /* enum replay_effect */
};

struct replay_client_plan {
	uint64_t session;
	uint32_t user;             /* as replay_request.user */
	uint32_t n_steps, n_files; /* it opens so many */
	uint32_t *step;            /* of the plan's */
	uint64_t read_max, write_max;
	uint32_t room_max; /* of its other replies */
};

/* What the image has. */
struct replay_image {
	uint64_t dirs, files, fill, bytes, rsrc_bytes, attrs, attr_bytes;
	uint64_t grows; /* bytes by which all files together become longer, at most */
};

struct replay_opts {
	double speed;            /* 2: in half the time */
	bool no_think;           /* as soon as the request before was answered */
	uint64_t from_ns, to_ns; /* of the recording; to_ns 0: to its end */
	uint32_t most_sessions;  /* at once, if they can be so few; 0: as many as there are */
};

struct replay_counts {
	uint64_t recorded, planned, read_b, written_b;
	uint64_t left[REPLAY_N_REASONS];
};

struct replay_maps;
struct replay_plan {
	struct replay_opts o;
	uint64_t end_ns;      /* the last request's end, of the recording */
	uint64_t last_due_ns; /* when the last request is due, since the begin of the replay */
	uint32_t n_steps, n_slots, n_objects, n_places, n_clients, n_needs, n_attrs;
	uint32_t n_sessions; /* of the recording that send something: n_clients or more */
	uint32_t n_at_once;  /* so many do where those of a user that follow each other share one */
	struct replay_step *step;
	struct replay_slot *slot;
	struct replay_object *object; /* the first is the directory of all */
	struct replay_place *place;
	struct replay_attr *attr;
	struct replay_client_plan *client;
	uint32_t *need;
	uint32_t *dir_order; /* image.dirs directories of the image, parents first */
	struct replay_image image;
	struct replay_counts counts[256 + 1]; /* by AFP command; the last: of DSI */
	struct hist *recorded;    /* by verb: how long the requests took in the server, ns */
	struct replay_maps *maps; /* while planning */
};

/* NULL without memory. */
struct replay_plan *replay_plan_new(const struct replay_opts *o);
void replay_plan_free(struct replay_plan *p);

/* 0 or -ENOMEM. */
int replay_plan_add(struct replay_plan *p, const struct replay_request *q);

/* All were added. 0, or a negative errno with a text: without memory, too much, nothing to send. */
int replay_plan_close(struct replay_plan *p, struct err *e);

/* Bytes that are there at once during the replay, at most: UINT64_MAX: more than can be said. */
uint64_t replay_plan_room(const struct replay_plan *p);

/* Sums of all commands. */
void replay_plan_counts(const struct replay_plan *p, struct replay_counts *out);

/* ---- names ---- */

#define REPLAY_NAME_MAX 255

/*
 * Makes a name of len bytes of this kind, with an extension of ext_len bytes if it is as long: the
 * same for the same key and salt, in lower case, without the characters that a server or a file
 * system may treat in its own way. Returns its length.
 */
size_t replay_name(char out[static REPLAY_NAME_MAX + 1], const struct replay_slot *s);

/* Likewise of an attribute. */
size_t replay_attr_name(char out[static REPLAY_NAME_MAX + 1], const struct replay_attr *a);

/* Of a file that is only there to be listed. */
void replay_fill_name(char out[static REPLAY_NAME_MAX + 1], unsigned int i);

/* Gives slots of one directory different names. 0 or -ENOMEM. */
int replay_names_choose(struct replay_plan *p);

/* The slot in which an object is at a step: REPLAY_NONE: it is the directory of all. */
uint32_t replay_place_at(const struct replay_plan *p, uint32_t object, uint32_t step);

/*
 * The path of at most depth components below the object "from", 0: the directory of all. false: it
 * is too long, or not below it. slot REPLAY_NONE: dir itself.
 */
bool replay_path_at(const struct replay_plan *p, uint32_t dir, uint32_t slot, uint32_t step,
		    char *out, size_t size);
bool replay_path_from(const struct replay_plan *p, uint32_t from, uint32_t dir, uint32_t slot,
		      uint32_t step, unsigned int depth, char *out, size_t size);

/* ---- commands ---- */

/* What an AFP command does, for a replay. */
enum replay_effect {
	REPLAY_LOOKS, /* at what is there */
	REPLAY_OPENS,
	REPLAY_USES, /* an open file */
	REPLAY_CLOSES,
	REPLAY_MAKES, /* a file, a directory */
	REPLAY_REMOVES,
	REPLAY_RENAMES,
	REPLAY_COPIES,
	REPLAY_SWAPS,
	REPLAY_IS_VOLUME, /* about all of it */
	REPLAY_BY_ID,     /* looks at what has an id */
	REPLAY_ALONE,     /* about no file */
	REPLAY_IS_SESSION,
	REPLAY_IS_UNKNOWN, /* not replayed, and nothing follows from it */
};
/* Its verb, N_STORE_VERBS: none. */
enum store_verb replay_verb_of(const struct replay_request *q, enum replay_effect *effect);

/* The layout of a command of AFP: see client/afp/again.h. */
const char *replay_layout(uint8_t command);

/* The result as a store would have it. */
enum store_result replay_result_of(const struct replay_request *q, enum store_verb verb);

#endif
