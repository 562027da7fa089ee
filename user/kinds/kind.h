/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_KIND_H
#define KINDS_KIND_H

/*
 * The kinds of servers, one file each: how a server of the kind is found, what its processes are
 * called, how its clients' bytes are understood, and which of its settings are worth a warning. A
 * new kind is a file, and a row of kinds/list.h.
 */
#include "kinds/list.h"
#include "kinds/servers.h"
#include "kinds/target.h"
#include "run/kind.h"
#include "run/run.h"

#define KIND_NOTE_MAX 256

struct kind;

/* What the user says about the server; 0 and NULL: nothing. */
struct kind_wish {
	unsigned int port, pid;
	const char *exe;    /* name of a program */
	const char *unit;   /* systemd unit, or the path of a cgroup */
	const char *volume; /* of kind gluster: its processes only */
	/*
	 * Where several servers here have that volume: the one of this address. No brick's: the
	 * bricks to which this process or a mount from there is connected.
	 */
	const char *host;
	bool whole; /* if pid is a session: its whole server */
	bool known; /* only a program that is known by its name to be of the kind */
	/* Only of this user (host/owner.h): it takes the place of one that has ended. NULL: any. */
	const uint32_t *owner;
};

struct kind_found {
	const struct kind *kind; /* that was looked for */
	struct target target;
	struct servers servers; /* empty where the kind does not fill it */
	uint32_t owner;         /* whose the server is */
	/* What is worth a line of what is watched: whose it is, what else is. Empty: nothing. */
	char note[KIND_NOTE_MAX];
	/* What is said of one that may be a relay, by commands whose output goes on before it is
	 * known what it passes on. Empty: its program is known. */
	char doubt[KIND_NOTE_MAX];
	/* Owned: the folders in which its data is, as it calls them; none where settings say it. */
	size_t n_folders;
	char (*folder)[CENSUS_PATH_MAX];
};

struct kind {
	struct run_kind is;
	const char *program; /* of has_live but the first kind, as people call it: "Samba" */
	/* Of places that begin so the server is the one that their store is connected to; NULL. */
	const char *place;
	enum afs_decoder decoder; /* NONE: its requests are not known */
	bool any_order;           /* it answers in any order, in any thread; also is.parks */
	bool has_volumes;         /* wish.volume may choose among its processes */
	enum afs_files files;     /* how regular files are distinguished */
	/* As way_foreign(), of the kind's own programs. NULL: the kind takes any. */
	const char *(*foreign)(pid_t pid);
	/*
	 * 0; -ENXIO or -ESRCH: there is no such server; -ENOTUNIQ: several; -EACCES: no right to
	 * see; e has a text that says what to do.
	 */
	int (*find)(struct kind_found *out, const struct kind_wish *wish, struct err *e);
	/* Notes which server it is, and warnings about its settings. 0 or -ENOMEM. */
	int (*describe)(const struct kind_found *found, struct run *r);
	/* Notes what only the counts tell, once the watch has ended. 0 or -ENOMEM. NULL: nothing.
	 */
	int (*conclude)(struct run *r);
};

#define X(name, ...) extern const struct kind kind_##name;
KINDS(X)
#undef X

/* The names of all kinds; ends with NULL. */
extern const char *const kind_names[];
/* Of KINDS_JUDGED; ends with NULL. */
extern const char *const kind_judged[];
#define KIND_ANY 1 /* the place of "any" */

/* "afp, smb and nfs": those whose requests can be followed as they happen. Returns out. */
const char *kind_live_names(char out[static ERR_TEXT_MAX]);
/* "or Samba, or nfs-ganesha": the programs of these, but the first. Returns out. */
const char *kind_live_others(char out[static ERR_TEXT_MAX]);

/* By its place in kind_names. */
const struct kind *kind_at(int index);
/* The place of one of kind_names. */
int kind_place(const char *name);

/* k->find, and what the kind says of every target. -EPERM: of another user than wish->owner. */
int kind_find(const struct kind *k, struct kind_found *out, const struct kind_wish *wish,
	      struct err *e);

