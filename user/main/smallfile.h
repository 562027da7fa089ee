/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_SMALLFILE_H
#define MAIN_SMALLFILE_H

/* The options of afpscope smallfile. */

#include "app/child.h"
#include "drive/smallfile_clients.h"
#include "drive/workload.h"
#include "ranks/ranks.h"
#include "work/smallfile/smallfile.h"

#define SMALLFILE_SET      "smallfile-1"
#define SMALLFILE_LIST_MAX 32 /* loads of a run */

struct smallfile_list {
	unsigned int n;
	enum smallfile_load load[SMALLFILE_LIST_MAX];
};

struct smallfile_cfg {
	struct workload_cfg w;
	struct smallfile_opts o;
	struct smallfile_list list;
	unsigned int clients, duration_s; /* duration 0: each file once */
	const char *tree;                 /* directory that stays; NULL: one that is removed */
	const char *prefix;
	const char *gun; /* waited for before the first load; NULL: none */
	unsigned int gun_timeout_s;
	unsigned int delay_us; /* of a client after each file */
	const char *between;   /* shell command before each load but the first; NULL: none */
	struct child
	    child[SMALLFILE_LIST_MAX]; /* it, started by smallfile_check(), of such loads */
	bool direct, no_verify, mpi;
	int live;             /* enum ticker_how */
	struct launch launch; /* if mpi */
};

/* clang-format off */
#define SMALLFILE_DEFAULTS                                                                         \
	{                                                                                          \
		.w = WORKLOAD_DEFAULTS, .clients = 1, .prefix = "f", .gun_timeout_s = 60,                               \
		.o = { .files = 1000, .files_per_dir = 1000, .depth = 1, .file_len = 4096,                     \
		       .record_len = 65536, .read_percent = 50, .seed = 1 },                       \
	}
/* clang-format on */

extern const struct job_type smallfile_job;

/* For workload_type.parse: cfg is a smallfile_cfg. 0, or a negative errno and a text. */
int smallfile_parse(struct workload_cfg *cfg, struct job *j, struct err *e);

/* What needs the machine: the other processes, and commands, which have all rights. Likewise. */
int smallfile_check(struct workload_cfg *cfg, struct err *e);

/* Its clients in this process, whose session this is. */
struct smallfile_clients_opts smallfile_clients_of(const struct smallfile_cfg *cfg,
						   struct session *session);

/* What the ranks have in common, with --mpi. */
struct ranks_opts smallfile_ranks(const struct smallfile_cfg *cfg);

/* For workload_type.elsewhere: the exit code of a rank other than 0; -1: this is rank 0. */
int smallfile_elsewhere(struct workload_cfg *cfg);

/* What the run remembers. 0 or -ENOMEM. */
int smallfile_describe(const struct smallfile_cfg *cfg, struct run_notes *o);

#endif
