/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_TOP_ROWS_H
#define TOP_TOP_ROWS_H

/*
 * A step of a running server (live/live.h) as lines, for a terminal and for a pipe, and as JSON.
 * Lines are clean (base/text.h), UTF-8, and have at most as many columns as were asked for.
 */

#include "top/live.h"

#include <stdio.h>
#include <sys/types.h>

/*
 * Columns of the table, from left to right. X(NAME, key, heading, columns with the gap before it).
 * A heading that is NULL is the view's. NAME and TIME are wider where there is room.
 */
#define TOP_COLUMNS(X)                                                                             \
	X(NAME, "name", NULL, 16)                                                                  \
	X(BUSY, "busy", "BUSY", 6) /* requests in service, the mean over the step */               \
	X(RATE, "rate", "REQ/S", 7)                                                                \
	X(ERRORS, "errors", "ERR/S", 6)                                                            \
	X(P50, "p50", "p50", 7) /* of several commands together they say nothing of any ... */     \
	X(P99, "p99", "p99", 7)                                                                    \
	X(MEAN, "mean", "mean", 7) /* ... so that other views have this in their place */          \
	X(IN, "in", "MB/s in", 8)  /* from the client */                                           \
	X(OUT, "out", "out", 7)                                                                    \
	X(NOW, "now", "NOW", 5)          /* requests in service at the end of the step */          \
	X(OLDEST, "oldest", "OLDEST", 7) /* the age of the oldest of them */                       \
	X(CPU, "cpu", "CPU", 6)          /* of the requests' time: own code and in calls */        \
	X(RUNQ, "runq", "RUNQ", 6)                                                                 \
	X(DISK, "disk", "DISK", 6)                                                                 \
	X(CNID, "cnid", NULL, 6)          /* headed by what it asks */                             \
	X(VOLUME, "volume", "VOLUME", 21) /* of a session */                                       \
	X(TIME, "time", "TIME", 12)       /* a bar of the parts */

enum top_column {
#define X(NAME, key, heading, columns) TOP_##NAME,
	TOP_COLUMNS(X)
#undef X
	    TOP_N_COLUMNS
};

/* Keys of views and columns; each ends with NULL. */
extern const char *const top_views[], *const top_columns[];

/* What is shown of a table, and in which order. */
struct top_view {
	enum live_by by;
	enum top_column sort; /* the largest first; names from a to z */
	bool inverted;
	const char *filter; /* in a row's texts, in upper or lower case; "": all rows */
	enum live_by of;    /* only sessions of the user, client, volume (or the session) ... */
	const char *one;    /* ... of exactly this name; "": of all */
};

/* The rows of a view in its order. out: room for LIVE_ROWS. Returns how many there are. */
size_t top_rows(const struct live_row **out, const struct live_table *t, const struct top_view *v);

/* Whether text is somewhere in a row's texts. */
bool top_row_has(const struct live_row *r, const char *text);

/* What is known besides the rows. */
struct top_status {
	const struct live_step *step;
	const char *program;         /* the server's */
	const struct run_kind *kind; /* of the server; NULL: AFP's */
	pid_t pid;                   /* its process */
	unsigned int port;           /* 0: not known */
	uint64_t watched_ns;         /* until the end of the step */
	double delay_s;              /* a step is to take so long */
	double own_cpu;              /* of this program, share of a CPU */
	double programs_cpu;         /* of those in the kernel; negative: not known */
	const char *opinion;         /* the first sentence of a diagnosis; NULL: none yet */
	const char *ended_at;        /* the time of day at which the server ended; NULL: it lives */
	const char *restarted_at;    /* at which it was found again; NULL: it was there at first */
};

/* The letters of the parts of time, and of the time in no part. */
#define TOP_PARTS (ACCOUNT_N_COLUMNS + 1)
extern const char top_letters[TOP_PARTS];

#define TOP_WIDTH_MAX 400 /* columns */
#define TOP_LINE_MAX  (4 * TOP_WIDTH_MAX + 1)

struct top_line {
	char text[TOP_LINE_MAX];
	size_t len, columns;           /* without the final '\0' */
	size_t name_len, name_columns; /* of the first cell with its padding; 0: there is none */
	size_t bar_at, bar_len; /* bytes of text; each is a letter of a part of time, or '.' */
	size_t n_marks, mark[TOP_PARTS]; /* bytes that are such a letter alone */
	size_t alarm_at, alarm_len;      /* what is to stand out; 0: nothing */
};

/* Which columns there is room for, and where. */
struct top_layout {
	size_t n, width;
	enum live_by by;
	struct {
		enum top_column is;
		size_t columns;
	} cell[TOP_N_COLUMNS];
};

/* row: the rows to be shown, for the width of their names. width: at most TOP_WIDTH_MAX. */
void top_lay(struct top_layout *out, const struct top_view *v, const struct live_row **row,
	     size_t n, size_t width);

/* The line of headings, and of a row; step_ns: how long the step took. */
void top_heading(struct top_line *out, const struct top_layout *l, const struct top_view *v,
		 const struct run_kind *kind);
void top_row(struct top_line *out, const struct top_layout *l, const struct live_row *r,
	     uint64_t step_ns);

/* What is above the table; returns how many lines. */
#define TOP_HEAD 6
size_t top_head(struct top_line out[TOP_HEAD], const struct top_status *s, size_t width);

/* All of a step: at most "lines" lines, the last of which is empty. 0 or -ENOMEM. */
int top_text(FILE *out, const struct top_status *s, const struct top_view *v,
	     const struct live_table *t, size_t width, size_t lines);

/* The same as an object on a line of its own, in ASCII, with all rows. 0 or -ENOMEM. */
int top_json(FILE *out, const struct top_status *s, const struct top_view *v,
	     const struct live_table *t);

/*
 * A line, or an object, for a server that has ended, or was found again: a time of day, and a time
 * of CLOCK_MONOTONIC.
 */
void top_text_event(FILE *out, const struct top_status *s);
int top_json_event(FILE *out, const struct top_status *s, uint64_t at_ns);

/* What is known at the end. */
struct top_sum {
	uint64_t ns, steps, requests, lost; /* lost: of all kinds */
	uint64_t attach_ns, cpu_ns;         /* own CPU time: until it watched, while it did */
	uint64_t programs_ns;               /* of the programs in the kernel */
};

void top_text_sum(FILE *out, const struct top_sum *s);
int top_json_sum(FILE *out, const struct top_sum *s);

#endif
