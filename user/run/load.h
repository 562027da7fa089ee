/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_LOAD_H
#define RUN_LOAD_H

/*
 * A phase in which many clients load a server (load, sweep, probe): what they did, and how long
 * their actions took. Its AFP commands are in the phase's own accounts.
 */

#include "base/hist.h"
#include "run/progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a second's latencies: 8 buckets an octave. */
#define RUN_SECOND_BITS 3

/*
 * Round trips of a user's actions, and the time to expect of an action at another round-trip time.
 *
 * The round trips of an action are the longest chain of its requests in which each was given to the
 * session after the answer to the one before it had been taken. A request that is sent when none is
 * in flight begins one; those sent while another is in flight share its round trip. So a file of n
 * requests with w of them in flight has n/w, rounded up. They are counted by the order of requests
 * and answers in the client, not by its clock: they are the same however fast the server is.
 */

/* Kinds of requests of an action that are told apart; others are in no list. */
#define RUN_TOGETHER_MAX 8

/* Requests of one command that needed no answer of those just before them, and waited for one. */
struct run_together {
	uint8_t command;
	const char *what; /* static: "FPCloseFork"; NULL: this row is free */
	uint64_t n;
};

/* Of all actions of a kind that are in its latencies. */
struct run_trips {
	uint64_t n, requests; /* actions; their requests */
	uint64_t sum, most;   /* round trips: of all; of the action that had most */
	uint64_t bytes;       /* file data moved */
	uint64_t n_least;     /* actions of which it is known how few would do: */
	uint64_t least;       /* their sum, if requests that need nothing of each other had been in
				 flight together, however many */
	uint64_t least_of;    /* round trips that these same actions had */
	struct run_together together[RUN_TOGETHER_MAX];
};

void run_trips_add(struct run_trips *to, const struct run_trips *from);
void run_trips_note(struct run_trips *to, uint8_t command, const char *what, uint64_t n);

/* Of one action, on average; 0: there was none. */
double run_trips_mean(const struct run_trips *t);

/*
 * ns that an action would take at a round-trip time of rtt_ns: what it took here (took_ns) less its
 * round trips of rtt_here_ns, but not less than nothing, and as many of rtt_ns.
 */
double run_trips_at(double took_ns, double trips, double rtt_here_ns, double rtt_ns);

/*
 * Whether more data goes one way in a round trip than TCP sends at once after a pause (ten segments
 * of Ethernet): then a longer round-trip time may take more of them.
 */
bool run_trips_fill(const struct run_trips *t);

/* The share of an action's time that its round trips explain, at most 1. */
double run_trips_share(double took_ns, double trips, double rtt_here_ns);

#define RUN_RTTS_MAX 6
#define RUN_RTTS     "0.2,5,20,100" /* ms */
#define TRIPS_OPTION "rtt_ms"       /* note in the run's options: others that were asked for */

struct run_rtts {
	size_t n;
	double ns[RUN_RTTS_MAX];
};

/* "0.2,5,20": ms, above 0 and at most 60,000. 0 or -EINVAL; NULL: RUN_RTTS. */
int run_rtts_parse(struct run_rtts *out, const char *text);

/* What one kind of action of the users took, such as "save". */
struct run_action {
	const char *name; /* static */
	/*
	 * Those that failed included: of an open loop those that were due in the measured time and
	 * ended, whenever that was; of a closed one those that ended in it, whenever they began.
	 */
	uint64_t n;
	uint64_t failed; /* of them: the server's answer was not the one needed */
	/* ns, to the end; of those that did not fail */
	struct hist planned; /* from when it was to begin */
	struct hist begun;   /* from when it did */
	/* Of a session over the network; n is 0 where there is none, or it does not show. Also of
	 * those that did not fail. */
	struct run_trips trips;
};

