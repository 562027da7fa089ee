/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_H
#define RUN_FIGURES_H

/*
 * Figures from which a diagnosis is made: numbers with a name, and for some of them whom they are
 * about. "Request time" is the time of all requests in the server, those under way at the end
 * included; "own time" is that without stops, waiting for a CPU, and logins. A figure that was not
 * measured is not known, and never 0.
 */

#include "run/figures_clients.h"
#include "run/figures_kinds.h"
#include "run/figures_machine.h"
#include "run/figures_rx.h"

#include <stdbool.h>

/* X(NAME, key, unit, meaning). unit: "share" (of 1), "ns", "1" (a count), "1/s", "B", "B/s" */
#define RUN_FIGURES(X)                                                                                           \
	X(ELAPSED, "elapsed", "ns", "how long the server was watched")                                           \
	X(UNCOUNTED, "uncounted", "1",                                                                           \
	  "losses: what happened and was not counted; who: the first kind")                                      \
	X(SESSIONS, "sessions", "1", "sessions with at least one request")                                       \
	X(PASSED_ON, "passed_on", "share",                                                                       \
	  "what a server that no library tells moved through pipes and other sockets, of what "                  \
	  "clients sent; who: it")                                                                               \
	X(REQUESTS, "requests", "1", "requests answered")                                                        \
	X(RATE, "rate", "1/s", "requests answered a second")                                                     \
	X(BUSY, "busy", "1", "requests in the server at a time, on average")                                     \
	X(MEAN, "mean", "ns", "mean time of a request in the server")                                            \
	X(MOSTLY, "mostly", "share",                                                                             \
	  "time of requests that were answered: of the command that took most of it; who: it")                   \
	X(MOSTLY_P50, "mostly_p50", "ns", "time of a request of that command, median")                           \
	X(MOSTLY_P99, "mostly_p99", "ns", "time of a request of that command, 99 % took at most")                \
	X(P50, "p50", "ns",                                                                                      \
	  "half of the requests, whatever they were, took so long: only for whether people notice")              \
	X(P99, "p99", "ns",                                                                                      \
	  "one request in 100, whatever it was, took so long: only for whether people notice")                   \
	X(LONGEST, "longest", "ns", "longest request that was answered; who: its command")                       \
	X(SLOW, "slow", "share", "request time in requests of 100 ms or more")                                   \
	X(SLOW_N, "slow_n", "1", "requests of 100 ms or more, and those without an answer yet")                  \
	X(STALLS, "stalls", "1",                                                                                 \
	  "requests that were answered after 100 ms or more; who: what such commands did most")                  \
	X(PENDING, "pending", "ns",                                                                              \
	  "time of requests that had no answer at the end; who: command")                                        \
	X(PENDING_N, "pending_n", "1", "requests that had no answer at the end")                                 \
	X(PENDING_SHARE, "pending_share", "share",                                                               \
	  "request time: these; who: the command of most, and what it waited for")                               \
	X(IN_SERVICE, "in_service", "1",                                                                         \
	  "requests without an answer at the end that were 1 s old or more; who: the oldest")                    \
	X(OLDEST, "oldest", "ns", "age of the oldest of these, at least; who: its command")                      \
	X(OWN, "own", "share", "request time: own time")                                                         \
	X(UNREAD, "unread", "ns",                                                                                \
	  "mean time that a request was unread while its {server} waited for a CPU")                             \
	X(UNREAD_SHARE, "unread_share", "share",                                                                 \
	  "request time and that before it is read: the time before it is read")                                 \
	X(CPU, "cpu", "share", "request time: the server on a CPU")                                              \
	X(ON_CPU, "on_cpu", "share",                                                                             \
	  "request time and that before it is read: the server or its backend on a CPU or waiting for one")      \
	X(WAIT_CPU, "wait_cpu", "share",                                                                         \
	  "request time and that before it is read: the server or its backend waiting for a CPU")                \
	X(RUNQ, "runq", "share", "request time: the serving process waiting for a CPU")                          \
	X(WAIT_DISK, "wait_disk", "share",                                                                       \
	  "request time: the server or its backend blocked on files and directories")                            \
	X(DISK, "disk", "share",                                                                                 \
	  "request time: the serving process blocked on files and directories; who: in fsync")                   \
	X(SYNC, "sync", "share", "request time: the server blocked in fsync")                                    \
	X(SYNC_RATE, "sync_rate", "1/s", "fsync calls of the server a second")                                   \
	X(SYNC_MEAN, "sync_mean", "ns", "mean of such a call")                                                   \
	X(OPEN, "open", "share", "request time: the server blocked in opening files")                            \
	X(LOCK, "lock", "share", "request time: the server blocked in file locks")                               \
	X(NET, "net", "share", "request time: the server blocked on a client's connection")                      \
	X(NET_WAIT, "net_wait", "share",                                                                         \
	  "of the request time, that of replies on their way, of round trips and of delayed "                    \
	  "acknowledgements: slow networks")                                                                     \
	X(TRIPS_WAIT, "trips_wait", "share", "of the same time: round trips")                                    \
	X(ACKS_WAIT, "acks_wait", "share", "of the same time: delayed acknowledgements")                         \
	X(OTHER, "other", "share",                                                                               \
	  "request time: the server asleep, or waiting for other processes")                                     \
	X(SLEEP, "sleep", "share",                                                                               \
	  "request time, without logins: in calls that wait for no descriptor, such as sleep")                   \
	X(NAMES, "names", "share",                                                                               \
	  "request time, without logins: at sockets of other programs; who: command")                            \
	X(UNEXPLAINED, "unexplained", "share", "request time that is in none of these")                          \
	X(STOPPED, "stopped", "share",                                                                           \
	  "paused by a signal, a debugger or a freezer: of watched time and sessions (or threads)")              \
	X(STOPPED_FOR, "stopped_for", "ns",                                                                      \
	  "the same as a time, all sessions (or threads) together")                                              \
	X(STOPPED_WAIT, "stopped_wait", "share",                                                                 \
	  "of the request time, and the time that sessions were paused between requests, the pauses")            \
	X(STOPPED_IDLE, "stopped_idle", "share",                                                                 \
	  "of the same time: pauses of sessions (or bricks) that may have been asked for nothing then")          \
	X(STOPS, "stops", "1",                                                                                   \
	  "how often a process of {server} was paused, in pauses that are over; who: when, which one last")      \
	X(STOPPED_NOW, "stopped_now", "1",                                                                       \
	  "processes of {server} that are paused by a signal, a debugger or a freezer; who: one")                \
	X(STOPPED_NOW_SHARE, "stopped_now_share", "share", "of the processes of {server}, these")                \
	X(TRACED, "traced", "1",                                                                                 \
	  "processes of {server} that are traced now, or were: if most stops came of it; who: by what")          \
	X(TRACED_NOW, "traced_now", "1",                                                                         \
	  "processes of {server} that are traced at the end of the watch")                                       \
	X(REPEATED_N, "repeated_n", "1", "how often the request that failed most often did")                     \
	X(REPEATED_OF, "repeated_of", "share", "of the requests of its command, these")                          \
	X(UNACCEPTED, "unaccepted", "1",                                                                         \
	  "connections that the server has not accepted for a second or more; who: why")                         \
	X(UNACCEPTED_FOR, "unaccepted_for", "ns", "since when there are such, at least")                         \
	X(UNACCEPTED_SHARE, "unaccepted_share", "share", "of these and the sessions, these")                     \
	X(LOCKED, "locked", "1", "requests refused because a volume is read-only; who: command")                 \
	X(LOCKED_SHARE, "locked_share", "share", "of the requests of these commands, these")                     \
	X(LOG, "log", "share", "own time: writing the log")                                                      \
	X(LOG_CALLS, "log_calls", "1", "calls on the log for each request")                                      \
	X(LOG_TIME, "log_time", "ns", "time of these calls")                                                     \
	X(XATTR, "xattr", "share", "own time: in calls on extended attributes")                                  \
	X(XATTR_MEAN, "xattr_mean", "ns", "mean of such a call")                                                 \
	X(META, "meta", "share", "own time: in calls on AppleDouble files")                                      \
	X(META_CALLS, "meta_calls", "1", "such calls for each request")                                          \
	X(LOGIN, "login", "ns",                                                                                  \
	  "mean wait of a login that succeeded, or age of the oldest without an answer, if longer")              \
	X(LOGIN_PENDING, "login_pending", "1", "logins that had no answer at the end")                           \
	X(LOGIN_MEAN, "login_mean", "ns",                                                                        \
	  "mean wait of logins that succeeded: they were not on a CPU, nor waited for one")                      \
	X(LOGIN_OLDEST, "login_oldest", "ns",                                                                    \
	  "age of the oldest login without an answer, at least")                                                 \
	X(LOGIN_WAIT, "login_wait", "share",                                                                     \
	  "request time: logins that waited, but not for a CPU; without those that were refused")                \
	X(LOGIN_LOAD, "login_load", "share",                                                                     \
	  "request time: all logins, also their wait for a CPU")                                                 \
	X(LOGIN_REFUSED, "login_refused", "1", "logins refused: a wrong password, most often")                   \
	X(SPOTLIGHT_WAIT, "spotlight_wait", "share",                                                             \
	  "request time: Spotlight queries that took 100 ms or more, or have no answer")                         \
	X(IDLE_WAKES, "idle_wakes", "1/s",                                                                       \
	  "waits a second that ended, of threads of sessions beside those that serve their clients")             \
	X(IDLE_CPU, "idle_cpu", "share",                                                                         \
	  "of the time of one CPU, by these threads, with what it costs to watch them")                          \
	X(LOGINS, "logins", "1/s", "logins a second")                                                            \
	X(SHORT_LIVED, "short_lived", "1/s",                                                                     \
	  "sessions a second that ended within 10 s; who: the last")                                             \
	X(NO_LOGIN, "no_login", "1",                                                                             \
	  "connections that have had no login for 2 s, and none goes on; who: one")                              \
	X(CNID, "cnid", "share", "request time: {server} waiting for its {backend} or database")                 \
	X(CNID_INSIDE, "cnid_inside", "share",                                                                   \
	  "request time: asleep until the {backend} answers; who: what that did meanwhile")                      \
	X(CNID_CPU, "cnid_cpu", "share", "request time: in that wait, {helper} on a CPU")                        \
	X(CNID_RUNQ, "cnid_runq", "share",                                                                       \
	  "request time: in that wait, {helper} waiting for a CPU")                                              \
	X(CNID_DISK, "cnid_disk", "share",                                                                       \
	  "request time: in that wait, {helper} in fsync or other I/O")                                          \
	X(CNID_LOCK, "cnid_lock", "share", "request time: waiting for a lock of the {database}")                 \
	X(CNID_STOPPED, "cnid_stopped", "share",                                                                 \
	  "request time: in that wait, a process of the {backend} paused")                                       \
	X(CNID_STOPS, "cnid_stops", "1",                                                                         \
	  "how often a process of the {backend} was paused, in pauses that are over; who: when, and which last") \
	X(CNID_MUTE, "cnid_mute", "share",                                                                       \
	  "request time: in that wait, no process of the {backend} was seen at work")                            \
	X(CNID_HELD, "cnid_held", "1",                                                                           \
	  "processes of the {backend} that are paused by a signal or a debugger; who: one")                      \
	X(CNID_DOWN, "cnid_down", "1",                                                                           \
	  "1: nobody listens where the server asks for {asked}s; 2: and its settings name it; who: where")       \
	X(CNID_FOLDER, "cnid_folder", "1",                                                                       \
	  "1: the {database}s cannot be written; who: where, and why")                                           \
	X(CNID_MYSQL, "cnid_mysql", "1", "1: a volume's {asked}s are in a database server")                      \
	X(CNID_ENDED, "cnid_ended", "1",                                                                         \
	  "processes of the {backend} that failed or were killed; who: how the last one ended")                  \
	X(CNID_HARM, "cnid_harm", "share", "the larger of: cnid_mute; volumes refused")                          \
	X(VOLUMES_REFUSED, "volumes_refused", "1",                                                               \
	  "requests to open a volume that were refused; who: command")                                           \
	X(VOLUMES_SHARE, "volumes_share", "share",                                                               \
	  "of the requests to open a volume, those refused")                                                     \
	X(CRASHED, "crashed", "1",                                                                               \
	  "sessions ended by a fault of their program; who: by which signal")                                    \
	X(CRASHED_SHARE, "crashed_share", "share",                                                               \
	  "of all sessions, these; who: the last one, by its log")                                               \
	X(KILLED, "killed", "1", "sessions ended by another signal; who: by which")                              \
	X(KILLED_SHARE, "killed_share", "share",                                                                 \
	  "of all sessions, these; who: the last one, by its log")                                               \
	X(SERVER_ENDED, "server_ended", "1", "1: the server's main process ended; who: it")                      \
	X(SERVER_RESTARTED, "server_restarted", "1",                                                             \
	  "1: another one has taken its place; who: it")                                                         \
	X(UNWATCHED, "unwatched", "1", "1: nothing looked into the server meanwhile; who: why")                  \
	X(PROGRAM_32BIT, "program_32bit", "1",                                                                   \
	  "1: the server is a 32-bit program on a 64-bit kernel: its calls cannot be decoded")                   \
	X(DISK_FULL, "disk_full", "1",                                                                           \
	  "requests refused: disk full; who: their most frequent command")                                       \
	X(DISK_FULL_SHARE, "disk_full_share", "share",                                                           \
	  "so many of the requests of the commands that were refused so")                                        \
	X(DENIED, "denied", "1",                                                                                 \
	  "requests refused: open elsewhere, or a range locked; who: command")                                   \
	X(DENIED_SHARE, "denied_share", "share",                                                                 \
	  "so many of the requests of the commands that were refused so; who: the session")                      \
	X(DENIED_RATE, "denied_rate", "1/s", "these refusals a second")                                          \
	X(LIST, "list", "share", "own time: listing folders")                                                    \
	X(LIST_REQUESTS, "list_requests", "1", "requests for the whole list of a folder")                        \
	X(LIST_TIME, "list_time", "ns", "time of these in the server")                                           \
	X(REPEATED, "repeated", "share",                                                                         \
	  "of all requests, those of one command that one error answered; who: both")                            \
	X(REPEATED_RATE, "repeated_rate", "1/s", "these a second")                                               \
	X(REPEATED_TIME, "repeated_time", "share", "request time: these")                                        \
	X(ASKED, "asked", "1",                                                                                   \
	  "questions to the {backend} about files and folders, in requests that change nothing")                 \
	X(ASKED_AGAIN, "asked_again", "share",                                                                   \
	  "of these, at least: those whose answer the session had and has forgotten; who: most")                 \
	X(ASKED_TIME, "asked_time", "share", "own time: waiting for the answers to these")                       \
	X(DIRCACHE, "dircache", "1",                                                                             \
	  "files and folders that a session remembers, by its settings")                                         \
	X(DIRCACHE_NEED, "dircache_need", "1",                                                                   \
	  "size with which nine of ten of these would not be asked again, at least")                             \
	X(DIRCACHE_BYTES, "dircache_bytes", "B", "memory of each session for so many")                           \
	X(BEHIND, "behind", "share",                                                                             \
	  "own time: entering files in the {database} in requests that change nothing")                          \
	X(CNID_WRITES, "cnid_writes", "1/s",                                                                     \
	  "writes to the {database} in such requests; who: their command")                                       \
	X(REFUSED, "refused", "1", "sessions refused: the server's limit was reached")                           \
	X(REFUSED_SHARE, "refused_share", "share",                                                               \
	  "of the clients that came or were there, these")                                                       \
	X(LIMIT, "limit", "1", "sessions that the server serves at a time, by its settings")                     \
	X(TOP_SESSION, "top_session", "share",                                                                   \
	  "the busiest session's share of all; who: its user")                                                   \
	X(TOP_BUSY, "top_busy", "share",                                                                         \
	  "watched time in which the busiest session had a request")                                             \
	RUN_FIGURES_MACHINE(X)                                                                                   \
	RUN_FIGURES_CLIENTS(X)                                                                                   \
	RUN_FIGURES_RX(X)                                                                                        \
	RUN_FIGURES_GLUSTER(X)                                                                                   \
	RUN_FIGURES_SMB(X)                                                                                       \
	RUN_FIGURES_NFS(X)

