/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_SESSION_H
#define DRIVE_SESSION_H

/*
 * What the commands that load a server share: one AFP session, the watch of the process that
 * serves it, the run that both fill, and the cleaning up after any kind of end.
 */

#include "app/runs.h"
#include "app/warden.h"
#include "attach/others.h"
#include "attach/sampler.h"
#include "attach/tracing.h"
#include "drive/connect.h"
#include "host/rights.h"
#include "host/sample.h"
#include "run/run.h"
#include "store/kinds.h"
#include "store/store.h"
#include "watch/watch.h"

#include <stdio.h>

/* Rows of a table of options over a struct that has a session_cfg as member "member". */
struct session_cfg {
	struct connect_cfg c;
	bool local;            /* a place (store_open_local()) instead of an AFP server */
	bool buffered;         /* through the page cache, else O_DIRECT */
	bool force;            /* load also a volume that it may fill */
	const char *force_how; /* what sets it, for messages; NULL: --force */
	const char *place;     /* the operand, if it is the directory, which then must be there */
	const char *directory; /* NULL: not given */
	const char *second_volume; /* opened, too; NULL: none */
	int watch;                 /* enum watch_mode */
	unsigned int hz;
	struct tracing_cfg trace;
	struct runs_cfg runs;
};

extern const char *const session_watch_choices[];

/* clang-format off */
#define SESSION_FORCE_OPTION(cfg_type, member)                                                     \
	{ .name = "force", .type = OPT_FLAG, .offset = offsetof(cfg_type, member.force),           \
	  .help = "begin also on a volume of Time Machine, or with less than twice the room free",  \
	  .more = "Twice the room that the files take. Without it nothing is written there: others " \
		  "would find the volume full, or Macs their backups spoilt." }
#define SESSION_THREADS_MAX 256
/* What drives many clients: unsigned int threads, 0: session_threads(); bool realtime. more: what
 * the manual says of this besides. */
#define SESSION_THREADS_OPTIONS(cfg_type, threads, realtime, more_of_it)                           \
	{ .name = "threads", .arg = "N", .type = OPT_UINT,                                         \
	  .offset = offsetof(cfg_type, threads),                                                   \
	  .min = 1, .max = SESSION_THREADS_MAX,                                                    \
	  .help = "threads that drive the clients (default: one for each 200 clients, at most "    \
		  "half the CPUs; of a DIRECTORY or a GlusterFS volume: one for each client)" },   \
	{ .name = "realtime", .type = OPT_FLAG, .offset = offsetof(cfg_type, realtime),            \
	  .help = "run the threads that drive the clients with real-time priority (SCHED_RR), "    \
		  "before all other programs of their CPUs; only where the server has other "      \
		  "CPUs (taskset): else some of its processes may get none",                       \
	  .more = "Where it is not allowed they run as without it. With the server on the same "   \
		  "machine they otherwise wait for a CPU behind each of its processes, and "       \
		  "measure that wait (the line \"Load generator\" says how long). A busy "         \
		  "generator leaves its own CPU to nobody, and processes of the server that are "  \
		  "there do not answer." more_of_it }
#define SESSION_WATCH_OPTIONS(cfg_type, member)                                                    \
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE,                                       \
	  .offset = offsetof(cfg_type, member.watch),                                              \
	  .choice = session_watch_choices,                                                         \
	  .help = "how the server is observed (default: auto, the best that works here)",          \
	  .more = WATCH_MORE },                                                                    \
	{ .name = "sample", .arg = "HZ", .type = OPT_UINT,                                         \
	  .offset = offsetof(cfg_type, member.hz),                                                 \
	  .min = 1, .max = SAMPLE_HZ_MAX,                                                          \
	  .help = SAMPLER_HELP,                                                                    \
	  .more = SAMPLER_MORE },                                                                  \
	TRACING_OPTIONS(cfg_type, member.trace)

#define SESSION_LOCAL_OPTIONS(cfg_type, member)                                                    \
	{ .type = OPT_HEADING, .help = "Local directory instead of a server:" },                   \
	{ .letter = 'L', .name = "local", .type = OPT_FLAG,                                        \
	  .offset = offsetof(cfg_type, member.local),                                              \
	  .help = "the same tests on a directory of this machine",                                 \
	  .more = "This option is not needed where a place is given instead of the server: a "     \
		  "DIRECTORY that begins with / or a dot, or exists, or one of the other places "  \
		  "of --directory. "                                                               \
		  "System calls are made one after the other." },                                  \
	{ .letter = 'P', .name = "directory", .arg = "DIR", .type = OPT_STRING,                    \
	  .offset = offsetof(cfg_type, member.directory),                                          \
	  .help = "the directory; created if it does not exist",                                   \
	  .more = "It is not removed. " STORE_PLACES_MORE "docs/load.md says what is measured." }, \
	{ .letter = 'D', .name = "buffered", .type = OPT_FLAG,                                     \
	  .offset = offsetof(cfg_type, member.buffered),                                           \
	  .help = "through the page cache (default: O_DIRECT)",                                    \
	  .more = "The end of a file that does not fill a block is always written through the "    \
		  "cache." }
/* clang-format on */

/*
 * The options, taken together, and what follows them (operand). Opens nothing and asks nobody. 0,
 * or a negative errno and a text.
 */
int session_parse(struct session_cfg *cfg, int n, char **operand, struct err *e);

/*
 * What then needs the machine: whether places are there, and can be written to; how to connect, for
 * which it may ask for a password. 0, or a negative errno and a text.
 */
int session_check(struct session_cfg *cfg, struct err *e);

/* Whether it works in a place whose calls can only be waited for. */
bool session_blocks(const struct session_cfg *cfg);

/*
 * Threads that drive so many clients, where nobody has said how many. own_max: where it blocks,
 * each client has its own up to so many, so that its calls are measured; 0: it has none.
 */
