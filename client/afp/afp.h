/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_AFP_H
#define AFP_AFP_H

/*
 * AFP over a DSI session. afp_prep_*() encode a command into a caller-owned op (no I/O);
 * afp_submit() and afp_reap() are the pipelined core; afp_call() is submit and reap of one op.
 * A return value is about the connection; what the server answered is op->result.
 */

#include "afp/params.h"
#include "afp/proto.h"
#include "base/err.h"
#include "dsi/dsi.h"

#include <stdbool.h>

#define AFP_REPLY_LEN     512
#define AFP_NAME_MAX      255
#define AFP_ENUMERATE_MAX 8192

struct afp_op {
	struct dsi_request dsi;       /* dsi.result: the server's answer; dsi.t: the times */
	uint8_t code;                 /* AFP command */
	void *user;                   /* the caller's */
	unsigned int depth;           /* likewise, for load/load.h */
	uint8_t reply[AFP_REPLY_LEN]; /* the payload, unless the prep call names a buffer */
};

struct afp_server {
	char name[64], machine[64];
	unsigned int n_versions, n_uams;
	char version[16][24], uam[16][64];
	const char *method;  /* to log in by where none is asked for; NULL: the strongest */
	bool decodes;        /* a user with %XX is what that stands for in a URL */
	char principal[256]; /* whom it says to be for Kerberos, SERVICE/HOST@REALM; "": nobody */
};

struct afp_login {
	const char *user;     /* NULL or "": guest only */
	const char *password; /* may be NULL for guest and Kerberos */
	const char *uam; /* NULL: the strongest that both sides have, but neither clear text nor
			    Kerberos */
	unsigned int version; /* 1, 2: AFP 2.1, 2.2; 3..7: AFP 3.0 to 3.4; 0: the highest of
				 3..7 that the server offers */
	const char *run;      /* whose sessions afp_end_others() can end; NULL: nobody's */
};

/* The stage at which a start failed: decides the exit code. */
enum afp_stage {
	AFP_STAGE_CONNECT,
	AFP_STAGE_LOGIN,
	AFP_STAGE_VOLUME,
	AFP_STAGE_OPEN,
};

struct afp_step;

struct afp {
	struct dsi *dsi;
	enum afp_stage stage;
	struct afp_step *step; /* internal: what it waits for while it is opened or ended */
	const char *uam;       /* wire name used, static */
	const char *version;   /* wire name used, static */
	uint8_t path_type; /* of names in commands: 3 (UTF-8) from AFP 3.0, else 2 (long names) */
	uint8_t level;     /* of the version: 1 is AFP 2.1, 3 is 3.0, 4 is 3.1, ... */
	uint16_t volume;   /* id of the open volume */
	bool logged_in, volume_open;
	bool ending; /* afp_finish() was called */
	/* Called for each answer when it is reaped; NULL: not called. */
	void (*seen)(void *user, const struct afp_op *op);
	void *seen_user;
};

/* Gets a server's information, on a separate connection. */
int afp_server_info(struct afp_server *out, const struct dsi_opts *opts, struct err *e);

/*
 * Whom the server has to prove to be, SERVICE@HOST: the service that it names, but on the host that
 * the user names. Else anybody could name a service whose key is theirs.
 */
#define AFP_SERVICE_MAX 320
void afp_name_service(char out[static AFP_SERVICE_MAX], const struct afp_server *server,
		      const char *host);

/* Adds the server's own name to a text of ERR_TEXT_MAX, if its host is not that of service. */
void afp_add_principal(const struct afp_server *server, const char *service, char *text);

/*
 * Connects, logs in and opens the volume. On failure *stage is how far it got, the text names what
 * the server offers (methods, volumes), and nothing stays open. -ENOKEY: the method that was chosen
 * has passwords of its own, and none of this user; nothing that depends on the password was sent.
 * -EKEYREJECTED: the user is known. -EACCES: refused, whyever.
 */
int afp_open(struct afp *out, const struct dsi_opts *opts, const struct afp_server *server,
	     const struct afp_login *login, const char *volume, enum afp_stage *stage,
	     struct err *e);

/* FPLogout if logged in, end of the session. Never fails; a zeroed afp is allowed. */
void afp_close(struct afp *a);

/*
 * The same without waiting: begun here, complete once out->stage is AFP_STAGE_OPEN. What the
 * arguments point to is borrowed until then. 0, or a negative errno with a text; afterwards, and
 * after an error of afp_advance(), afp_close().
 */
int afp_begin(struct afp *out, const struct dsi_opts *opts, const struct afp_server *server,
	      const struct afp_login *login, const char *volume, struct err *e);