/* A second of a phase, by when its actions ended; of a long one several together. */
struct run_second {
	uint32_t n, failed;
	uint32_t dropped;        /* in it; they are not in n */
	uint64_t bytes;          /* of those that did not fail */
	uint64_t sum_ns, max_ns; /* latencies from the planned start; of those that did not fail */
	uint32_t bucket[HIST_BUCKETS(RUN_SECOND_BITS)]; /* hist_index() */
	/*
	 * Of these, in an open loop, those that were not due in the measured time, and so are in
	 * nothing but seconds; and their latencies. Only while the load works.
	 */
	uint32_t astray;
	uint64_t astray_ns;
};

/* A part of the measured time in which the rate of an open loop changes evenly, or the number of
 * clients of a closed one. */
struct run_stage {
	double from_s, to_s;         /* since measure_ns */
	double from_per_s, to_per_s; /* actions a second that were asked for; or clients */
	uint64_t n_planned;          /* arrivals in it; of clients 0 */
	struct run_action done;      /* of them; of clients those that ended in it */
};

/*
 * Rows of a phase's seconds, at most. When they are too few, each becomes of twice as many seconds:
 * a load may last as long as it likes, in constant memory.
 */
#define RUN_SECONDS_MAX 7200

/* A time without a session, of a probe that then got another one. */
#define RUN_GAPS_MAX 1000
struct run_gap {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to_ns 0: there was none until the end */
	char why[256];
};

/* "[address]:port", with brackets only in IPv6. */
#define RUN_ADDRESS_LEN 64

/* One client. */
struct run_client {
	uint64_t actions, failed;
	uint64_t bytes;    /* of requests answered in the measured time; not of failed actions */
	uint64_t first_ns; /* its first action's begin, CLOCK_MONOTONIC; 0: none, or not known */
	uint64_t last_ns;  /* its last action's end, from begin_ns; 0: none */
	uint64_t sum_ns, max_ns; /* latencies from the planned start; of those that did not fail */
	uint64_t outlasting_ns;  /* of n_outlasting: how long its own took; 0: it has none */
	/* latencies from the real start; 0: not known, it shared its thread */
	uint64_t begun_p50_ns, begun_p99_ns, begun_max_ns;
	bool opened, lost;             /* it had a session or got one; it lost it */
	char address[RUN_ADDRESS_LEN]; /* its end of the connection; "": it had none */
};

/* A limit that was asked for (--slo), and whether the load kept it. */
enum run_slo_unit { RUN_SLO_NS, RUN_SLO_PER_S, RUN_SLO_SHARE, RUN_SLO_COUNT };
enum run_slo_verdict {
	RUN_SLO_KEPT,
	RUN_SLO_BROKEN, /* beyond doubt */
	RUN_SLO_UNSURE, /* it cannot be told */
};
struct run_slo {
	char text[48]; /* "p99=50ms" */
	enum run_slo_unit unit;
	bool at_least; /* the limit is the least that is wanted, not the most */
	bool known;    /* value: there was something to measure */
	/*
	 * Of a latency, as the table of the load has it (run/bound.h): it is at least so long; or
	 * of others only than of those that broke the limit, or that a limit allows to be dropped.
	 */
	bool value_at_least, value_of_others;
	double limit, value;
	enum run_slo_verdict verdict;
	/* Not kept: what it was besides the value; cannot be told: why. "": nothing to say. */
	char why[256];
};

#define RUN_SLO_MAX 8

