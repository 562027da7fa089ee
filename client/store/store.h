/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_STORE_H
#define STORE_STORE_H

/*
 * The file operations of a workload, on any store: an AFP server, the local file system, or a null
 * store that keeps no data. One operation is one struct store_op, owned by the caller and lent to
 * the store from store_submit() until store_reap() returns it. The store's answer is op->result; a
 * return value is about the store itself (the connection).
 *
 * Data is never copied here: it goes between the kernel and the caller's buffer. Where align
 * (below) is more than 1 (POSIX with O_DIRECT), buffers are aligned to it and to 4096, offsets are
 * multiples of it, and the buffer of a READ has room for len rounded up to it: bytes after those
 * asked for may be overwritten. Lengths need not be multiples.
 *
 * Several operations may be in flight, up to the window of store_open_*(); they are returned in the
 * order of their answers, which need not be that of submission. One thread per store.
 */

#include "base/err.h"
#include "base/io_wait.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What can be asked for. X(name, word for people) */
#define STORE_VERBS(X)                                                                             \
	X(PROBE, "stat")     /* is there dir/name? */                                              \
	X(MKDIR, "mkdir")    /* makes dir/name; op->made, unless op->how is STORE_UNUSED */        \
	X(CREATE, "create")  /* an empty file dir/name; refused where there is one. op->how not 0: \
				it is opened, too, if the store creates_open; op->opened */        \
	X(DELETE, "delete")  /* dir/name: a file, or an empty directory; name "": dir itself */    \
	X(OPEN, "open")      /* data of the file dir/name; op->opened */                           \
	X(CLOSE, "close")    /* op->file */                                                        \
	X(LENGTH, "length")  /* of op->file; op->done */                                           \
	X(SET_LEN, "setlen") /* op->file becomes op->len bytes long */                             \
	X(READ, "read")      /* op->len bytes of op->file at op->offset into op->buf; op->done */  \
	X(WRITE, "write")    /* op->len bytes of op->data to op->file at op->offset; op->done */   \
	X(FLUSH, "flush")    /* op->file is on disk */                                             \
	X(COPY, "copy")      /* the store itself copies dir/name to to_dir/to_name */              \
	X(ROOM, "room")      /* bytes that are free where dir is; op->done, op->keeps_backups */   \
	X(LOOKUP, "lookup")  /* the directory dir/name; op->made. op->how: STORE_NO_MOUNT */       \
	X(LIST, "list")      /* entries of dir from the op->offset-th (0: the first) into op->buf, \
				in the store's own form or not at all, at most op->len bytes       \
				(STORE_LIST_LEN at least); op->done: how many; STORE_NONE: no      \
				more. with_attrs: what stat() shows, too; found() of each */       \
	X(RENAME, "rename")  /* dir/name becomes to_dir/to_name; refused where there is one */     \
	X(SET_TIME, "settime")   /* dir/name was modified op->offset seconds after 1970 */         \
	X(SET_MODE, "chmod")     /* dir/name gets the permission bits op->how */                   \
	X(GET_XATTR, "getxattr") /* value of attribute to_name of dir/name into op->buf, at most   \
				    op->len bytes, with STORE_XATTR_HEAD bytes more of room;       \
				    op->done; STORE_NONE: it has none; STORE_INVALID: a longer one \
				  */                                                               \
	X(SET_XATTR, "setxattr") /* attribute to_name of dir/name is the op->len bytes of data */  \
	X(LINK, "link")          /* to_dir/to_name is another name of the file dir/name */         \
	X(SYMLINK, "symlink")    /* dir/name, which must not exist, is a symbolic link to the text \
				    to_name */                                                     \
	X(LOCK, "lock")     /* op->len bytes (from 1) of op->file at op->offset, for writing, at   \
			       once or STORE_LOCKED. The file is open for writing, and does not    \
			       hold any of them yet. */                                            \
	X(UNLOCK, "unlock") /* the same range again */                                             \
	X(SWAP, "swap")     /* the files dir/name and to_dir/to_name exchange what they hold, and  \
			       keep their names and ids; only of AFP */                            \
	X(SET_FINDER,                                                                              \
	  "setfinder")      /* dir/name gets the 32 bytes of data as Finder's; only of AFP */      \
	X(SEARCH, "search") /* what has op->name in its name, in dir's volume, from op->place on,  \
			       into op->buf as LIST: op->done, op->place; STORE_NONE: no more than \
			       op->done. Only of AFP */                                            \
	/* One more session beside the store's, which only logs in, opens the volume and is kept   \
	   until LOGOUT. One at a time, of stores begun with store_afp_begin.logins; op->parts */  \
	X(LOGIN, "login")                                                                          \
	X(LOGOUT, "logout")     /* its end; also of one that was lost, which is refused */         \
	X(EXCHANGE, "exchange") /* of a store of calls: op->head and op->len bytes of op->data go, \
				   bytes come back (op->taken), op->back of them, else             \
				   STORE_SHORT; op->done. op->how is the call's number, op->name   \
				   its name, static */                                             \
	/* Of AFP these only with op->again. */                                                    \
	X(DEL_XATTR, "delxattr")    /* dir/name loses its attribute to_name */                     \
	X(LIST_XATTRS, "listxattr") /* names of the attributes of dir/name; op->done: their        \
				       bytes, with a 0 behind each */                              \
	X(OTHER, "other")           /* what op->again says; only of AFP */

