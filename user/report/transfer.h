/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_TRANSFER_H
#define REPORT_TRANSFER_H

/* Figures of a phase that moves a file, for every kind of output. */

#include "base/stats.h"
#include "run/account.h"
#include "run/run.h"

/* Whether the run has phases and all of them move files. */
bool transfer_run(const struct run *r);

/* Whether this program moved the files itself, without a server: the option "mode". */
bool transfer_is_local(const struct run *r);

/* An iteration whose time counts. */
bool transfer_counts(const struct run_sample *s);

/*
 * Times of the iterations that count, in units of so many ns (rounded down), smallest first;
 * owned by the caller. NULL without memory.
 */
uint64_t *transfer_times(const struct run_transfer *t, uint64_t unit_ns, size_t *n);

/* Statistics of these times in ns. 0 or -ENOMEM. */
int transfer_stats(const struct run_transfer *t, struct stats *out);

/* The first or the last look of this kind at one end that knows the value; NULL: none. */
const struct run_tcp *transfer_look(const struct run_transfer *t, enum run_tcp_end end,
				    enum run_tcp_when when, enum run_tcp_value value);

/* A number that may not be known. */
struct amount {
	bool known;
	double v;
};

/* Calls of one kind on data files; of sendfile, from them to the client. */
struct transfer_calls {
	uint64_t calls, bytes, ns;
};

/* What a phase's measured iterations cost, in ns and bytes; known only of complete phases. */
struct transfer_cost {
	struct amount elapsed, ops, client_cpu, client_runq, calls;
	struct amount bytes;                   /* moved */
	struct amount server_cpu;              /* of the serving process */
	struct amount server_runq;             /* in requests, where they were timed */
	bool has_times;                        /* busy, column */
	double busy;                           /* the server had a request in service */
	uint64_t column[ACCOUNT_N_COLUMNS];    /* of its requests' time */
	bool has_files;                        /* the five below, and sync_ns */
	struct transfer_calls read, write;     /* through the server's memory */
	struct transfer_calls sendfile, range; /* sendfile; copy_file_range and the like */
	uint64_t sync_ns;
};

void transfer_cost(const struct run_phase *p, struct transfer_cost *out);

/* What bytes are counted in: the run's option "units". */
struct transfer_unit {
	double mega, giga;
	const char *mb, *gb; /* "MiB", "GiB" */
};

struct transfer_unit transfer_unit(const struct run *r);

/* The phase of this work with the largest file; measured: that has an iteration that counts. */
const struct run_phase *transfer_largest(const struct run *r, const char *work, bool measured);

#endif