/*
 * The same of the kinds whose requests can be followed as they happen, in their order: of the first
 * that runs here. What is named may be of any of them, of all but the first only its own programs.
 * Else the first kind's code and text.
 */
int kind_find_live(struct kind_found *out, const struct kind_wish *wish, struct err *e);

/*
 * The server of this kind that serves the connection local -> peer (the addresses as this end sees
 * them), with all its sessions; out->target.way is the way to it. Returns as way_find(), else as
 * kind_find().
 */
int kind_find_connected(const struct kind *k, struct kind_found *out,
			const struct sockaddr_storage *local, const struct sockaddr_storage *peer,
			struct err *e);

/*
 * A server of any kind but the first and "any", and its kind; there must be such servers of one
 * kind only. judged: of kinds that can be judged. 0; -ENOTUNIQ, with a text in e; or -ENXIO, where
 * e stays as it is.
 */
int kind_find_other(const struct kind **k, struct kind_found *out, const struct kind_wish *wish,
		    bool judged, struct err *e);

/*
 * What the wish names by process or port; else the only server of this host, or of a unit, whose
 * process is called name and was not started by one that is. what: "SMB server"; foreign: as the
 * kind's, asked if wish->known. 0 or a negative errno, as struct kind's find.
 */
int kind_find_called(struct servers *out, const struct kind_wish *wish, const char *name,
		     const char *what, const char *(*foreign)(pid_t pid), struct err *e);

/* Notes its name, its ports and its program, as far as they are known. 0 or -ENOMEM. */
int kind_note_server(const struct servers_entry *s, struct run *r);

/* Why a server of SunRPC did not carry out a request (bpf/programs.h); NULL: no name. */
const char *kind_rpc_text(int32_t code);

/* A server whose sessions are known one by one, as it was found. NULL: it is of another kind. */
const struct servers_entry *kind_by_session(const struct kind_found *found);

/* What a server's own things are called (run_names), for commands that are advised. */
void kind_name_things(struct run_figures *out, const struct kind_found *found);

void kind_found_fini(struct kind_found *f);

/*
 * A program that carries on by what is no connection of TCP (a pipe, a Unix socket, datagrams)
 * looks like a server, but moves elsewhere what it reads: that is told by what it did.
 */

/*
 * What a foreign server (struct target) moved through pipes and other sockets for each of its
 * clients' bytes. Of one over Rx, for each that came: the datagrams that it sent from other
 * sockets, or the packets of data that it sent in calls of its own. NAN: requests were not
 * followed. 0 if it is not foreign. r: its watch has ended, and its sockets are noted.
 */
double passed_share(const struct target *t, const struct run *r);
#define PASSED_HARM 0.5 /* so much and more: it may be no server */

/*
 * Warns of a foreign server, by its name: where PASSED_HARM or more was passed on, and where that
 * is not known. 0 or -ENOMEM.
 */
int passed_note(const struct target *t, struct run *r, const char *name);

/* Places of this machine, where a client works without a session. */

#define PLACE_NAME_MAX 256

struct place_server {
	char host[PLACE_NAME_MAX]; /* by which it was mounted, or is named; without a port */
	char volume[PLACE_NAME_MAX];
	unsigned int port; /* of Rx; 0: none */
	/* It is found by the connection of a store there, as kind_find_connected() does. */
	bool connected;
};

/*
 * place: "gluster://HOST/VOLUME/PATH", or a directory, which may be on a volume that is mounted by
 * FUSE, or "rx://ADDRESS:PORT", or as a kind's .place has it. NULL: it is on no server of a known
 * kind; of Rx also: the address is not this machine's. out: on which volume of which server; of a
 * kind with a .place only that it is connected.
 */
const struct kind *place_kind(struct place_server *out, const char *place);

/* To find it; place is borrowed. */
struct kind_wish place_wish(const struct place_server *place);

#endif
