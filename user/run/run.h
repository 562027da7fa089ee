/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_RUN_H
#define RUN_RUN_H

/*
 * The one data model: a run has phases, a phase has metrics, histograms and a ledger.
 * Everything printed or saved is read from here, by the tables in run.c. A metric that was not
 * measured is absent, for a reason that the run has, and never 0.
 */

#include "base/clock.h"
#include "base/hist.h"
#include "run/figures.h"
#include "run/kind.h"
#include "run/ledger.h"
#include "run/load.h"
#include "run/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_SCHEMA 2

/*
 * Metrics of a phase, sums over its timed regions. X(name, key, unit, better, title, meaning)
 *
 * unit: "ns", "B" (bytes), "1" (a count), or another that is printed as it is. better: "lower" or
 * "higher", where compare and gate --time judge the metric; NULL: not judged, because counts are
 * compared exactly or neither direction is better. title: heads its column in the tables of tests,
 * in text and HTML; NULL: those tables show it in a form of their own, or not. All of this is in
 * run.json, from which the Python package takes it.
 */
#define RUN_METRICS(X)                                                                             \
	X(ELAPSED, "elapsed", "ns", "lower", NULL, "first request of the phase to its last reply") \
	X(OPS, "ops", "1", NULL, NULL, "AFP commands answered in the phase, errors included")      \
	X(ERRORS, "errors", "1", NULL, NULL,                                                       \
	  "of these, answered with an error the test did not expect")                              \
	X(BYTES, "bytes", "B", NULL, NULL, "file data acknowledged (written) or received (read)")  \
	X(TRIPS, "round_trips", "1", NULL, NULL,                                                   \
	  "longest chain of requests in which each waited for the answer to the one before")       \
	X(TRIP_TIME, "round_trip_time", "ns", NULL, NULL,                                          \
	  "least round-trip time that TCP has measured of the session, at the end")                \
	X(CLIENT_CPU, "client_cpu", "ns", NULL, NULL,                                              \
	  "user and system time of the thread that makes the requests")                            \
	X(CLIENT_RUNQ, "client_runq", "ns", NULL, NULL, "that thread runnable, waiting for a CPU") \
	X(CACHE_LOOKED, "cache_looked", "B", NULL, NULL,                                           \
	  "smallfile: bytes of some files, looked at before a load that reads")                    \
	X(CACHED, "cached", "B", NULL, NULL, "of these, in the client's page cache")               \
	X(RX_SENT, "rx_sent", "1", NULL, NULL, "rx: datagrams sent by the clients")                \
	X(RX_RECEIVED, "rx_received", "1", NULL, NULL, "rx: datagrams received")                   \
	X(RX_DATA_SENT, "rx_data_sent", "1", NULL, NULL,                                           \
	  "rx: DATA packets sent, resent ones included")                                           \
	X(RX_RESENT, "rx_resent", "1", NULL, NULL, "of these, sent again")                         \
	X(RX_DATA_RECEIVED, "rx_data_received", "1", NULL, NULL,                                   \
	  "rx: DATA packets received, duplicates included")                                        \
	X(RX_DUPLICATES, "rx_duplicates", "1", NULL, NULL, "of these, received again")             \
	X(RX_ACKS_SENT, "rx_acks_sent", "1", NULL, NULL, "rx: ACK packets sent")                   \
	X(RX_ACKS_RECEIVED, "rx_acks_received", "1", NULL, NULL, "rx: ACK packets received")       \
	X(RX_TIMEOUTS, "rx_timeouts", "1", NULL, NULL,                                             \
	  "rx: times that no answer came in time, and data was sent again")                        \
	X(RX_BUSY, "rx_busy", "1", NULL, NULL, "rx: BUSY packets received")                        \
	X(RX_RTT, "rx_rtt", "ns", NULL, NULL,                                                      \
	  "rx: mean time from a packet to the answer that names it")                               \
	X(RX_DROPS, "rx_drops", "1", NULL, NULL,                                                   \
	  "rx: datagrams dropped because a client's own socket buffer was full")                   \
	X(RX_BUFFER, "rx_buffer", "B", NULL, NULL,                                                 \
	  "rx: receive buffer of a client's socket, the least that was granted")                   \
	X(RX_NOT_COMPARED, "rx_not_compared", "1", NULL, NULL,                                     \
	  "rx: calls whose received bytes were not compared")                                      \
	X(AFPD_SYSCR, "afpd_syscr", "1", NULL, NULL, "{server}: what /proc/PID/io calls syscr")    \
	X(AFPD_SYSCW, "afpd_syscw", "1", NULL, NULL, "{server}: syscw")                            \
	X(AFPD_RCHAR, "afpd_rchar", "B", NULL, NULL, "{server}: rchar")                            \
	X(AFPD_WCHAR, "afpd_wchar", "B", NULL, NULL, "{server}: wchar")                            \
	X(CNID_SYSCR, "cnid_syscr", "1", NULL, NULL, "{helper}: syscr")                            \
	X(CNID_SYSCW, "cnid_syscw", "1", NULL, NULL, "{helper}: syscw")                            \
	X(CNID_RCHAR, "cnid_rchar", "B", NULL, NULL, "{helper}: rchar")                            \
	X(CNID_WCHAR, "cnid_wchar", "B", NULL, NULL, "{helper}: wchar")                            \
	X(AFPD_CALLS, "afpd_calls", "1", NULL, NULL, "{server}: system calls of every kind")       \
	X(AFPD_CALL_TIME, "afpd_call_time", "ns", NULL, NULL,                                      \
	  "{server}: time in calls other than waits")                                              \
	X(CNID_CALLS, "cnid_calls", "1", NULL, NULL, "{helper}: system calls of every kind")       \
	X(CNID_CALL_TIME, "cnid_call_time", "ns", NULL, NULL,                                      \
	  "{helper}: time in calls other than waits")                                              \
	X(AFPD_CPU, "afpd_cpu", "ns", NULL, NULL, "{server}: CPU time")                            \
	X(CNID_CPU, "cnid_cpu", "ns", NULL, NULL, "{helper}: CPU time")                            \
	X(AFPD_RUNQ, "afpd_runq", "ns", NULL, NULL, "{server}: runnable, waiting for a CPU")       \
	X(CNID_RUNQ, "cnid_runq", "ns", NULL, NULL, "{helper}: runnable, waiting for a CPU")