struct run_rank;
struct run_load {
	unsigned int n_clients, n_threads; /* asked for; that drove them */
	unsigned int n_realtime;           /* threads that ran before all others */
	unsigned int n_open, n_lost;       /* sessions there at the begin or made; lost then */
	char why[256];                     /* the first session that was not made, or lost; "" */
	/* CLOCK_MONOTONIC; measured from ... to: a stop, or when the last session was lost */
	uint64_t begin_ns, measure_ns, end_ns;
	uint64_t done_ns;  /* the last action's end; those begun before end_ns */
	double rate_per_s; /* asked for; 0: closed loop */
	/*
	 * Open loop: actions that were to begin in the measured time. They are the actions of all
	 * kinds, and the three below.
	 */
	uint64_t n_arrivals;
	uint64_t n_no_room; /* dropped: they were to wait, and the queue was full; of the probe:
			       left out */
	uint64_t n_waiting; /* no client was free for them before the end */
	/*
	 * Of the arrivals: no client was free when they came, of all processes that had one queue;
	 * and how many these were. Where others shared the load, one of theirs may have been free.
	 */
	uint64_t n_found_none;
	unsigned int queue_processes;
	uint64_t n_cut; /* under way when their session was lost or given up; also closed loop */
	/*
	 * How long these have waited at least, ns: from when they were due to the end of the
	 * measured time, or until they were cut off. n_held: of those for which this program itself
	 * did not run when they were due, or for which they waited behind such; they are not in
	 * undone. What the probe left out is in neither.
	 */
	struct hist undone;
	uint64_t n_held;
	/*
	 * Of an open loop, without those that failed: actions done that ended after the measured
	 * time; and others that ended in it and were due before, which are in no other figure.
	 */
	uint64_t n_ended_after, n_due_before;
	uint64_t n_contended; /* actions that met a lock of another; they are among those done */
	/* Of a rate that the generator cannot offer: how far behind it was at the end; else 0. */
	uint64_t unoffered_ns;
	/*
	 * Closed loop: actions that were under way when the measured time was over. They are in no
	 * other figure, but their requests that were answered before are in the bytes; the longest
	 * took so long.
	 */
	uint64_t n_outlasting, outlasting_max_ns;
	/*
	 * Where clients have a given amount of work: when the first of them had nothing more to do,
	 * and what all had done by then, to within one action a client. 0: none was ready.
	 */
	uint64_t common_ns, common_n, common_bytes;
	struct run_progress *progress; /* owned; in time, of the same; NULL: not kept */
	uint64_t late_max_ns, late_n;  /* the generator's own delays; those above 1 ms */
	struct hist *late;             /* owned; all of them, ns; NULL: not kept */
	/*
	 * Times of more than 0.5 s in which a thread of the generator did not run: it was stopped,
	 * or its machine, or had no CPU; all of them, what of them is in the measured time, and the
	 * longest. Of one thread the most. Actions whose time they are in are in n of their kind,
	 * and in no latency, nor in a second; the longest took so long.
	 */
	uint64_t n_pauses, paused_ns, paused_measured_ns, longest_pause_ns;
	uint64_t n_paused, paused_max_ns;
	uint64_t cpu_ns, runq_ns;         /* its threads ran, and waited for a CPU: all together */
	uint64_t cpu_max_ns, runq_max_ns; /* the one in which both together are most */
	/* Of a load whose mean may say less: both together, in the second of the measured time and
	 * the thread in which they were most. A rate or a number of clients changes, a recording
	 * says when, or the time before the measured one was a tenth of all or more. */
	uint64_t busy_second_ns;
	/*
	 * All clients together made data and compared what was read for so long. In a closed loop
	 * done_ns, common_ns, the latencies and the times of clients are without it: each client's
	 * time stands still meanwhile.
	 */
	uint64_t aside_ns;
	/* Of so many clients, the least round-trip time that TCP has measured of each session; ns.
	 */
	uint64_t rtt_n, rtt_sum_ns;
	char first_failure[256]; /* text of the first action that failed; "" */
	unsigned int starved;    /* clients that were never without an action, and ended none
				    in the measured time: in no latency */
	uint64_t steady_ns; /* from begin_ns, when the rate was found steady; 0: not waited for */
	/* After the load, where that was asked for: files that were read again, not as they were
	 * written, bytes. */
	uint64_t verified_files, verified_wrong, verified_bytes;
	bool unsteady; /* it was waited for in vain */
	bool given;    /* the clients had a given amount of work: a load of small files */
	unsigned int n_slos;
	struct run_slo slo[RUN_SLO_MAX];
	/* The probe: times without a session, how long all were, and the first RUN_GAPS_MAX. */
	unsigned int n_gaps;
	uint64_t gaps_ns;
	struct run_gap *gap; /* owned; NULL: none */
	size_t n_actions, n_seconds;
	unsigned int seconds_each; /* seconds of each row of second */
	struct run_action *action; /* owned */
	struct run_second *second; /* owned */
	size_t n_stages;           /* 0: neither rate nor clients changed */
	bool stages_of_clients;    /* they are parts of the number of clients */
	struct run_stage *stage;   /* owned */
	struct run_client *client; /* owned; n_clients */
	size_t n_ranks;            /* processes that shared the clients; 0: there was this one */
	struct run_rank *rank;     /* owned; run/rank.h */
};

