/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_MIX_H
#define WORK_MIX_MIX_H

/*
 * Mixes: what the users of a file server do, as weighted actions over a set of files for each
 * client. A mix is built in or read from an INI file (base/inifile.h):
 *
 *	[mix]
 *	name = browse
 *	files = 100         ; in each directory, of which each client has one, or more
 *	file_size = 16K     ; or a distribution, see load/draw.h
 *	popularity = zipf:1 ; of the directory's files: uniform, or by Zipf's law
 *	request = 1M        ; most bytes of a read or write; the store's own limit holds, too
 *	window = 1          ; reads and writes of one action in flight
 *	requests = 16       ; of a random-read or random-write
 *	think = 0.5         ; between a client's actions (closed loop): a mean, or a distribution
 *	shared = no         ; all clients use one directory, and only read
 *	compressible = 30%  ; of the files' content (work/mix/mix_content.h); default none
 *	dedup = 20%         ; of it, equal in all files; default none
 *	verify = no         ; what is read is compared with what was written; at the end all files
 *
 *	[actions]           ; weights
 *	list = 1
 *	look = 4
 *	read = 2
 */

#include "base/err.h"
#include "base/inifile.h"
#include "load/actor.h"
#include "load/draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Actions, each some requests. X(NAME, key, writes): writes: it changes files. */
#define MIX_ACTIONS(X)                                                                             \
	X(LIST, "list", false)    /* all entries of the directory with attributes, as Finder */    \
	X(LOOK, "look", false)    /* stat of a file */                                             \
	X(READ, "read", false)    /* a whole file */                                               \
	X(WRITE, "write", true)   /* a whole file, over what it was */                             \
	X(SAVE, "save", true)     /* a document: read, written beside, put in its place */         \
	X(CREATE, "create", true) /* an empty file: created, stat, renamed, deleted */             \
	X(BAND, "band", true)     /* a band of a backup: a file overwritten and flushed */         \
	/* requests at random places of a file, as databases and disk images have */               \
	X(RANDOM_READ, "random-read", false)                                                       \
	X(RANDOM_WRITE, "random-write", true)                                                      \
	/* a range is locked, read, unlocked; one that another has locked is left: no failure */   \
	X(LOCK, "lock", false)                                                                     \
	X(MAC_SAVE, "mac-save", true) /* written beside with a Mac's attributes, then exchanged */ \
	X(SEARCH, "search", false) /* the volume, for all that have the file's name in theirs */   \
	/* one more session of the client's user; they take turns, whichever is drawn */           \
	X(LOGIN, "login", false)                                                                   \
	X(LOGOUT, "logout", false)

enum mix_action {
#define X(name, key, writes) MIX_##name,
	MIX_ACTIONS(X)
#undef X
	    N_MIX_ACTIONS
};

struct mix {
	char name[32];
	unsigned int files, window, requests;
	struct draw sizes;
	double zipf; /* the exponent; 0: all files alike */
	uint64_t request_len;
	struct draw think; /* of a closed loop; ns */
	bool shared, verify;
	double compressible, duplicate;     /* shares of the content, 0 to 1 */
	unsigned int weight[N_MIX_ACTIONS]; /* all 0: the clients only stay logged in */
};

/* "list" */
const char *mix_action_name(unsigned int a);

/*
 * A built-in mix ("browse") or, if there is a '/' or '.' in the name, an INI file. -ENOENT: there
 * is none of this name (the text lists those that there are); -EINVAL: the text names file, line,
 * key and what is allowed.
 */
int mix_find(struct mix *out, const char *name, struct err *e);

/*
 * The same from an INI text that has more: first its defaults, then each key of [mix] and [actions]
 * (an inifile_take), then what no single key shows, and a name if it has none. mix_put prints these
 * sections.
 */
void mix_begin(struct mix *m);
int mix_take(void *mix, const struct inifile_key *k, struct err *e);
int mix_end(struct mix *m, const char *name, struct err *e);
void mix_put(FILE *out, const struct mix *m);

/* What no single key shows, such as actions that need files where there are none. 0 or -EINVAL. */
int mix_check(const struct mix *m, struct err *e);

/* Leaves it no action but this one, which it has with a weight above 0; else -ENOENT. */
int mix_keep(struct mix *m, const char *action);

/* Whether it has actions that only an AFP server can do; the first one's name, or NULL. */
const char *mix_needs_afp(const struct mix *m);

/* Whether its clients log in while they work. */
bool mix_logs_in(const struct mix *m);

/* Of how many kinds its actions are; 0: its clients only stay logged in. */
unsigned int mix_kinds(const struct mix *m);

/* The length of the file with this number among those of all directories. */
uint64_t mix_file_len(const struct mix *m, uint64_t seed, uint64_t number);

/* Bytes of one directory's files: where their length is by chance, the mean. */
uint64_t mix_set_bytes(const struct mix *m);

/*
 * Bytes of the files of directory number dir of n_dirs, as they are made with this seed; *longest
 * is increased to the length of the longest of them. Where there are more files in all than
 * MIX_DRAWN, and their length is by chance, the mean, and the most that there can be.
 */
#define MIX_DRAWN (1u << 24)
uint64_t mix_dir_bytes(const struct mix *m, uint64_t seed, unsigned int dir, unsigned int n_dirs,
		       uint64_t *longest);

/*
 * Where the data of the clients of a process goes that nobody looks at: n_sinks buffers, one for
 * each thread, as a session parses what it finds in its buffer. NULL without memory.
 */
struct mix_data;
struct mix_data *mix_data_new(const struct mix *m, unsigned int n_sinks);
void mix_data_free(struct mix_data *d);

/*
 * The scripts of one client, used one after the other on one store: make (one action: its
 * directories "dNNNNN" in base, and their files), use (for ever; class: enum mix_action), remove
 * (one action: all that there can be, also after actions that failed half-way). Where the set is
 * shared, client 0 makes it before the others begin, and removes it after they have.
 */
struct mix_client;

struct mix_client_opts {
	const struct mix *mix;
	struct mix_data *data;
	unsigned int sink;   /* which buffer of data: no other thread's */
	const char *base;    /* directory in the root of the volume; it exists then */
	bool exists;         /* the set does, too: make only looks for it */
	unsigned int number; /* from 0: of its first directory, and of its random numbers */
	unsigned int n_clients;
	unsigned int n_dirs; /* of all clients: number, number + n_clients, ... are this one's;
				n_clients at least, unless the set is shared */
	uint64_t seed;
};

/* What o points to is borrowed. NULL without memory. */
struct mix_client *mix_client_new(const struct mix_client_opts *o);
void mix_client_free(struct mix_client *c);

/* Bytes of memory for the data that it writes, and for what it compares. */
uint64_t mix_client_data_b(const struct mix_client *c);

struct script *mix_client_make(struct mix_client *c);
struct script *mix_client_use(struct mix_client *c); /* NULL: the mix has no actions */
struct script *mix_client_remove(struct mix_client *c);

/* Where the mix verifies: an action for each file of its own, which reads it and compares. */
struct script *mix_client_verify(struct mix_client *c);

/* What that has found. */
struct mix_verified {
	uint64_t n_files, n_wrong; /* read to their end or not; of them not as they were written */
	uint64_t bytes;            /* read and compared */
};
void mix_client_add_verified(const struct mix_client *c, struct mix_verified *to);

#endif