unsigned int session_threads(const struct session_cfg *cfg, unsigned int clients,
			     unsigned int own_max);

/* Whether a word names a place that needs no server, see store_is_local(): or a directory. */
bool session_is_place(const char *word);
/* Lines of usage: such places in the place of the command's server. */
void session_put_places(FILE *out, const char *command);

struct kind_found;
struct diagnose;

struct session {
	const struct session_cfg *cfg;
	bool whole;   /* set before: all of the server's sessions are watched, not only its own */
	bool gaps;    /* set meanwhile: its sessions were lost, and there are others */
	bool relayed; /* then: by our addresses the server does not know our connections */
	struct afp afp;
	struct afp_server server;
	struct store *store; /* of session_open_store, or a directory; NULL: none */
	struct run run;
	struct watch *watch;     /* NULL: nothing is watched */
	struct sampler *sampler; /* NULL: no time series */
	struct tracing *tracing; /* NULL: no trace */
	struct runs_folder folder;
	struct ledger before; /* of the region */
	struct kind_found
	    *found;            /* owned; the watched server; NULL: only its processes are known */
	struct diagnose *look; /* owned; around the regions, for what is said of the server */
	uint64_t ticked_ns;
	uint64_t placed_ns;          /* when the server of the directory was looked for */
	struct others_visits visits; /* sessions that clients have begun while they worked */
	struct others_list others;   /* as that began, where the whole server is watched */
	bool has_before;
	int schedstat; /* descriptor of this thread's; 0: not opened yet, or -errno */
	FILE *progress;
	enum afp_stage stage;
	uint8_t refused;                /* the AFP command that was refused last */
	char run_name[WARDEN_BASE_LEN]; /* for servers, and of its directories */
	struct warden *warden;          /* set before, by session_warden() */
	struct rights_own own;          /* while root works as the owner of the directory */
	struct warden_left *left;       /* its: directories that are still there */
};

/*
 * First, while the process has one thread: lets a warden end its sessions and remove its
 * directories if it is killed. 0 or -ENOMEM with a text; warden_close(s->warden) in any case, after
 * all else.
 */
int session_warden(struct session *s, struct err *e);
/*
 * How a session logs in of which the warden knows. Its own session of a workload with only that one
 * sends what netatalk's tool does, and nothing else.
 */
struct connect_cfg session_connect(const struct session *s);

/*
 * Connects, logs in, opens the volume, begins run and watch; or opens the directory and begins the
 * run. cfg and progress are set before.
 */
enum outcome session_open(struct session *s, const char *command, const char *set,
			  unsigned int window, struct err *e);

/*
 * The session's store, and the second volume (other of opts is set). Does nothing in a directory,
 * which is one.
 */
enum outcome session_open_store(struct session *s, struct store_afp_opts *opts, struct err *e);

/*
 * The directory name in the root of the store, to be removed whatever happens: s->left->base[0];
 * and its removal with all in it, in the same session. 0; LOAD_REFUSED or a negative errno with a
 * text.
 */
int session_make_base(struct session *s, const char *name, struct err *e);
int session_remove_base(struct session *s, struct err *e);

/*
 * Of a place of this machine: watches the server that has it, if it is of a known kind; where that
 * is not on this host the run says why. 0 or a negative errno with a text. At the end: warns of
 * processes of the server that began meanwhile.
 */
int session_place_watch(struct session *s, struct err *e);
void session_place_note_new(struct session *s);

/*
 * What is said of the server (session_look.c), in this order. session_look_find: the whole server
 * that a process belongs to, into s->found; 0, or a negative errno with a text, and it stays NULL.
 */
int session_look_find(struct session *s, pid_t pid, struct err *e);
void session_look_begin(struct session *s);
void session_look_after(struct session *s);
/* At most once a second, whoever calls it how often, while clients are at work. */
void session_look_tick(struct session *s, uint64_t now_ns);
int session_look_judge(struct session *s); /* 0 or -ENOMEM */
/*
 * Notes on which file system and disks the data is: that of the folder in which the process works
 * that serves our connection alone; 0: it is not known. 0 or -ENOMEM.
 */
int session_note_files(struct session *s, pid_t server);
void session_look_fini(struct session *s);

/*
 * While its session has nothing to do, at least every few seconds: the server ends one that is
 * silent.
 */
void session_keep_alive(struct session *s);

/*
 * Gives up the rights that work in this place does not need. In a directory of another user root
 * works as that user until own is returned; else they are given up for good. A server of a place
 * may accept only clients that have a port of root's. As rights_drop().
 */
int session_drop(struct rights_own *own, const char *place, unsigned int extra);

/*
 * The same for a session, of a server as well: done by session_open(). A process that has only
 * clients does it before they connect. Where root works as another user it is root again after
 * session_take_back().
 */
void session_give_up(struct session *s);
void session_take_back(struct session *s);

/* The counters before and after a timed region, into p: hooks of load.h. */
void session_region_begin(struct session *s, struct run_phase *p);
void session_region_end(struct session *s, struct run_phase *p);

/* Before the first timed region, after first use of the volume: finds the CNID server, samples. */
void session_ready(struct session *s);

/*
 * The workload has returned r (load.h): ends the watch, makes the cross-checks, and returns the
 * outcome. The text of a broken run is in e.
 */
enum outcome session_finish(struct session *s, int r, const struct err *e);

/* Saves the run and prints where it is; returns o or a worse outcome. */
enum outcome session_save(struct session *s, enum outcome o);

/*
 * Removes what is still there in a new session, or says what is left and how to remove it. Where
 * all sessions are watched, the server may be away for 10 s.
 */
void session_remove_left(struct session *s);

void session_close(struct session *s);

#endif