enum metric {
#define X(name, key, unit, better, title, meaning) METRIC_##name,
	RUN_METRICS(X)
#undef X
	    N_METRICS
};

struct metric_def {
	const char *key, *unit, *meaning;
	const char *better, *title; /* of metrics only, see above; NULL: neither, none */
};

extern const struct metric_def run_metrics[N_METRICS];

/* One AFP command of one phase. */
struct run_command {
	uint8_t code;        /* AFP command number */
	const char *name;    /* static; "FPOpenFork" */
	uint64_t errors;     /* answers other than success, expected or not */
	struct hist latency; /* ns, request sent to last byte of the reply */
};

/*
 * The state of one end of a TCP connection: TCP_INFO of linux/tcp.h and socket options.
 * X(NAME, key, unit, meaning); a total counts since the connection began.
 */
#define RUN_TCP(X)                                                                                 \
	X(SNDBUF, "sndbuf", "B", "SO_SNDBUF")                                                      \
	X(RCVBUF, "rcvbuf", "B", "SO_RCVBUF")                                                      \
	X(MSS, "mss", "B", "TCP_MAXSEG")                                                           \
	X(CWND, "cwnd", "segments", "congestion window")                                           \
	X(SSTHRESH, "ssthresh", "segments", "slow start threshold")                                \
	X(RTT, "rtt", "us", "smoothed round-trip time")                                            \
	X(RTT_VAR, "rttvar", "us", "its mean deviation")                                           \
	X(MIN_RTT, "min_rtt", "us", "least round-trip time of the last minutes")                   \
	X(RETRANS, "retrans", "segments", "retransmitted and not acknowledged now")                \
	X(RETRANS_TOTAL, "retrans_total", "segments", "retransmitted, total")                      \
	X(LOST, "lost", "segments", "considered lost now")                                         \
	X(REORDERING, "reordering", "segments", "reordering metric")                               \
	X(SND_MSS, "snd_mss", "B", "segment size when sending")                                    \
	X(RCV_MSS, "rcv_mss", "B", "segment size seen when receiving")                             \
	X(ADV_MSS, "adv_mss", "B", "segment size announced to the other end")                      \
	X(RCV_SPACE, "rcv_space", "B", "receive window's tuning")                                  \
	X(DELIVERY_RATE, "delivery_rate", "B/s", "most recent rate of delivery")                   \
	X(BYTES_ACKED, "bytes_acked", "B", "sent and acknowledged, total")                         \
	X(BYTES_RECEIVED, "bytes_received", "B", "received, total")                                \
	X(SEGS_OUT, "segs_out", "segments", "sent, total")                                         \
	X(SEGS_IN, "segs_in", "segments", "received, total")                                       \
	X(BUSY, "busy", "us", "time with data to send, total")                                     \
	X(RWND_LIMITED, "rwnd_limited", "us", "of it held up by the receiver's window, total")     \
	X(SNDBUF_LIMITED, "sndbuf_limited", "us", "of it held up by the own send buffer, total")   \
	X(UNSENT, "unsent", "B", "written by the program and not sent yet")                        \
	X(QUEUE, "queue", "B", "written by the program and not acknowledged yet")                  \
	X(UNREAD, "unread", "B", "received and not read by the program yet")