enum run_figure {
#define X(name, key, unit, meaning) RUN_FIGURE_##name,
	RUN_FIGURES(X)
#undef X
	    N_RUN_FIGURES
};

struct run_figure_def {
	const char *key, *unit, *meaning;
};

extern const struct run_figure_def run_figures[N_RUN_FIGURES];

/* By what a server is judged: figures of its sessions, of its calls, of its bricks, of its shares,
 * or of its exports. */
enum run_judged {
	RUN_JUDGED_SESSIONS,
	RUN_JUDGED_CALLS,
	RUN_JUDGED_BRICKS,
	RUN_JUDGED_SHARES,
	RUN_JUDGED_EXPORTS,
};

/* Whose figure it is; those of SESSIONS, where they are known, are also of the others. */
enum run_judged run_figure_of(enum run_figure which);

/*
 * The server's own names, for commands that are advised. X(NAME, key, otherwise, meaning);
 * otherwise: the word that stands where it is not known.
 */
#define RUN_NAMES(X)                                                                               \
	X(CONF, "conf", "AFP.CONF", "its settings, as a path on this machine")                     \
	X(SETTINGS, "settings", "afp.conf", "the same as the server calls it, and its container")  \
	X(UNIT, "unit", "UNIT", "the systemd unit of its main process")                            \
	X(PID, "pid", "PID", "its main process")                                                   \
	X(PORT, "port", "PORT", "the TCP port on which it listens")                                \
	X(KIND, "kind", "KIND", "its kind, for --kind; none of AFP's")                             \
	X(BACKEND, "backend", "the {backend}", "the program that gives {asked}s")                  \
	X(CNID_METAD, "cnid_metad", "PID", "the process that starts the {backend}")                \
	X(CACHE_KEY, "cache_key", "dircache size", "the setting of the size of sessions' caches")