enum store_verb {
#define X(name, word) STORE_##name,
	STORE_VERBS(X)
#undef X
	    N_STORE_VERBS
};

/* The result, common to all stores; op->code is the store's own. */
enum store_result {
	STORE_OK,
	STORE_SHORT,     /* done, but for fewer bytes than asked: end of file, or no room */
	STORE_NONE,      /* no such file or directory */
	STORE_EXISTS,    /* exists already */
	STORE_DENIED,    /* no right to it, read-only, or open elsewhere with a deny mode */
	STORE_LOCKED,    /* another has locked a part of the range */
	STORE_FULL,      /* no space; also over quota, where the server does not tell them apart */
	STORE_QUOTA,     /* over quota */
	STORE_NOT_EMPTY, /* a directory that is to be deleted has entries */
	STORE_INVALID,   /* the store does not accept this size, offset or alignment */
	STORE_UNKNOWN,   /* not supported by this store */
	STORE_FAILED,    /* anything else */
};

/* Least room of a LIST. */
#define STORE_LIST_LEN 8192

/* Bytes that a protocol may put in front of an attribute's value before it is moved to its place.
 */
#define STORE_XATTR_HEAD 6

/* Where a SEARCH goes on, as the store has it; all 0: at the begin. */
#define STORE_PLACE_LEN 16

/* How OPEN opens. */
#define STORE_FOR_READ  0x1u
#define STORE_FOR_WRITE 0x2u
#define STORE_ALONE     0x4u  /* exclusively, where the store supports that */
#define STORE_RSRC      0x40u /* its resource fork; only of AFP */

/* Bytes of SET_FINDER. */
#define STORE_FINDER_LEN 32

/* How MKDIR makes: nothing is to be done in the directory, so nothing is kept of it. */
#define STORE_UNUSED 0x8u
/* What DELETE deletes is a directory. It is found out where that is not said. */
#define STORE_IS_DIR 0x10u
/* LOOKUP is refused where another file system is mounted. */
#define STORE_NO_MOUNT 0x80u

struct afp_again;

struct store_dir {
	unsigned int volume; /* 0; 1: the second, of store_open_afp's other volume */
	uint64_t id;         /* AFP: directory id; else the store's own number */
};

struct store_file {
	uint64_t id; /* AFP: fork reference; POSIX: descriptor */
};

/* A command of an operation that has several. */
struct store_part {
	uint8_t command;
	bool refused;
	const char *what; /* its name, static */
	uint64_t begun_ns, last_ns;
};

/* ns, CLOCK_MONOTONIC */
struct store_times {
	uint64_t handed_ns; /* given to a thread of the store, which began it then; 0: to none */
	uint64_t begun_ns;  /* first byte offered to the kernel; the system call entered */
	uint64_t last_ns;   /* last byte of the answer read; the system call returned */
};