enum run_tcp_value {
#define X(name, key, unit, meaning) TCP_##name,
	RUN_TCP(X)
#undef X
	    N_TCP
};

extern const struct metric_def run_tcp_values[N_TCP];

enum run_tcp_end { TCP_CLIENT, TCP_SERVER };
enum run_tcp_when { TCP_BEFORE, TCP_DURING, TCP_AFTER };

/* One look at one end. */
struct run_tcp {
	enum run_tcp_end end;
	enum run_tcp_when when;
	uint64_t t_ns; /* CLOCK_MONOTONIC */
	bool known[N_TCP];
	uint64_t value[N_TCP];
};

/* One iteration of a transfer. */
struct run_sample {
	unsigned int iteration;            /* from 1, warm-ups and measured ones apart */
	bool warmup, complete;             /* counts when neither a warm-up nor incomplete */
	uint64_t ns, client_cpu_ns, bytes; /* CPU: only of measured ones; bytes: file data moved */
};

/*
 * A phase that moves a file of one size again and again (speedtest). Its metrics, commands and
 * ledger are sums over the timed regions of the measured iterations that are complete.
 */
struct run_transfer {
	const char *work;      /* static: "Read", "Write", "Copy", "ServerCopy" */
	uint64_t size;         /* file, bytes */
	uint64_t moved;        /* bytes that count as moved in one iteration, for MB/s */
	uint64_t requests;     /* data requests of one iteration; 0: the server copies by itself */
	size_t chunk;          /* bytes of a data request, the last may be less; 0 likewise */
	unsigned int window;   /* most requests in flight */
	bool dropped;          /* what was read was dropped by the client's kernel */
	bool sparse, own_file; /* source made by setting its length; made by the test */
	size_t n_samples, n_tcp;
	struct run_sample *sample; /* owned, in order of time */
	struct run_tcp *tcp;       /* owned */
	uint64_t null_ns;          /* median of the same against the null peer; 0: not measured */
	unsigned int null_n;       /* iterations of it */
};

struct run_phase {
	unsigned int test, iteration; /* both from 1 */
	const char *title;            /* static, or transfer_title */
	uint64_t start_ns;            /* CLOCK_MONOTONIC */
	bool complete; /* false: it broke off, its numbers are partial; a transfer has none */
	bool known[N_METRICS], begun[N_METRICS];
	uint64_t value[N_METRICS];
	uint64_t before[N_METRICS]; /* of those begun: what was read then */
	size_t n_commands, n_spare;
	struct run_command **command; /* owned, in order of first use; then n_spare to be used */
	struct ledger ledger;
	struct run_transfer *transfer; /* owned; NULL: not a transfer */
	struct run_load *load;         /* owned; NULL: not a load of many clients */
	struct run_replay *replay;     /* owned; NULL: no requests of a recording */
	struct run_load *probe;        /* owned; NULL: no probe beside it */
	struct run_timeline *timeline; /* owned; NULL: what was done in time is not known */
	char *transfer_title;          /* owned; "Write 64 KiB" */
	/* Of a whole server: requests answered on our connections and on those of other clients. */
	struct {
		bool known;
		bool partial; /* some connections that have ended are in neither */
		uint64_t ours, others_requests;
		uint64_t greeted; /* of ours: answers to DSIOpenSession, which are no command */
		uint64_t others;  /* connections of other clients that made these */
	} clients;
};

