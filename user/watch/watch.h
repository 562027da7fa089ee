/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

/*
 * Watches the server's processes while a client loads it: running totals of what they did,
 * read at moments when the server is quiet. One rung is chosen at the start; what it is, and
 * why none higher, is part of the result. Never fails for lack of rights: then the rung is
 * "off" with a reason and every reading says "not measured".
 */

#include "base/err.h"
#include "bpf/paths.h"
#include "bpf/records.h"
#include "host/proc/procfs.h"
#include "run/ledger.h"
#include "run/run.h"

#include <sys/socket.h>

enum watch_mode {
	WATCH_AUTO, /* the highest rung that works here */
	WATCH_BPF,  /* exact counts or an error */
	WATCH_PROC, /* /proc/PID/io and schedstat, sampled at phase ends */
	WATCH_OFF,
};

/* Of --watch, for the manual. */
#define WATCH_MORE        "`bpf`: exact counts or an error; `proc`: what /proc/PID/io shows."

#define WATCH_CONNECTIONS 4096

/* How the requests of one client's connection went since the watch found it. */
struct watch_connection {
	uint32_t id;   /* not 0; of those that live different modulo WATCH_CONNECTIONS */
	pid_t pid;     /* who serves it */
	uint16_t port; /* the client's; 0: not known */
	bool ended;    /* no more will come */
	uint64_t requests, bytes_in, bytes_out;
	uint64_t errors;              /* answers that are none of account_normal_result */
	uint64_t busy_ns;             /* sum of the times of these requests */
	uint64_t handed;              /* requests whose parts are not known */
	uint64_t since_ns;            /* begin of the oldest request in service; 0: none */
	uint64_t n_service, begun_ns; /* how many are in service, and the sum of their begins */
	const __u64 *ns; /* busy_ns by part, enum account_column; less where requests were handed */
	const __u32 *hist; /* AFS_REQUEST_BUCKETS: how long each took */
	uint64_t denied;   /* of the answers: in use elsewhere, or locked */
	const struct afs_habit *habit;
	const struct afs_asking *asking; /* of who serves it; with AFS_TRACE_ASKED */
};

/* c, and what is in it, is valid during the call. */
typedef void watch_connection_fn(void *user, const struct watch_connection *c);

/* Receives records (bpf/records.h). what: bits AFS_TRACE_; 0: none are wanted. */
struct watch_sink {
	unsigned int what;
	uint64_t over_ns; /* requests and their names only if they took so long; 0: all */
	size_t ring_len;  /* bytes between kernel and reader; 0: 16 MiB */
	/*
	 * For a watch without an end: nothing is kept of sessions that have ended, and none
	 * has a label.
	 */
	bool totals_only;
	void *user;
	/* record: struct afs_record_* of the stream, enum afs_stream_number; names: afs_named;
	 * operations: afs_captured. */
	void (*put)(void *user, unsigned int stream, const void *record);
	/* With AFS_TRACE_LIVE: the last of a connection that has ended; from watch_tick. */
	watch_connection_fn *ended;
};

struct watch_opts {
	enum watch_mode mode;
	struct sockaddr_storage local, peer; /* the client's own TCP connection */
	/* Makes that differ from others through which as much went; NULL: nothing does. */
	void (*differ)(void *user);
	void *user;
	struct watch_sink sink;
};

struct watch;
struct target;

/* Like watch_open, for a chosen process or server. */
int watch_open_target(struct watch **out, enum watch_mode mode, const struct target *t,
		      struct err *e);
/* The same, with records; local and peer of opts are not used. */
int watch_open_traced(struct watch **out, const struct watch_opts *opts, const struct target *t,
		      struct err *e);

/* Who serves the connection, as target_find, which may be asked again. */
int watch_find(struct target *out, const struct watch_opts *opts, struct err *e);

/*
 * Finds who serves the connection and starts to count. 0, or a negative errno only when
 * opts->mode asks for a rung that is not available (WATCH_BPF) or without memory.
 */
int watch_open(struct watch **out, const struct watch_opts *opts, struct err *e);