struct store_op {
	/* Set by the caller; borrowed until the op is returned. */
	enum store_verb verb;
	struct store_dir dir, to_dir;
	const char *name, *to_name;
	struct store_file file;
	/* As another client sent it, in AFP's own terms, which are what counts there: a PROBE may
	 * ask for anything, a LIST gives no names, values stay behind their heads. All verbs but
	 * WRITE and SET_XATTR may have their reply in buf then. Ignored by others; NULL: as the
	 * store has it. */
	const struct afp_again *again;
	unsigned int how; /* OPEN, CREATE: STORE_FOR_READ, ...; MKDIR, DELETE; SET_MODE: 0755 */
	uint64_t offset, len;
	void *buf;       /* READ, LIST, SEARCH, GET_XATTR */
	bool discard;    /* READ: the data is not needed; buf may stay unchanged */
	bool with_attrs; /* LIST */
	/* LIST: an entry's name, which is valid in the call only; may be NULL */
	void (*found)(struct store_op *op, const char *name);
	bool is_file;     /* set for found(): it is certainly no directory */
	const void *data; /* WRITE, SET_XATTR, EXCHANGE */
	/* EXCHANGE */
	const void *head; /* head_len bytes */
	size_t head_len;
	uint64_t period; /* data has so many bytes, which are sent again and again, first those from
			    offset; 0: it has len */
	uint64_t back;   /* UINT64_MAX: any number */
	void (*taken)(struct store_op *op, const void *bytes, size_t len); /* the next ones */
	void *user;
	unsigned int depth, need; /* the caller's, for load/chain.h */

	uint8_t place[STORE_PLACE_LEN]; /* SEARCH; and set by the store */

	/* Set by the store. */
	enum store_result result;
	int32_t code;       /* AFP result, or errno; 0 */
	uint8_t command;    /* number of the store's own command: AFP command; POSIX: the verb */
	const char *what;   /* its name, static: "FPWriteExt", "pwrite" */
	const char *why;    /* what code means, static; NULL where result is STORE_OK */
	uint64_t done;      /* as the verbs say */
	bool keeps_backups; /* ROOM: of the volume, those of Time Machine */
	bool tells_backups; /* ROOM: the server says which volumes keep them */
	struct store_dir made;
	struct store_file opened;
	struct store_times t;
	/* LOGIN, LOGOUT: the commands that were answered, in place of command; valid until the next
	 * of the two. NULL: it is one command. */
	const struct store_part *parts;
	unsigned int n_parts;
	/* With has_trips: waits for the server, one after the other; 0: one. */
	unsigned int trips;
	struct store_op *next; /* internal to the store */
};

struct store;

/* One kind of store. All but work() never wait. */
struct store_type {
	const char *name; /* "AFP", "POSIX" */
	/* As the functions below. */
	int (*submit)(struct store *s, struct store_op *op, struct err *e);
	struct store_op *(*take)(struct store *s);
	void (*wait)(struct store *s, struct io_wait *w);
	int (*advance)(struct store *s, short events, struct err *e);
	/* Waits at most ns for something to go on with, and advances. */
	int (*work)(struct store *s, uint64_t ns, struct err *e);
	/* Begins the end. */
	void (*finish)(struct store *s);
	void (*close)(struct store *s);
};

enum store_state {
	STORE_OPENING,
	STORE_IS_OPEN,
	STORE_ENDING,
	STORE_ENDED,
};

/* The head of every store: what all have in common. */
struct store {
	const struct store_type *type;
	enum store_state state;
	struct store_dir root[2];       /* of the first volume, of the second (if there is one) */
	size_t chunk_read, chunk_write; /* most bytes of one READ, one WRITE */
	size_t write_most;              /* of one with op->again; 0: as chunk_write */
	size_t align;                   /* of offsets and buffers, see above; 1: any */
	uint64_t len_max;               /* longest file that it supports, as far as is known */
	bool near;                      /* it has a server on this host */
	bool blocks;                    /* its operations can only be waited for: in type->work() */
	uint64_t called_ns;             /* when the last one of these had been carried out there */
	bool dials;                     /* connects: its descriptor may be another one each time */
	bool creates_open;              /* CREATE can open the file as well */
	bool has_links;                 /* LINK and SYMLINK can be done */
	bool has_trips;         /* over a connection, on which it counts each operation's trips */
	size_t discard_from;    /* a READ of at least this size honours op->discard; 0: none */
	unsigned int in_flight; /* lent */
	/* Set by whoever uses it: a server of smb:// or nfs:// that does not answer for so long is
	 * lost; 0: 60 s. */
	uint64_t patience_ns;
};

/*
 * The ends of the connection that it waits for, as this end sees them; of family 0: it has none.
 */
struct sockaddr_storage;
void store_ends(struct store *s, struct sockaddr_storage *local, struct sockaddr_storage *peer);

/* The least round-trip time of that connection, as TCP has seen it. false: it is not known. */
bool store_rtt(struct store *s, uint64_t *ns);