/* A line of text about the run. */
struct run_note {
	char *key, *text; /* owned; key may be NULL */
};

struct run_notes {
	size_t n;
	struct run_note *note;
};

/* An account compared with an independent one. */
struct run_book {
	char *name;       /* owned; account and counter: "afpd 4711 syscr" */
	const char *with; /* static; the other account: "/proc/PID/io" */
	uint64_t ours, theirs;
	bool has_theirs; /* false: the other account is no longer available */
	bool closed;
};

/* Something that was missed. Always a number. */
struct run_loss {
	char *what; /* owned */
	uint64_t n;
};

#define RUN_VOLUMES 4

/* What the kernel knows of the server's end of a connection, of a time. */
struct run_session_tcp {
	bool known;
	uint64_t rtt_ns, min_rtt_ns;      /* smoothed, at the end; least */
	uint64_t segments, retransmitted; /* sent; of these, sent again */
	uint64_t acked, received;         /* bytes to the client and from it */
	uint64_t busy_ns;                 /* in which something was not acknowledged, all in all */
	uint64_t window_ns, still_ns;     /* of it: the client took no replies; longest: nothing */
	uint64_t buffer_ns;               /* of it: the server could write no more */
	uint64_t rate;                    /* bytes a second, as TCP measured last; 0: it has not */
	/* At the looks, once a second, in bytes: not acknowledged; of it not sent; not read. */
	uint64_t n_looks;
	uint64_t queue_mean, queue_max, unsent_mean, unsent_max, unread_max;
};

/* A session of the server: one client's connection and the process that serves it. */
struct run_session {
	pid_t pid;
	char *user, *address; /* owned; NULL: not known; several users: "a, b" */
	uint16_t dialect;     /* of SMB: 0x0311; 0: not seen, or another protocol */
	size_t n_volumes;
	char *volume[RUN_VOLUMES];           /* owned */
	uint64_t more_volumes;               /* how often other volumes were opened */
	const char *user_from, *volume_from; /* static: how it is known; NULL: not known */
	uint64_t begun_ns, ended_ns;         /* CLOCK_MONOTONIC; 0: before the watch, not yet */
	uint64_t requests, calls; /* answered, also DSIOpenSession; calls of its process */
	uint64_t denied;          /* of the requests: in use elsewhere, or locked */
	bool shared;              /* which serves others, too: its calls are theirs */
	uint64_t busy_ns;         /* with a request in service */
	uint64_t bytes_in, bytes_out;
	struct afs_habit habit; /* of a kind that answers in order */
	struct afs_asking asking;
	struct run_session_tcp tcp;
	bool stopped; /* by a signal or a debugger, at the end */
	bool has_cpu;
	uint64_t cpu_ns, runq_ns; /* of its process's first thread, in the watched time */
};

/*
 * How processes of one role have ended in the watched time; of a server only those that served
 * clients. known: the kernel's programs have seen it.
 */
struct run_ends {
	bool known;
	uint64_t clean;   /* exit status 0 */
	uint64_t failed;  /* another exit status */
	uint64_t crashed; /* by a signal that a fault of the program makes: SIGSEGV, SIGABRT, ... */
	uint64_t killed;  /* by another signal */
	pid_t pid;        /* the last of those that did not end clean; 0: none did */
	int signal, status; /* of that one; signal 0: it exited with the status */
};

/*
 * A request that had no answer when the watch ended. One that began before the watch is known by
 * what its session waits for: its command is not, and it is at least so old.
 */
struct run_service {
	pid_t pid;
	uint16_t port;    /* the client's own; 0: not known */
	char address[64]; /* of the client, with its port; empty: not known */
	char user[64];    /* empty: not known */
	bool before;      /* it began before the watch */
	uint16_t account; /* its command; AFS_ACCOUNT_BETWEEN: not known */
	uint8_t column;   /* enum account_column: what it waits for now */
	bool pauses;      /* it sleeps without a descriptor */
	bool naps;        /* it waits for nothing but that some time passes */
	char on[64];      /* the same in words, where more is known: "select on the CNID server" */
	uint64_t age_ns;
};