/*
 * Looks again for the backends of the watched server, to which it may connect when a volume is
 * first used. Call when the server is idle and no phase is open: what they did before they were
 * found belongs to none. Cheap when they are known.
 */
void watch_find_backends(struct watch *w);

/* The limit of watch_settle, of one that is not known to be never quiet. */
#define WATCH_SETTLE_NS 2000000000u

/*
 * Waits until the server is quiet: every request of the client answered (the caller's duty),
 * every watched thread back in its idle wait. true when it is; false when the limit of 2 s
 * passed first, which is counted and becomes one warning. Each time in turn that it was not quiet
 * is a quarter as long as the one before: all together 2.7 s, and a millisecond for each phase.
 */
bool watch_settle(struct watch *w);

/*
 * Running totals since watch_open. Owned by the caller: ledger_fini. 0 or -ENOMEM. A call in
 * progress counts when it returns; its time until now is in its cell's ns already, so that the
 * difference of two readings includes exactly the waiting between them.
 */
int watch_read(struct watch *w, struct ledger *out);

/*
 * The same, read once and as it is: of a server that does not pause, where what one reading lacks
 * is in the next.
 */
int watch_glance(struct watch *w, struct ledger *out);

/*
 * Shortest and longest in later readings cover the time from here on. To be called just before the
 * reading at an interval's begin.
 */
void watch_span(struct watch *w);

/* Sampled figures of a role since watch_open; false: not measured. */
bool watch_times(struct watch *w, enum afs_role role, struct procfs_times *out);

/*
 * Reads the server's end of the client's connection: fills only value and known of out. The same on
 * every rung, and needs no rights. Takes a few microseconds with an idle server; while the server
 * sends or receives it may wait for milliseconds and cost the server switches: use it rarely, and
 * outside of timed regions if possible. false, out unchanged: the server's end is not on this host,
 * was closed, or cannot be read; or the watch is not of watch_open, or is WATCH_OFF.
 */
bool watch_tcp(struct watch *w, struct run_tcp *out);

/*
 * To be called about ten times a second while sessions come and go: finds what the programs in
 * the kernel cannot (backends, labels).
 */
void watch_tick(struct watch *w);

/*
 * Waits for a number of records, at most timeout_ms, and passes all present ones to the sink. To be
 * called continuously, by one thread, which need not be that of the other calls. 0; -ENOTSUP: this
 * rung makes none; another negative errno: no more will come.
 */
int watch_pull(struct watch *w, int timeout_ms);

/* Records of a stream that were lost for lack of room so far; any thread. */
uint64_t watch_pull_lost(const struct watch *w, unsigned int stream);

/*
 * Passes every request in service that began before before_ns (CLOCK_MONOTONIC): as its record
 * would be if it ended now, its result unknown; and its name as received, NULL: it has none.
 * Call it from the thread of watch_tick. Only for a sink with over_ns; nothing on other rungs.
 */
typedef void watch_running_fn(void *user, const struct afs_record_requests *r,
			      const struct afs_named *name);
void watch_running(struct watch *w, uint64_t before_ns, watch_running_fn *put, void *user);

/*
 * Passes every client's connection, with AFS_TRACE_LIVE; nothing on other rungs. A busy one may be
 * in the middle of counting a request: its totals never go backwards, and agree once it is idle.
 */
void watch_connections(struct watch *w, watch_connection_fn *put, void *user);

/*
 * Passes every client's connection, those that have ended included: its address as in run_session,
 * and how many of its requests were answered so far. Not of totals_only; nothing on other rungs.
 * false: of some that have ended only sums are kept, as they were too many.
 */
typedef void watch_client_fn(void *user, const char *address, uint64_t requests);
bool watch_clients(struct watch *w, watch_client_fn *put, void *user);

/*
 * Losses, warnings and refused sessions so far, into a run that has none of them yet. Again and
 * again; the watch goes on. 0 or -ENOMEM.
 */
int watch_losses(struct watch *w, struct run *r);

/* Of the clients' sessions now, and of the cross-checks of processes that have ended. */
struct watch_state {
	uint64_t sessions;
	bool has_checks;          /* they can be made on this rung */
	uint64_t agree, disagree; /* processes whose counts were compared with the kernel's own */
};