/* What to wait for, and going on: as dsi_wait() and dsi_advance(). */
void afp_wait(struct afp *a, struct io_wait *w);
int afp_advance(struct afp *a, short events, struct err *e);

/* Waits at most ns, and goes on. */
int afp_work(struct afp *a, uint64_t ns, struct err *e);

/* An op that has its answer; NULL: none yet. */
struct afp_op *afp_take(struct afp *a);

/*
 * Begins the end, which afp_advance() goes on with; complete once afp_is_finished(), afterwards
 * afp_close(). Ops in flight are forgotten, and then there is no FPLogout.
 */
void afp_finish(struct afp *a);
bool afp_is_finished(const struct afp *a);

/*
 * One more volume of the same session. Commands for it are encoded with a copy of a whose volume
 * is *id; they are sent through a. The texts are those of afp_open; -ENOENT: refused.
 */
int afp_open_other(struct afp *a, const char *name, uint16_t *id, struct err *e);

/*
 * Has the server end all sessions of this user whose afp_login.run is run, also those that it keeps
 * because their client has gone; not this one. 0; -EOPNOTSUPP: it refuses, or the session is older
 * than AFP 3.1; another negative errno: the connection is lost.
 */
int afp_end_others(struct afp *a, const char *run, struct err *e);

/*
 * FPCloseVol, for callers that want one before the logout, which does not need it. The server's
 * answer is ignored. No op may be in flight.
 */
int afp_close_volume(struct afp *a, uint16_t id, struct err *e);

int afp_submit(struct afp *a, struct afp_op *op, struct err *e);
int afp_reap(struct afp *a, struct afp_op **out, struct err *e);
/*
 * Submits op and waits for it; no other op may be in flight. A stop meanwhile takes effect in the
 * next call, so that op is never lent any more when this returns.
 */
int afp_call(struct afp *a, struct afp_op *op, struct err *e);

/* Name of op's command for messages. */
const char *afp_op_name(const struct afp_op *op);

/* Names are UTF-8, at most AFP_NAME_MAX bytes, "" for the directory itself. */
void afp_prep_create_file(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name);
void afp_prep_create_dir(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name);
void afp_prep_delete(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name);
void afp_prep_get_params(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			 uint16_t file_bitmap, uint16_t dir_bitmap);
void afp_prep_get_volume(struct afp_op *op, const struct afp *a, uint16_t bitmap);
void afp_prep_close_volume(struct afp_op *op, uint16_t id);

/* The server copies dir/name of a's volume to a new file to_dir/to_name. */
struct afp_copy {
	uint32_t dir;
	const char *name;
	uint16_t to_volume;
	uint32_t to_dir;
	const char *to_name;
};
void afp_prep_copy_file(struct afp_op *op, const struct afp *a, const struct afp_copy *what);

/* dir/name becomes to_dir/to_name, in the same volume: FPRename within a directory, else
 * FPMoveAndRename. */
void afp_prep_rename(struct afp_op *op, const struct afp *a, const struct afp_copy *what);
/* Its modification date, seconds since 1970, at most AFP_EPOCH_S + INT32_MAX. */
void afp_prep_set_modified(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			   uint64_t when_s);

/* dir/name and to_dir/to_name, files of one volume, exchange their forks, and keep their ids. */
void afp_prep_exchange_files(struct afp_op *op, const struct afp *a, const struct afp_copy *what);
/* Its FinderInfo: AFP_FINDER_LEN bytes. */
#define AFP_FINDER_LEN 32
void afp_prep_set_finder(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			 const void *finder);

/* Its UNIX permission bits, AFP 3.0 and a volume with UNIX privileges; the owner stays. */
void afp_prep_set_mode(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
		       unsigned int mode);

/* An extended attribute of dir/name, AFP 3.2. buf and data are borrowed until the op is reaped; buf
 * has AFP_XATTR_HEAD bytes more than the value may have. */
#define AFP_XATTR_HEAD 6
struct afp_xattr {
	uint32_t dir;
	const char *name, *attr;
};
void afp_prep_get_xattr(struct afp_op *op, const struct afp *a, const struct afp_xattr *what,
			void *buf, uint32_t len);
void afp_prep_set_xattr(struct afp_op *op, const struct afp *a, const struct afp_xattr *what,
			const void *data, uint32_t len);
/* Bytes of the value. */
bool afp_get_xattr(const struct afp_op *op, uint32_t *len);

/*
 * A directory's entries from the start-th (from 1) on, as many as fit into len bytes of buf (8192
 * at least): the newest command that the session's version has, of which some carry lengths of 16
 * bits only.
 */