/*
 * Gives op to the store, which never waits here. 0; -EAGAIN: the window is full, take or reap
 * first; -EINTR: the session's stop flag is set (dsi_ignore_stop() before cleaning up); other
 * negative errno: the store is lost, text in e. op is lent only if this returns 0.
 */
int store_submit(struct store *s, struct store_op *op, struct err *e);

/*
 * For a caller with many stores: it takes what is answered until there is no more, asks what to
 * wait for, waits for all its stores together, and advances those whose time has come. events:
 * those that came, 0: the due time. Negative errno: the store is lost (text in e), or -EINTR as
 * above. The calls below that wait are made of these.
 */
struct store_op *store_take(struct store *s);
void store_wait(struct store *s, struct io_wait *w);
int store_advance(struct store *s, short events, struct err *e);

/* Begins the end, which store_advance() goes on with until state is STORE_ENDED. Nothing may be
 * in flight, unless the store is lost. */
void store_finish(struct store *s);

/*
 * Returns one that is answered; waits for it. -ENOENT: none is lent; -EINTR: stopped, and those
 * lent stay lent; other negative errno: the store is lost, and store_drain() gives up those without
 * an answer.
 */
int store_reap(struct store *s, struct store_op **out, struct err *e);

/* Submits and waits; no other may be in flight. op is never lent any more when this returns. */
int store_call(struct store *s, struct store_op *op, struct err *e);

/*
 * Waits ns, keeping the store alive, or until *stop is set (may be NULL): -EINTR. None may be in
 * flight. Other negative errno: the store is lost, text in e.
 */
int store_idle(struct store *s, uint64_t ns, const volatile sig_atomic_t *stop, struct err *e);

/*
 * Takes back all ops, for cleaning up after an error. Waits for the answers while the store is
 * usable; an op without one has result STORE_FAILED and code 0.
 */
void store_drain(struct store *s);

/* Drains and finishes it, waits for that, frees it; the connection of store_open_afp() is the
 * caller's and stays. NULL is allowed. */
void store_close(struct store *s);

/*
 * Over an open AFP session, which must outlive the store. legacy: only the 32-bit commands, as
 * netatalk 4.5's afp_speedtest sends them (always so below AFP 3.0). narrow: these, but requests as
 * they are otherwise. fills: requests as long as the server takes writes, not whole pages, as
 * netatalk 4.6's sends them. other: a second volume's id, 0: none. window: most ops in flight, at
 * most that of the session.
 */
struct afp;
struct store_afp_opts {
	bool legacy, narrow, fills;
	uint16_t other;
	unsigned int window;
	const char *machine; /* the server's machine type (DSIGetStatus); may be NULL */
};
int store_open_afp(struct store **out, struct afp *a, const struct store_afp_opts *opts,
		   struct err *e);

/*
 * The same with a session of its own, which is begun here and open once state is STORE_IS_OPEN.
 * What how points to is borrowed until then, dsi until the end. stage, which may be NULL: how far
 * it got.
 */
struct afp_server;
struct afp_login;
struct dsi_opts;
struct store_afp_begin {
	const struct dsi_opts *dsi;
	const struct afp_server *server;
	const struct afp_login *login;
	const char *volume;
	/* LOGIN and LOGOUT can be done: then all that this points to, and that dsi does, is
	 * borrowed until the store's end. */
	bool logins;
	/* Once for each such session that is connected, when the server has taken or refused it or
	 * the connection has ended before: greeted: it has a session there. From the
	 * store's thread. May be NULL. */
	void (*connected)(void *user, const struct afp *session, bool greeted);
	void *user;
};
/* Bytes of dsi_opts.scratch. */
#define STORE_SCRATCH_LEN 65536
int store_begin_afp(struct store **out, const struct store_afp_begin *how, struct err *e);

/* What such a store makes of a result code of AFP; of a read that ends early, see the verb. */
enum store_result store_afp_result(int32_t code);

/* The session of an AFP store; NULL: it is of another kind. */
struct afp *store_afp_session(struct store *s);

/*
 * A directory of this machine, which must exist. direct: O_DIRECT, else through the page cache.
 * -EINVAL and a text that says what to do if the file system cannot do O_DIRECT. Any number may be
 * in flight; one is carried out after the other: in store_reap() by the caller's thread, in
 * store_advance() by a thread of the store.
 */
int store_open_posix(struct store **out, const char *path, bool direct, struct err *e);

/*
 * A store of any kind that needs no server. place: "toy:NAME" with the prefix of a kind (kinds.h
 * has them), all other words are a directory of this machine. What only some kinds can do is
 * nothing in the others. store_is_local(): whether a word is certainly a place and no server's URL:
 * it has such a prefix, or begins with / or a dot.
 */