/* false: nothing is watched. */
bool watch_state(struct watch *w, struct watch_state *out);

/* Whether bytes of this process's clients were read: then the watch knows its requests. */
bool watch_follows(const struct watch *w, pid_t pid);

/*
 * The object for which the process that serves a client sleeps now; AFS_N_OBJECTS: it does not
 * sleep, or that is not known.
 */
enum afs_object watch_sleeps_on(const struct watch *w, pid_t pid);

/* How processes of a role have ended so far, as far as watch_tick has seen it. */
struct run_ends watch_ends(const struct watch *w, enum afs_role role);

/*
 * Time for which the server's threads were stopped by a debugger, or strace, so far: of all threads
 * together. 0 also if that is not seen (/proc).
 */
uint64_t watch_traced_ns(const struct watch *w);

/*
 * How often processes of a role were stopped by a signal, a debugger or a freezer, in stops that
 * are over, and the last n_kept of them, the oldest first. 0 also if that is not seen (/proc).
 */
#define WATCH_STOPS_KEPT 4
struct watch_stops {
	uint64_t n;
	size_t n_kept;
	struct watch_stop {
		uint64_t from_ns, to_ns;
		pid_t pid; /* of the process */
	} kept[WATCH_STOPS_KEPT];
};
struct watch_stops watch_stops(const struct watch *w, enum afs_role role);

/* Whether what sessions ask their backend is counted (struct afs_asking). */
bool watch_has_asking(const struct watch *w);

/* CPU time of the programs in the kernel so far, estimated; false: not known. */
bool watch_price(struct watch *w, uint64_t *out_ns);

/*
 * What is known of the session of a request, also if it has ended, by process and the client's TCP
 * port; of one that has read nothing since the watch began, by process alone. To be freed with
 * run_session_fini. false: nothing. From the thread of watch_tick.
 */
bool watch_session(struct watch *w, pid_t pid, uint16_t port, struct run_session *out);

/*
 * Datagrams that found no room in the socket with this inode, since it is known; false: it is not,
 * or nobody counts them.
 */
bool watch_drops(const struct watch *w, uint64_t ino, uint64_t *out);

/*
 * What a thread of the server does with clients' datagrams; NULL: nothing, or not known. at: to be
 * 0 at first; makes it fast for threads in their order.
 */
const char *watch_thread_role(const struct watch *w, pid_t tid, uint32_t *at);

/*
 * The port of the client's end of the connection that the server has, where that is not the
 * client's own, but that of what is in between; 0: it is.
 */
uint16_t watch_client_port(const struct watch *w);

/* What is watched, as of the last look. */
const struct target *watch_target(const struct watch *w);

/* Name of the rung taken; NULL: off. */
const char *watch_rung(const struct watch *w);

/*
 * The next living process of a role from place *at on, which is left behind it; 0: no more, or the
 * role is neither the server's nor a backend's. A process keeps its place, which none of another
 * role has; a new one may take that of one that has ended.
 */
pid_t watch_process(const struct watch *w, enum afs_role role, size_t *at);

/* Whether a living process is watched in this role. */
bool watch_has(const struct watch *w, pid_t pid, enum afs_role role);

/* Whether the process that was asked for, or any other watched one, still lives. */
bool watch_lives(struct watch *w);

/* NULL: something is watched. Otherwise why nothing is, valid as long as w. */
const char *watch_why_off(const struct watch *w);

/*
 * Stops counting, whatever the server does, and returns the time of the stop (base/clock.h). The
 * last reading comes after it; what is still in progress then counts up to that time.
 */
uint64_t watch_stop(struct watch *w);

/*
 * Ends the watch: compares with /proc, and writes rung, reasons, processes, placement, losses,
 * books and warnings into the run. The server must be idle (watch_settle). Call once, also after a
 * run that broke off (a process that has gone cannot be compared, which becomes a warning).
 */
int watch_finish(struct watch *w, struct run *r);

/* Detaches everything. NULL is allowed. */
void watch_free(struct watch *w);

#endif