/* Connections that no process had accepted when the watch ended. */
struct run_unaccepted {
	bool known;
	uint64_t n;
	uint64_t since_ns; /* there have been such, in all looks since then; 0: there are none */
};

/* Name for the command of a request that began before the watch. */
#define RUN_SERVICE_EARLIER "(began earlier)"

/* Name for the time of threads that ended between two looks: the exact sum less what was sampled.
 */
#define RUN_THREADS_MISSED "(ended between looks)"

/* Threads of one name, whose digits are replaced: "glfs_epoll*". */
struct run_threads {
	char name[32];
	unsigned int n;           /* different threads; 0: not known, RUN_THREADS_MISSED */
	uint64_t cpu_ns, runq_ns; /* sampled */
	uint64_t busiest_ns, busiest_cpu_ns; /* of the thread with the largest sum of both */
	unsigned int processes, fewest; /* that have such at the end; so many has one of these */
	unsigned int looks, locked;     /* at who receives; those that found it asleep in a lock */
};

/* A socket of the server on which datagrams come. */
#define RUN_SOCKET_POINTS 600

struct run_socket_point {
	uint64_t t_ns;  /* since the first look */
	uint64_t queue; /* the kernel's memory of what waits to be read, bytes: the largest seen */
	uint64_t drops; /* datagrams since the first look */
};

struct run_socket {
	pid_t pid;
	uint16_t port;
	uint64_t buffer; /* most that may wait, bytes of the kernel's memory; 0: not known */
	uint64_t
	    buffer_max; /* that a program may ask for: net.core.rmem_max, bytes; 0: not known */
	uint64_t queue_max;
	uint64_t drops; /* datagrams that found no room, as /proc says */
	bool has_seen;
	uint64_t seen;             /* the same, as the programs have counted them */
	unsigned int looks, every; /* how often; how many are a point */
	size_t n;
	struct run_socket_point *point; /* owned */
};

/*
 * Calls that wait for a thread, as a server over Rx says when it is asked, ten times a second: the
 * one of which calls waited most often.
 */
struct run_waiting {
	unsigned int asked, answered; /* questions; asked 0: none was asked */
	unsigned int n_short;         /* answers: calls wait, and no thread is idle */
	uint64_t waiting_sum;         /* calls that wait, over the answers */
	uint32_t waiting_max, idle_min;
	uint64_t waited; /* calls that began to wait between the first and the last answer */
};

/* One figure of a time series. */
struct run_series_value {
	const char *key, *unit; /* static; a running total since the series began */
	char *why;              /* owned; why it was not measured; NULL: measured */
};

/* Repeated readings of one process. */
struct run_series {
	pid_t pid;
	const char *role;               /* static */
	bool ended;                     /* the process did, after the last point */
	unsigned int n_threads;         /* that ended: not observed since their last reading */
	uint64_t start_ns;              /* CLOCK_MONOTONIC: the first point */
	size_t n_values, n;             /* figures; points */
	struct run_series_value *value; /* owned */
	uint64_t *t_ns;                 /* owned; of each point, since start_ns */
	uint64_t *point;                /* owned; n rows of n_values */
};

/*
 * What a run is about: which tables and sentences it has (report/about.h). X(NAME, name): its name
 * in run.json.
 */
#define RUN_ABOUTS(X)                                                                              \
	X(FILES, files)   /* what a load's clients did with files */                               \
	X(CALLS, calls)   /* their calls over Rx */                                                \
	X(SERVER, server) /* a server, whoever its clients are */                                  \
	X(FAULTS, faults) /* what ails or limits it */

enum run_about {
#define X(NAME, name) RUN_ABOUT_##NAME,
	RUN_ABOUTS(X)
#undef X
};

