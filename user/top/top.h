/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_TOP_H
#define TOP_TOP_H

/* afpscope top, and its watches: one after the other, of a server that may be started anew. */

#include "attach/attach.h"
#include "attach/whom.h"
#include "top/opinion.h"
#include "top/top_screen.h"

struct top_cfg {
	struct whom_cfg whom;
	int by, sort;
	const char *filter;
	double delay_s;
	unsigned int steps;
	double max_cpu;
	bool batch, json, names, help;
};

/* Defaults, and what the arguments say. Opens nothing. 0, or a negative errno and a text. */
int top_parse(struct top_cfg *cfg, int argc, char **argv, struct err *e);

#define TOP_TIME_MAX 16

struct top {
	const struct top_cfg *cfg;
	struct attach a;
	struct live *live;
	bool files, texts; /* how they were opened */
	struct opinion opinion;
	struct top_screen *screen; /* NULL: lines */
	struct top_state state;
	size_t width;
	struct live_step step; /* the last; lost: since the begin */
	bool has_step, failed, hung_up, died;
	bool waiting; /* the server has ended, and its watch */
	char ended_at[TOP_TIME_MAX], restarted_at[TOP_TIME_MAX];
	uint64_t waited_ns; /* for servers that came back */
	uint64_t due_ns;
	uint64_t step_cpu_ns, step_programs_ns; /* at the begin of the step */
	double own_cpu, programs_cpu;
	struct err e; /* of a watch that could not be opened */
	struct top_sum sum;
};

/* Begins one: a table by file needs another than the other tables do. 0 or a negative errno. */
int top_open_watch(struct top *t, bool files, struct err *e);
/* Adds up what it cost and lost; what it has counted can still be shown. */
int top_end_watch(struct top *t);
void top_free_watch(struct top *t);

/* Of the programs in the kernel, so far; 0: not known. */
uint64_t top_programs_ns(const struct top *t);

#endif
