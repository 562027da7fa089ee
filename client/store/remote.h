/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

/*
 * The head of a store whose protocol a library speaks without waiting (libsmb2, libnfs): it has a
 * descriptor to poll, is told when that is ready, and calls back. Only for client/store. One
 * context of the library, and one connection, is one store, used by one thread at a time. What a
 * verb means for directories and lists is here; a kind of store brings a table of its calls.
 */

#include "store/dirs.h"
#include "store/place_url.h"
#include "store/store_priv.h"

#define REMOTE_CHUNK (1u << 20)
#define REMOTE_PLACE 512

struct remote;

/* An operation under way. Lives until the store is closed: the library may call back late. */
struct remote_job {
	struct remote *r;
	struct store_op *op; /* NULL: given up, or free */
	unsigned int step;   /* the kind's, 0 at the begin */
	int code;            /* likewise: an errno that the end will have */
	uint64_t units;      /* of the window */
	unsigned int again;  /* messages that were sent for it after the first was answered */
	void *handle;        /* the kind's, between steps */
	uint64_t room[16];   /* where the library puts attributes */
	struct remote_job *next, *next_free;
};

struct remote_calls {
	const char *const *what;  /* by verb, the call's name */
	const char *const *lacks; /* by verb: why it cannot be done; NULL: it can */
	uint64_t units_max;       /* most in flight at once, of 64 KiB of data or an operation */
	int (*fd)(struct remote *r);
	short (*events)(struct remote *r);
	/* Less than 0: the connection is lost. */
	int (*service)(struct remote *r, short events);
	const char *(*error)(struct remote *r); /* what the library says of the last failure */
	/*
	 * Begin j->op, which ends by remote_end(), or remote_take_list(), perhaps at once. 0, or
	 * an errno: it has ended. move: a READ or a WRITE; on_file: what else is about an open
	 * file; on_name: about a name, whose path on the server is given, or a directory's. A LIST
	 * reads the whole directory.
	 */
	int (*move)(struct remote_job *j);
	int (*on_file)(struct remote_job *j);
	int (*on_name)(struct remote_job *j, const char *path);
	/* The next entry of a list, with its name; false: there is no more. */
	bool (*next)(struct remote *r, void *list, const char **name, bool *is_file);
	void (*close_list)(struct remote *r, void *list);
	/* When keep() is to be called next, which asks the server for something so that it does not
	 * forget a client that says nothing; NULL: none does. */
	uint64_t (*keep_ns)(struct remote *r);
	void (*keep)(struct remote *r);
	/* Begins to log out, which closes all files; remote_left() says when that is done. 0 or an
	 * errno. */
	int (*leave)(struct remote *r);
	/* Closes the connection and frees the context, if there is one. It may call back. */
	void (*destroy)(struct remote *r);
};

/* Rows of "lacks": verbs that no library of these has. */
#define REMOTE_LACKS                                                                               \
	[STORE_SWAP] = STORE_ONLY_AFP, [STORE_SET_FINDER] = STORE_ONLY_AFP,                        \
	[STORE_SEARCH] = STORE_ONLY_AFP, [STORE_LOGIN] = STORE_ONLY_AFP,                           \
	[STORE_LOGOUT] = STORE_ONLY_AFP, [STORE_OTHER] = STORE_ONLY_AFP,                           \
	[STORE_EXCHANGE] = STORE_NO_CALLS

struct remote {
	struct store s;
	const struct remote_calls *calls;
	char place[REMOTE_PLACE]; /* for messages: "smb://host:445/share" */
	char root[PATH_MAX];      /* the path of the store's directory, "" or "/dir" */
	struct dirs dirs;
	struct store_queue answered;
	struct remote_job *jobs, *free_job;
	unsigned int n_pending;
	uint64_t units;        /* in flight */
	bool begins;           /* an operation is begun, and nothing of it has been sent yet */
	uint64_t progress_ns;  /* when it was heard of last */
	struct store_op hello; /* looks for the directory, once connected */
	bool keeping;          /* what keep() asked for is under way: set and cleared by the kind */
	int refused;           /* an errno: it could not connect */
	bool is_in;            /* logged in */
	bool is_lost, is_gone; /* gone: the context is being destroyed */
	char why[2 * ERR_TEXT_MAX];
	void *list; /* of the directory that was listed last; NULL: none */
	uint64_t list_dir, listed;
};

/* The type of such a store. */
#define REMOTE_TYPE(name)                                                                          \
	{                                                                                          \
		name, remote_submit, remote_take, remote_wait, remote_advance, remote_work,        \
		    remote_finish, remote_close                                                    \
	}
int remote_submit(struct store *s, struct store_op *op, struct err *e);
struct store_op *remote_take(struct store *s);
void remote_wait(struct store *s, struct io_wait *w);
int remote_advance(struct store *s, short events, struct err *e);
int remote_work(struct store *s, uint64_t ns, struct err *e);
void remote_finish(struct store *s);
void remote_close(struct store *s);

/* r is all 0 before; it is opening then. path: of its directory on the server. */
void remote_init(struct remote *r, const struct store_type *type, const struct remote_calls *calls,
		 const struct place_url_form *form, const struct place_url *u);

/* The connection is there, or refused: an errno, and what the library says, which may be NULL. */
void remote_connected(struct remote *r, int code, const char *why);

/* It has logged out, or cannot. */
void remote_left(struct remote *r);

/* The connection is lost: why is what the library says. Operations under way stay unanswered. */
void remote_lose(struct remote *r, const char *why);

/* Something has come for j. false: nobody waits for it any more. */
bool remote_heard(struct remote_job *j);

/* The operation has ended: an errno, 0: it was done. */
void remote_end(struct remote_job *j, int code);

/* A LIST has come: list is the store's. */
void remote_take_list(struct remote_job *j, void *list);

/* The path of name in a directory, "" is the root, without / in front if so wished. An errno. */
int remote_path(const struct remote *r, struct store_dir dir, const char *name,
		char out[static PATH_MAX]);

/* Makes a directory, if there is none, by a store of the root, which it waits for and closes. path:
 * "/dir". 0, or a negative errno with a text. */
int remote_make(struct store *s, const char *path, struct err *e);

#endif