enum run_name {
#define X(name, key, otherwise, meaning) RUN_NAME_##name,
	RUN_NAMES(X)
#undef X
	    RUN_N_NAMES
};

struct run_name_def {
	const char *key, *otherwise, *meaning;
};

extern const struct run_name_def run_names[RUN_N_NAMES];

#define RUN_NAME_MAX   512
#define RUN_FIGURE_WHO 160
struct run_figures {
	const struct run_kind *kind;          /* of the server; NULL: AFP's */
	char name[RUN_N_NAMES][RUN_NAME_MAX]; /* clean; empty: not known */
	bool known[N_RUN_FIGURES];
	double value[N_RUN_FIGURES];
	/* It may be more than value: of one that is not known, too, where so much of it is. */
	bool at_least[N_RUN_FIGURES];
	/* Cleaned; empty: about nobody. Of a figure that is not known: why, if that is known. */
	char who[N_RUN_FIGURES][RUN_FIGURE_WHO];
};

/* A share is kept within 0 and 1; at_least becomes false. */
void run_figure_set(struct run_figures *f, enum run_figure which, double value);
/* part / whole; not known where whole is 0. */
void run_figure_share(struct run_figures *f, enum run_figure which, double part, double whole);
/* A name of the server. One that does not fit, or cannot be shown as it is, is not known. */
void run_name_set(struct run_figures *f, enum run_name which, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Whom a figure is about. */
void run_figure_who(struct run_figures *f, enum run_figure which, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
