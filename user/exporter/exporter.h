/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EXPORTER_EXPORTER_H
#define EXPORTER_EXPORTER_H

/*
 * The exporter is one process that watches, with the rights that this needs, and one for each place
 * where the metrics go. That of --listen has no rights and is nobody; that of --textfile (or
 * --once) is the owner of the file's folder and has no capabilities. They are forked before
 * anything is watched, have a socket to the one that watches and none to each other, and end when
 * it does.
 */

#include "app/cmd.h"
#include "attach/whom.h"
#include "exporter/openmetrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct exporter_cfg {
	struct whom_cfg whom;
	const char *listen, *textfile, *label; /* NULL: not given */
	unsigned int interval_s;
	int watch; /* enum watch_mode */
	double max_cpu;
	bool once, help;
};

/* Defaults, and what the arguments say. Opens nothing. 0, or a negative errno and a text. */
int exporter_parse(struct exporter_cfg *cfg, int argc, char **argv, struct err *e);

enum exporter_helper { EXPORTER_HTTP, EXPORTER_FILE, EXPORTER_HELPERS };

/* As the process that watches sees it. */
struct exporter_child {
	pid_t pid;        /* 0: none */
	int socket;       /* -1: none, or that process has closed its end */
	uint64_t used_ns; /* its CPU time, as it said when it asked last */
};

/*
 * Watches one life of the server after the other and answers the others, until a signal, the end of
 * --once, or the end of one of them, which has said why.
 */
enum outcome exporter_watch(const struct exporter_cfg *cfg,
			    struct exporter_child child[EXPORTER_HELPERS]);

/* The other processes: until the other end of the socket is closed. Return enum outcome. */
int exporter_serve(int socket, int listener);
/* OUTCOME_FAILED: the last page could not be written. */
int exporter_file(const struct exporter_cfg *cfg, int socket);

#define EXPORTER_NOBODY 65534 /* user and group */

/* All metrics in both formats, but for the age of the figures. */
struct exporter_page {
	bool up; /* a server is watched */
	uint64_t made_ns;
	size_t end[2], age_at[2]; /* of the older format and of OpenMetrics, in text */
	char *text;               /* owned; NULL: none yet */
};

/* 0 or -ENOMEM. Of the style all but the format. */
int exporter_page_make(struct exporter_page *out, const struct tally *t,
		       struct openmetrics_style style);

/* One format, with the age as it is now; to be freed. NULL: no memory. */
char *exporter_page_text(const struct exporter_page *p, bool openmetrics, size_t *len);

/* Waits until all is sent. 0 or a negative errno. */
int exporter_page_send(const struct exporter_page *p, int socket);

/* The end of a process that asks for pages. */
struct exporter_reader {
	int socket;
	bool asked; /* and not yet answered */
	bool over;  /* the other end is closed, or there is no memory */
	struct exporter_page page;
};

/* Waits for a page, asked for or not (-1: without an end). Whether one came. */
bool exporter_reader_take(struct exporter_reader *r, int timeout_ms);

/*
 * Asks for a page unless the last one has only just been made, and waits for it; not long, and not
 * at all if the last question was not answered. Then the last page stays.
 */
void exporter_reader_refresh(struct exporter_reader *r);

#endif