/*
 * Its figures that are numbers. What becomes of those of several threads or processes: their sum,
 * the most of them; or each has its own. The key in run.json, NULL: it is not there; and of which
 * loads it is a number there: of all, of an open loop, of a closed one, or where clients with a
 * given amount of work were ready. Of others it is null.
 */
enum run_load_rule { RUN_LOAD_OWN, RUN_LOAD_SUM, RUN_LOAD_MOST };
enum run_load_of { RUN_LOAD_ALWAYS, RUN_LOAD_OPEN, RUN_LOAD_CLOSED, RUN_LOAD_GIVEN };
#define RUN_LOAD_FIGURES(X)                                                                        \
	X(n_threads, SUM, "threads", ALWAYS)                                                       \
	X(n_realtime, SUM, NULL, ALWAYS)                                                           \
	X(n_open, SUM, NULL, ALWAYS)                                                               \
	X(n_lost, SUM, "lost", ALWAYS)                                                             \
	X(seconds_each, OWN, "seconds_each", ALWAYS)                                               \
	X(begin_ns, OWN, "begin_ns", ALWAYS)                                                       \
	X(measure_ns, OWN, "measure_ns", ALWAYS)                                                   \
	X(end_ns, OWN, "end_ns", ALWAYS)                                                           \
	X(done_ns, MOST, NULL, ALWAYS)                                                             \
	X(n_arrivals, SUM, "arrivals", OPEN)                                                       \
	X(n_no_room, SUM, "no_room", OPEN)                                                         \
	X(n_waiting, SUM, "waiting", OPEN)                                                         \
	X(n_found_none, SUM, "found_none", OPEN)                                                   \
	X(queue_processes, MOST, NULL, ALWAYS)                                                     \
	X(n_cut, SUM, "cut_off", ALWAYS)                                                           \
	X(n_ended_after, SUM, "ended_after", OPEN)                                                 \
	X(n_due_before, SUM, "due_before", OPEN)                                                   \
	X(n_contended, SUM, "contended", ALWAYS)                                                   \
	X(n_held, SUM, "held", ALWAYS)                                                             \
	X(unoffered_ns, MOST, "unoffered_ns", OPEN)                                                \
	X(n_outlasting, SUM, "outlasting", CLOSED)                                                 \
	X(outlasting_max_ns, MOST, "outlasting_max_ns", CLOSED)                                    \
	X(common_ns, OWN, "common_ns", GIVEN)                                                      \
	X(common_n, SUM, "common_actions", GIVEN)                                                  \
	X(common_bytes, SUM, "common_bytes", GIVEN)                                                \
	X(late_max_ns, MOST, "late_max_ns", ALWAYS)                                                \
	X(late_n, SUM, "late", ALWAYS)                                                             \
	X(n_pauses, MOST, "pauses", ALWAYS)                                                        \
	X(paused_ns, MOST, "paused_ns", ALWAYS)                                                    \
	X(paused_measured_ns, MOST, "paused_measured_ns", ALWAYS)                                  \
	X(longest_pause_ns, MOST, "longest_pause_ns", ALWAYS)                                      \
	X(n_paused, SUM, "paused_actions", ALWAYS)                                                 \
	X(paused_max_ns, MOST, "paused_max_ns", ALWAYS)                                            \
	X(cpu_ns, SUM, "cpu_ns", ALWAYS)                                                           \
	X(cpu_max_ns, OWN, "cpu_max_ns", ALWAYS)                                                   \
	X(runq_ns, SUM, "runq_ns", ALWAYS)                                                         \
	X(runq_max_ns, OWN, "runq_max_ns", ALWAYS)                                                 \
	X(busy_second_ns, MOST, "busy_second_ns", ALWAYS)                                          \
	X(aside_ns, SUM, "aside_ns", ALWAYS)                                                       \
	X(rtt_n, SUM, NULL, ALWAYS)                                                                \
	X(rtt_sum_ns, SUM, NULL, ALWAYS)

