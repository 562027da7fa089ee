/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EXPORTER_EXPORTER_H
#define EXPORTER_EXPORTER_H

/*
 * The exporter is three processes. The first keeps the rights that a watch needs to begin, and only
 * waits. The one that watches is begun anew for each life of the server, and drops all rights but
 * those to read /proc. The one that serves has none, and is nobody: it adds up and answers. With
 * --textfile it has a fourth, the owner of the file's folder, which writes.
 */

#include "attach/whom.h"
#include "base/err.h"
#include "exporter/tally.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exporter_cfg {
	struct whom_cfg whom;
	const char *listen, *textfile, *label; /* NULL: not given */
	unsigned int interval_s;
	int watch; /* enum watch_mode */
	double max_cpu;
	bool once, help;
	/* Shared by all: 1 + whose the server was that was watched first; 0: none was yet. */
	uint32_t *owner;
};

/* How the process that watches ended. */
enum exporter_end {
	EXPORTER_AGAIN,  /* the server is gone, or cannot be watched now: to be begun anew */
	EXPORTER_FAILED, /* out of memory */
	EXPORTER_COSTLY, /* --max-cpu */
	EXPORTER_GONE,   /* the process of --pid has ended */
	EXPORTER_NONE,   /* there is no such process */
};

/*
 * Watches, and writes a reading to the socket when it has begun, at its end, and whenever it is
 * asked. Returns enum exporter_end.
 */
int exporter_watch(const struct exporter_cfg *cfg, int socket);

/*
 * Serves until the other end of control is closed, or cmd_stop. What arrives on control is a socket
 * of a new exporter_watch(). listener: -1: none. Returns enum outcome.
 */
int exporter_serve(const struct exporter_cfg *cfg, int control, int listener);

#define EXPORTER_NOBODY 65534 /* user and group */

/*
 * Begins the process that writes the file, which closes control and listener (-1: none). A socket
 * to it, which ends when that is closed, or a negative errno.
 */
int exporter_file_open(const char *path, int control, int listener);

/* Waits until it is written. -EPIPE: that process has ended; else as file_save(), and said. */
int exporter_file_write(int socket, const char *text, size_t len);

/* Waits until all is sent. 0 or a negative errno. */
int exporter_send_bytes(int socket, const void *data, size_t len);

/* Between the two. Asking: the CPU time of the process that asks. */
struct exporter_ask {
	uint64_t own_ns;
};

/* Waits until all is sent. 0 or a negative errno. */
int exporter_send(int socket, const struct tally_reading *r);

/* What has arrived of a reading. All 0 at first. */
struct exporter_inbox {
	char *data; /* owned */
	size_t len, room;
};

/*
 * Reads without waiting. 1: a reading is complete, to be ended with ledger_fini(&out->ledger); 0:
 * not yet; -ENODATA: the other end is closed; another negative errno.
 */
int exporter_receive(struct exporter_inbox *in, int socket, struct tally_reading *out);

#endif