struct run {
	char id[17];                  /* 16 hex digits */
	const char *command;          /* static: "lantest" */
	const char *set;              /* static: "lantest-4.5" */
	const struct run_kind *kind;  /* static; NULL: AFP */
	char started[CLOCK_WALL_MAX]; /* wall clock */
	enum run_about about;
	bool complete; /* false: it broke off; what was measured is here */
	struct run_notes environment, server, options, rungs, warnings;
	struct run_notes labels; /* that the user gave it, by key */
	/* why a metric is absent: key = metric key, or "*" for all server metrics */
	struct run_notes absent;
	size_t n_books, n_losses, n_phases, n_sessions, n_series;
	struct run_book *book;
	struct run_loss *loss;
	struct run_session *session;
	bool has_asking;  /* the sessions' questions were counted */
	uint64_t refused; /* sessions that the server refused: it had as many as it may */
	struct run_unaccepted unaccepted;
	struct run_ends ends[AFS_N_ROLES];
	bool has_service; /* requests in service at the end are known, also those from before */
	size_t n_service;
	struct run_service *service; /* owned, the oldest first */
	/* Its main process ended while it was watched, and the watch with it. */
	struct {
		uint64_t ended_ns;   /* CLOCK_MONOTONIC, to 0.1 s; 0: it lives, or is not known */
		pid_t restarted_pid; /* that listened on its port soon after; 0: none was seen */
	} server_end;
	/* Settings of the server; 0: not known. */
	struct {
		uint64_t sessions, workers; /* that it serves, and that work, at a time */
		uint64_t cached;            /* files and folders that a session remembers */
		const char *cached_key;     /* the setting that says so, static; NULL: not known */
		bool tells, changed; /* it answers a client too many; changed after it began */
	} limit;
	/* Settings of a server of SMB: of how many shares. */
	struct {
		bool known;
		uint64_t all, folded, acls; /* names whatever their case; ACLs beside the files */
	} shares;
	struct run_figures *figures; /* owned; NULL: no diagnosis */
	uint64_t n_rest, rest_ns;    /* sessions not listed, the least busy; their lives, sum */
	struct run_session rest;     /* their sum; no texts or times; of habit: upload_ns */
	struct run_series *series;
	size_t n_threads;
	struct run_threads *threads; /* owned, most CPU time first; of kinds without requests */
	size_t n_sockets;
	struct run_socket *socket; /* owned; of kinds whose clients send datagrams */
	struct run_waiting waiting;
	struct run_phase **phase; /* owned; pointers stay valid while the run lives */
};

/*
 * All of these return 0 or -ENOMEM where they return int; texts are copied. run_init draws an
 * id and notes the wall clock and the machine (kernel, CPUs, host name) in environment.
 */
int run_init(struct run *r, const char *command, const char *set);
void run_fini(struct run *r);