/* One of them: its place in a struct run_load, and its bytes (4: unsigned int, 8: uint64_t). */
struct run_load_figure {
	size_t at, len;
	enum run_load_rule rule;
	const char *key;
	enum run_load_of of;
};
#define RUN_LOAD_ONE(name, rule, key, of) +1
enum { RUN_LOAD_N_FIGURES = 0 RUN_LOAD_FIGURES(RUN_LOAD_ONE) };
extern const struct run_load_figure run_load_figures[RUN_LOAD_N_FIGURES];

/* Share of the time in which a thread that drove the clients ran or waited for a CPU, the most. */
double run_load_busiest(const struct run_load *l);
/* Nearly all of it: it may be the limit. */
bool run_load_saturated(const struct run_load *l);
/* The same of one second (busy_second_ns): it may have been the limit then. */
bool run_load_saturated_once(const struct run_load *l);
/* Its actions, more than very few of them, began more than 1 ms late. */
bool run_load_behind(const struct run_load *l);

/* Mean of the clients' round-trip times, ns; 0: not known. */
double run_load_rtt(const struct run_load *l);

/* NULL without memory. It has no progress: that of run_load_keep_progress(), 0 or -ENOMEM. */
int run_load_keep_progress(struct run_load *l);
/* Likewise late. */
int run_load_keep_late(struct run_load *l);
/* Stages such as these, in which nothing has happened. 0 or -ENOMEM. */
int run_load_keep_stages(struct run_load *l, const struct run_stage *like, size_t n);
struct run_load *run_load_new(unsigned int n_clients, size_t n_actions, size_t n_seconds);
void run_load_free(struct run_load *l);

/*
 * Puts together what two did: actions, seconds, figures. run_load_add(): from is of one thread. The
 * clients are to's own already.
 */
void run_load_merge(struct run_load *to, const struct run_load *from);
void run_load_add(struct run_load *to, const struct run_load *from);

/*
 * How evenly the clients were served: Jain's index of their actions, 1: all the same, 1/n: one had
 * all. Of clients with a session; 1 where no action was complete.
 */
double run_load_fairness(const struct run_load *l);

/*
 * Of an open loop, how many of the actions done the server still had to do when the measured time
 * was over, beyond those that it had to do when it began; 0: no more than chance makes them.
 */
uint64_t run_load_backlog(const struct run_load *l);

/* Whether actions outlasted the measured time that are many beside those that ended in it. */
bool run_load_outlasted(const struct run_load *l);

/*
 * The longest time of whole seconds, of the measured ones, in which no action ended, while one was
 * waited for all the time. false: none of RUN_SILENCE_LEAST_NS, or 99 % of the actions do not take
 * less, so that the latencies show it.
 */
