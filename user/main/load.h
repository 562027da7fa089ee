/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_LOAD_H
#define MAIN_LOAD_H

/* The options of afpscope load. */

#include "drive/load_clients.h"
#include "drive/slo.h"
#include "drive/timeline.h"
#include "drive/users.h"
#include "drive/workload.h"
#include "ranks/ranks.h"
#include "work/mix/mix.h"

#include <limits.h>

#define LOAD_SET    "load-1"
#define LOAD_OF_MIX UINT_MAX /* .files: not given */

/* Of an open loop. */
struct load_rate {
	double per_s; /* actions a second, of a rate that changes: the mean; 0: closed loop */
	struct rate changes; /* .n 0: it does not */
	const char *text;    /* of changes, borrowed */
};

/* How many clients; of a number that changes the most. */
struct load_crowd {
	unsigned int n;      /* 0: not given */
	struct rate changes; /* .n 0: it does not */
	const char *text;    /* of changes, borrowed */
};

enum { LOAD_FIXED, LOAD_POISSON, LOAD_NOT_GIVEN };

struct load_cfg {
	struct workload_cfg w;
	const char *mix_name, *only; /* only: one of its actions; NULL: all */
	struct mix mix;
	bool has_mix; /* it is that of a job file */
	unsigned int clients, threads, duration_s, ramp_s, queue, arrivals;
	unsigned int files, window, directories;
	uint64_t file_len, request_len;
	unsigned int set_of; /* process id; 0: not given */
	uint64_t seed;
	struct load_rate rate;
	struct load_crowd crowd;
	const char *think_text; /* NULL: the mix's */
	struct draw think;      /* the same */
	double interval_s;      /* of the server's figures in time; 0: none */
	unsigned int steady_s;  /* most seconds to wait for a steady rate; 0: do not */
	struct timeline_changes changes;
	struct slos slos;
	const char *users_file;
	struct users users;
	double compressible, dedup; /* shares; 0: the mix's */
	bool verify;
	bool no_probe, direct, remove_set, realtime, mpi, abort_on_slo;
	int live;             /* enum ticker_how */
	struct launch launch; /* if mpi */
};

#define LOAD_CLIENTS    10
#define LOAD_DURATION_S 30 /* unless the rate says how long */

#define LOAD_DEFAULTS                                                                              \
	{                                                                                          \
		.w = WORKLOAD_DEFAULTS, .mix_name = "browse", .clients = LOAD_CLIENTS,             \
		.ramp_s = 1, .interval_s = 1, .arrivals = LOAD_NOT_GIVEN, .seed = 1,               \
		.files = LOAD_OF_MIX, .file_len = UINT64_MAX                                       \
	}

extern const struct job_type load_job;

/* For workload_type.parse: base is a load_cfg. A mix that is a file is not read, nor is judged what
 * depends on it. 0 or a negative errno with a text. */
int load_parse(struct workload_cfg *base, struct job *j, struct err *e);

/* What needs the machine: that file, the users, the other processes. Likewise. */
int load_check(struct workload_cfg *base, struct err *e);

/* Whether its clients pause between two actions. */
bool load_thinks(const struct load_cfg *cfg);

/* What this process's clients do, and when; but for begin_ns. */
void load_plan(const struct load_cfg *cfg, struct engine_job *out);

/* Into the options of a run. 0 or -ENOMEM. */
int load_describe(const struct load_cfg *cfg, struct run_notes *o);

/* What the ranks have in common; the share of this process: clients, numbers, threads. Nothing to
 * do without --mpi. */
struct ranks_opts load_ranks(const struct load_cfg *cfg);
void load_deal(const struct load_cfg *cfg, struct load_clients_opts *o);

/* For workload_type.elsewhere: the exit code of a rank other than 0; -1: this is rank 0. */
int load_elsewhere(struct workload_cfg *base);

#endif