struct afp_list {
	uint32_t dir, start;
	bool with_attrs; /* all that Finder asks for, else names only */
	void *buf;
	uint32_t len;
};
void afp_prep_list(struct afp_op *op, const struct afp *a, const struct afp_list *what);
/* The last entry that can be asked for, counted from 1. */
uint32_t afp_list_max(const struct afp *a);

/*
 * Whatever has name in its name, in the whole volume: FPCatSearchExt, or FPCatSearch where names
 * are long names. A search has several requests, each from where the last one ended: place, of its
 * reply; that of the first is 0. As many results as fit into len bytes of buf (AFP_SEARCH_MIN at
 * least).
 */
#define AFP_PLACE_LEN  16
#define AFP_SEARCH_MIN 512
struct afp_search {
	const char *name;
	const uint8_t *place; /* AFP_PLACE_LEN bytes */
	void *buf;
	uint32_t len;
};
void afp_prep_search(struct afp_op *op, const struct afp *a, const struct afp_search *what);

/*
 * FPEnumerate with an empty path of type 2; or newest, FPEnumerateExt2 where the session's version
 * has it. The reply goes into buf.
 */
struct afp_enumerate {
	uint32_t dir;
	uint16_t file_bitmap, dir_bitmap;
	uint16_t count, start; /* start from 1 */
	bool newest;
};
void afp_prep_enumerate(struct afp_op *op, const struct afp *a, const struct afp_enumerate *what,
			uint8_t buf[static AFP_ENUMERATE_MAX]);

/* Data fork, and resource fork; the reply holds bitmap, fork reference, parameters. */
void afp_prep_open_fork(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			uint16_t bitmap, uint16_t access);
void afp_prep_open_resource(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			    uint16_t bitmap, uint16_t access);
void afp_prep_get_fork(struct afp_op *op, uint16_t fork, uint16_t bitmap);
/* bitmap: only AFP_BIT_DATA_LEN (32 bits) or AFP_BIT_DATA_EXT (64 bits). */
void afp_prep_set_fork(struct afp_op *op, uint16_t fork, uint16_t bitmap, uint64_t len);
void afp_prep_flush_fork(struct afp_op *op, uint16_t fork);
void afp_prep_close_fork(struct afp_op *op, uint16_t fork);
void afp_prep_lock(struct afp_op *op, uint16_t fork, bool unlock, uint32_t offset, uint32_t len);
void afp_prep_lock_ext(struct afp_op *op, uint16_t fork, bool unlock, uint64_t offset,
		       uint64_t len);
/* 32-bit commands. data and buf are borrowed until the op is reaped. */
void afp_prep_write(struct afp_op *op, uint16_t fork, uint32_t offset, const void *data,
		    uint32_t len);
void afp_prep_read(struct afp_op *op, uint16_t fork, uint32_t offset, void *buf, uint32_t len);
/* 64-bit commands. */
void afp_prep_write_ext(struct afp_op *op, uint16_t fork, uint64_t offset, const void *data,
			size_t len);
void afp_prep_read_ext(struct afp_op *op, uint16_t fork, uint64_t offset, void *buf, size_t len);

/* Decode successful replies; false: malformed reply. */
bool afp_get_created_dir(const struct afp_op *op, uint32_t *dir);
bool afp_get_opened_fork(const struct afp_op *op, uint16_t *fork, struct afp_params *params);
bool afp_get_fork_params(const struct afp_op *op, struct afp_params *out);
bool afp_get_file_params(const struct afp_op *op, struct afp_params *out);
bool afp_get_written(const struct afp_op *op, uint64_t *end_offset); /* both write commands */
/* Of AFP_VOLUME_ROOM; keeps_backups: it is a destination of Time Machine. */
bool afp_get_room(const struct afp_op *op, uint64_t *free_bytes, bool *keeps_backups);

/* Walks the entries of a reply to FPEnumerate, FPEnumerateExt or FPEnumerateExt2. */
struct afp_entries {
	struct rbuf at;
	bool wide; /* lengths of two bytes */
	bool bare; /* they do not count themselves and the kind */
	uint16_t file_bitmap, dir_bitmap;
	unsigned int left; /* entries left, by the reply's own count */
};
bool afp_entries_begin(struct afp_entries *it, const struct afp_op *op);
/* Of a search, also of its last reply, which is AFP_ERR_END_OF_FILE; place: where the next goes on.
 */
bool afp_found_begin(struct afp_entries *it, const struct afp_op *op,
		     uint8_t place[static AFP_PLACE_LEN]);
/* false: no more, or it->at.bad when the reply is malformed. */
bool afp_entries_next(struct afp_entries *it, struct afp_params *out);

#endif