struct run_silence {
	uint64_t from_ns, ns;   /* when it began, since begin_ns; how long it was at least */
	unsigned int n_clients; /* that had an action that took at least so long */
	unsigned int n_ranks;   /* whose clients these are, without those that were lost; 0: none */
};
#define RUN_SILENCE_LEAST_NS 2000000000u
bool run_load_silence(const struct run_load *l, struct run_silence *out);

/* Actions of all kinds: how many, how many failed, and their latencies. */
void run_load_all(const struct run_load *l, struct run_action *out);
/* Of how many kinds there were any: of several the latencies together say nothing of one. */
unsigned int run_load_kinds(const struct run_load *l);

/*
 * One load after another of the same clients, which began later by whole seconds: from's figures
 * are added to to's.
 */
void run_load_append(struct run_load *to, const struct run_load *from);

/* Between two such. 0 or -ENOMEM. */
int run_load_note_gap(struct run_load *l, uint64_t from_ns, uint64_t to_ns, const char *why);

/* The row of a second since begin_ns; NULL: none is kept. The last one also has what is later. */
struct run_second *run_load_second(struct run_load *l, uint64_t second);

/* from began so many seconds later. Rows of to become as long as those of from, if need be. */
void run_seconds_merge(struct run_load *to, const struct run_load *from, uint64_t later_s);

void run_second_add(struct run_second *to, const struct run_second *from);

/* Latency below which a share q of a second's actions were; 0: none. */
uint64_t run_second_quantile(const struct run_second *s, double q);

/* What a replay did beside what was recorded, request by request. */

/* What came of requests. X(name, key in run.json) */
#define RUN_REPLAY_OUTCOMES(X)                                                                     \
	X(as_recorded, "as_recorded") /* answered as in the recording */                           \
	X(new_error, "new_error")     /* refused, in the recording not */                          \
	X(no_error, "no_error")       /* not refused, in the recording they were */                \
	X(other_error, "other_error") /* refused for another reason */                             \
	X(other_size, "other_size")   /* of another size: bytes, entries */                        \
	X(unsent, "unsent")           /* what they are about was not there */                      \
	X(lacks, "not_supported")     /* by the kind of place */

struct run_replay_counts {
#define X(name, key) uint64_t name;
	RUN_REPLAY_OUTCOMES(X)
#undef X
};

/* Of one kind of request. Latencies in ns: of the recording in the server, from the request to its
 * reply; of the replay at the client. 0: none. */
struct run_replay_request {
	const char *name;  /* static: "read" */
	uint64_t recorded; /* in the recording, of those that were to be sent */
	struct run_replay_counts came;
	uint64_t recorded_p50_ns, recorded_p99_ns, p50_ns, p99_ns;
};

struct run_replay {
	/* Each session of the recording was replayed so many times at once: all that was recorded
	 * is counted as often. */
	unsigned int copies;
	uint64_t recorded; /* requests in the recording, also those that are not replayed */
	uint64_t planned;  /* that were to be sent */
	uint64_t recorded_read_b, recorded_written_b, read_b, written_b;
	uint64_t waited;    /* for requests of other clients */
	uint64_t unordered; /* sent though one that they need was not answered */
	/* From when requests were due until their replies, ns; 0: none were due at a time. */
	uint64_t due_p50_ns, due_p99_ns, due_max_ns;
	/* How much later than due, or than their client was free, they were begun. Likewise. */
	uint64_t late_p50_ns, late_p99_ns, late_max_ns;
	uint64_t planned_ns; /* from the first to the last of them; 0: likewise */
	/* Requests that the replay itself, not the server, made more than 1 ms late; at most so. */
	uint64_t delayed, delayed_max_ns;
	struct run_slo kept_up; /* whether the server kept up; text "": not judged */
	size_t n;
	struct run_replay_request *request; /* owned */
};

/* Requests that were answered in another way. */
static inline uint64_t run_replay_others(const struct run_replay_counts *c)
{
	return c->new_error + c->no_error + c->other_error + c->other_size;
}

#endif