bool store_is_local(const char *word);
/* How places of the kinds are written, for lines of usage, one after the other: *i 0 before. NULL:
 * these were all. */
const char *store_place_usage(size_t *i);
/* The place itself, if it is not there. */
int store_make_local(const char *place, struct err *e);
int store_open_local(struct store **out, const char *place, bool direct, struct err *e);
/* The same, but it does not wait: the store is open once its state is STORE_IS_OPEN. */
int store_begin_local(struct store **out, const char *place, bool direct, struct err *e);

/* Whether operations in such a place can only be waited for, as s->blocks says of its store. */
bool store_place_blocks(const char *place);

/* Whether connections to it begin at ports below 1024, as long as there are any. */
bool store_place_low_ports(const char *place);

/* Who logs in where, by the place's words. */
struct store_place_login {
	char user[256]; /* "": none is given */
	char host[256];
};
/* 1: a place of that kind has a login, which is *out; 0: it has none; negative errno with a text:
 * the place is not written as it must be. */
int store_place_login(struct store_place_login *out, const char *place, struct err *e);
/* The user, where a place names none, and the password of all places opened from now on: copies.
 * Before any thread opens one. */
void store_keep_password(const char *user, const char *password);
/* How something in a place is called: in front of what a URL has behind its path ("?version=4").
 * Returns out. */
const char *store_place_below(char *out, size_t size, const char *place, const char *name);
/* store_remove_tree() of what is in place, on which s is open. 0 or a negative errno with a text.
 */
int store_remove_local(struct store *s, const char *place, const char *name, struct err *e);

/*
 * Removes dir/name with all that is in it; where name is NULL, all that is in dir. No link is
 * followed, and no other file system entered. 0, also where it was not there; STORE_REFUSED with a
 * text: *last is the operation that was refused; negative errno: the store is lost.
 */
#define STORE_REFUSED 1
int store_remove_tree(struct store *s, struct store_dir dir, const char *name,
		      struct store_op *last, struct err *e);

/* Calls found() for each entry of dir, whose op->user is user, in any order, but for . and ..;
 * *last and what it returns are as above. */
int store_list(struct store *s, struct store_dir dir,
	       void (*found)(struct store_op *op, const char *name), void *user,
	       struct store_op *last, struct err *e);

/*
 * Calls of Rx, the RPC of AFS, from a UDP socket of its own: only EXCHANGE. It is open at once: of
 * a server that is not there the first call says so.
 */
struct sockaddr_in;
struct rx_limits;
struct store_rx_opts {
	const struct sockaddr_in *to;
	uint16_t service;
	unsigned int calls;          /* most in flight; a connection has four */
	unsigned int buffer_len;     /* bytes asked for of the socket's buffers; 0: the usual */
	unsigned int timeout_ms;     /* longest time in which a call moves no byte */
	unsigned int least_rtt_ms;   /* rx/hub.h; 0: the usual */
	bool called_back;            /* an AFS file server calls its clients: they are answered */
	const struct rx_limits *own; /* what it takes; NULL: the usual */
	void *scratch; /* STORE_SCRATCH_LEN bytes, as in struct dsi_opts; may be NULL */
};
int store_open_rx(struct store **out, const struct store_rx_opts *o, struct err *e);

/* "HOST[:PORT]" as an address. 0 or a negative errno with a text. */
int store_rx_find(struct sockaddr_in *out, const char *where, unsigned int port, struct err *e);

/* What is known of the socket of such a store. */
struct store_rx_state;
void store_rx_look(struct store *s, struct store_rx_state *out);

/*
 * The null peer: the same AFP client over a loopback connection to a process of ours that answers
 * at once and stores no data. A run with it takes the time of this client and this machine's TCP,
 * for comparison; not a bound, because it shares the CPUs. like: the AFP store whose chunks, window
 * and commands it has; it is only read, and may be closed first. If like is a POSIX store: answers
 * without a system call. Nothing exists there (PROBE, LIST, GET_XATTR: STORE_NONE), every other
 * verb succeeds that like has. The process ends with the store, and with the thread that opened it.
 * Open it before the buffers are allocated: it begins as a copy of this process, and shares them
 * until they are written to.
 */
int store_open_null(struct store **out, const struct store *like, struct err *e);

/* "write" */
const char *store_verb_name(enum store_verb v);

#endif