int run_note(struct run_notes *to, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *run_note_find(const struct run_notes *in, const char *key); /* NULL: not found */
uint64_t run_note_number(const struct run_notes *in, const char *key);  /* 0: none, or not found */
void run_notes_fini(struct run_notes *notes);

/* Notes one reason for all metrics of a role (server, backend; AFS_N_ROLES: of all) whose key
 * contains "part" and that have none yet. */
int run_absent(struct run *r, unsigned int role, const char *part, const char *why);

/*
 * Keys of notes in "rungs" on what watching cost, which are not listed among the layers: the price
 * of a call in the kernel's programs as a sentence; and as numbers, in ns: their CPU time, that of
 * this program if it did nothing but watch (all threads, and processes of its own that ended), and
 * how long was watched.
 */
#define RUNGS_PRICE      "price"
#define RUNGS_PRICE_NS   "price_ns"
#define RUNGS_OWN_NS     "own_ns"
#define RUNGS_WATCHED_NS "watched_ns"

/* Note in "server": the program of a backend that is not the kind's own, such as MariaDB's. */
#define RUN_BACKEND_PROGRAM "cnid.program"
/* Notes in "server": settings of a server of SMB, of AFP, or why they are not known. */
#define RUN_SMB_CONF "smb.conf"
#define RUN_NFS_CONF "ganesha.conf"
#define RUN_AFP_CONF "afp.conf"
/* Note in "server": how many clients that are not ours it had, and their requests. */
#define RUN_OTHERS "other_clients"
int run_book(struct run *r, const char *name, const char *with, uint64_t ours, uint64_t theirs);
/* A book that is not closed because the other account is not available. */
int run_book_open(struct run *r, const char *name, const char *with, uint64_t ours);
int run_loss(struct run *r, const char *what, uint64_t n);

/* A request in service, all unknown; valid until the next one is made. NULL without memory. */
struct run_service *run_service(struct run *r);

/* A new session, all unknown; valid until the next one is made. NULL without memory. */
struct run_session *run_session(struct run *r);
/* A version of SMB as people write it: 0x0302 is "3.0.2". */
#define RUN_DIALECT_MAX 16
const char *run_dialect(uint16_t dialect, char out[static RUN_DIALECT_MAX]);
/* Frees what it owns; of one that is not in a run. */
void run_session_fini(struct run_session *s);

/*
 * A new series with room for this many figures (at least 1) and points, all 0; valid until the next
 * one is made. NULL without memory.
 */
struct run_series *run_series(struct run *r, size_t n_values, size_t n);

/* A new phase, owned by the run; NULL without memory. */
struct run_phase *run_phase(struct run *r, unsigned int test, unsigned int iteration,
			    const char *title);
/* The same for a transfer, whose test is the n-th pair of work and size: "Write", 65536. */
struct run_phase *run_transfer(struct run *r, unsigned int test, const char *work, uint64_t size);
/* One more of each, all 0; valid until the next one is made. NULL without memory. */
struct run_sample *run_sample(struct run_transfer *t);
struct run_tcp *run_tcp(struct run_transfer *t, enum run_tcp_end end, enum run_tcp_when when);
void run_set(struct run_phase *p, enum metric m, uint64_t value);
/* "64 KiB", the largest unit of 1024 that leaves no rest: "4194 B". */
#define RUN_SIZE_MAX 32
char *run_size(uint64_t bytes, char out[static RUN_SIZE_MAX]);
/* Adds to what is there; a first value sets it. */
void run_add(struct run_phase *p, enum metric m, uint64_t value);
/*
 * A metric that is the difference of two readings of a counter, before and after a timed region:
 * the end adds it. An end without a begin, or the second one, adds nothing.
 */
void run_begin(struct run_phase *p, enum metric m, uint64_t reading);
void run_end(struct run_phase *p, enum metric m, uint64_t reading);
/* The phase's account of an AFP command, made at the first use; NULL without memory. */
struct run_command *run_command(struct run_phase *p, uint8_t code, const char *name);

/*
 * Reserves room for n more commands in all: run_command() does not allocate until it is used up.
 * run_spare_commands() discards the commands but keeps their memory as such room;
 * run_trim_commands() frees it. 0 or -ENOMEM.
 */
int run_reserve_commands(struct run_phase *p, size_t n);
void run_spare_commands(struct run_phase *p);
void run_trim_commands(struct run_phase *p);

/* Adds one phase's commands, their latencies and errors, to another's. 0 or -ENOMEM. */
int run_add_commands(struct run_phase *to, const struct run_phase *from);
/* Frees the commands of a phase, and the room for more. */
void run_clear_commands(struct run_phase *p);

/* Fills the metrics of what the phase's clients did, from its load and commands. */
void run_phase_from_load(struct run_phase *p);

/* Fills the afpd_* and cnid_* call metrics from the phase's ledger; n/a where that has none. */
void run_phase_from_ledger(struct run_phase *p);

/*
 * CPU time and run queue of whole servers, whose processes come and go: the sum over the ledger's
 * accounts. Where it has none the reason is noted in r.
 */
void run_phase_times(struct run *r, struct run_phase *p);

/* Adds a warning if a total went backwards, so that diff = after - before became n/a. */
void run_warn_withdrawn(struct run *r, const char *title, const struct ledger *before,
			const struct ledger *after, const struct ledger *diff);

/*
 * Compares the client's commands with the server's requests, over all phases that have both: one
 * book for all if every command agrees, else one for each that does not. Where other clients made
 * requests, of which the server's commands are the sum, too: all requests on our connections; and a
 * note in "server" on the others. 0 or -ENOMEM.
 */
int run_close_requests(struct run *r);

bool run_books_closed(const struct run *r);
uint64_t run_losses(const struct run *r); /* sum */

/* The complete phases of one test, and statistics of one metric over them. */
struct run_stat {
	size_t n;            /* phases in which the metric is known */
	double mean, stddev; /* sample standard deviation (n - 1); 0 when n < 2 */
	double min, max;
};

struct run_stat run_stat(const struct run *r, unsigned int test, enum metric m);

/* Latency of all commands (code < 0) or of one, merged over a test's complete phases (test 0:
 * all tests). */
void run_latency(const struct run *r, unsigned int test, int code, struct hist *out);

#endif
