/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMPAT_SPEED_H
#define COMPAT_SPEED_H

/*
 * netatalk 4.5's speedtest output, piece by piece: report_speed_peer() prints all of it from a
 * finished run, a command that prints while it runs calls the pieces in the same order.
 *
 * Same text, columns and decimals as netatalk's; MB/s is of 2^20 bytes and of the file's size
 * (of Copy, too: once), times are whole microseconds, rounded down. What differs on purpose: an
 * iteration that broke off has a line that says so; ::1 and "localhost" are Localhost; a table of
 * TCP figures holds the looks of the first and the last test of a size; a run that
 * broke off says so at the end; with one measured iteration the tables of a sweep hold it
 * (netatalk's hold 0).
 *
 * What is read from the run's notes: options "iterations", "warmup", "tests", "delay_s",
 * "chunk_bytes", "mode" ("local"), "directory", "sweep" (any text: a list of sizes even when it has
 * one); server "host", "afp_version", "volume", "quantum_bytes".
 */

#include "base/stats.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdio.h>

/* A list of sizes: before each of them. */
void report_speed_size(uint64_t size, FILE *out);
/* Before the first test of a size. */
void report_speed_banner(const struct run *r, uint64_t size, bool statistics, FILE *out);
/* Before the first iteration of a test. */
void report_speed_head(const struct run *r, const struct run_phase *p, FILE *out);
/* Replaces all of these for a test: ServerCopy without a server. */
void report_speed_skipped(FILE *out);
/* One iteration as soon as it is over. */
void report_speed_sample(const struct run_phase *p, const struct run_sample *s, FILE *out);
/* After a test with at least two measured iterations; nothing with fewer. 0 or -ENOMEM. */
int report_speed_statistics(const struct run_phase *p, FILE *out);
/* After the last test of a size: the client's TCP figures over all of its tests. */
void report_speed_network(const struct run *r, uint64_t size, FILE *out);
/* After a list of sizes: one table for each test, one of TCP. 0 or -ENOMEM. */
int report_speed_sweep(const struct run *r, FILE *out);

/* What netatalk's text and CSV share. */

#define SPEED_SIZE_MAX 32

struct speed_stats {
	struct stats us;
	double p95; /* netatalk's rule: sorted[floor((n - 1) * 0.95)] */
};

/* 0 or -ENOMEM. */
int speed_stats(const struct run_transfer *t, struct speed_stats *out);
/* "4 KB", "64 MB". */
char *speed_size(uint64_t bytes, char out[static SPEED_SIZE_MAX]);
/* 0 if us is 0. */
double speed_mb_s(uint64_t bytes, double us);
bool speed_is_sweep(const struct run *r);
/* Whether this is the first phase of its size. */
bool speed_begins_size(const struct run *r, size_t i);
/* The tests in the order of netatalk's tables. */
#define SPEED_TESTS 4
extern const char *const speed_tests[SPEED_TESTS];

/* A TCP figure of the tables. */
enum speed_unit { SPEED_KB, SPEED_B, SPEED_N, SPEED_MS };
#define SPEED_TCP 15
extern const struct speed_tcp {
	enum run_tcp_value value;
	enum speed_unit unit;
	bool positive; /* shown only when it is not 0 */
	const char *label, *sweep_label, *csv;
} speed_tcp[SPEED_TCP];

/* The client's looks around all phases (size 0) or those of a size; false: no looks. */
bool speed_looks(const struct run *r, uint64_t size, enum run_tcp_value value, uint64_t out[2]);

#define SPEED_TCP_MAX 40
/* A value or (sign: with its sign) a difference, with its unit when "unit" is set. */
char *speed_tcp_text(const struct speed_tcp *t, int64_t v, bool sign, bool unit,
		     char out[static SPEED_TCP_MAX]);

#endif
