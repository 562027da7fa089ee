/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SPEEDTEST_SPEED_PRIV_H
#define WORK_SPEEDTEST_SPEED_PRIV_H

/* Shared by the files of speedtest: its state, and the steps of each work. */

#include "work/speedtest/pump.h"

/* Files in the test's directory, by afp_speedtest's names. */
#define SPEED_FILE        "File"
#define SPEED_SOURCE      "Source"
#define SPEED_DESTINATION "Destination"

struct speed {
	struct load *load;
	const struct speedtest_opts *opts;
	struct err *e;
	struct pump t;
	enum speed_work work;
	uint64_t size;
	size_t chunk; /* of the work's data requests */
	char (*base)[32];
	char name[32];           /* of the directories */
	struct store_dir dir[2]; /* in the first root, in the second; id 0: not known */
	struct store_file from, to;
	bool from_open, to_open;
	bool filled;   /* the source was filled with data */
	uint64_t seed; /* of what is written next */
	uint64_t seed_of_source;
	struct store_op op; /* the current operation */
};

/* One work. All steps but timed are outside the timed region; NULL: nothing to do. */
struct speed_row {
	const char *name;
	bool reads, writes;            /* data requests of this program */
	int (*setup)(struct speed *s); /* once for a size: directories, files */
	int (*begin)(struct speed *s); /* an iteration: forks, data of the source */
	int (*timed)(struct speed *s);
	int (*verify)(struct speed *s); /* compares what was written */
	int (*end)(struct speed *s);
	int (*teardown)(struct speed *s); /* files; directories go with speed_remove_dirs */
};

extern const struct speed_row speed_rows[N_SPEED_WORKS];

/* All data requests of an iteration of a work. */
struct pump_job speed_job(const struct speed *s);

/* Checked operations: 0, LOAD_REFUSED with a text, or negative errno. */
int speed_close(struct speed *s, struct store_file *file, bool *open);
int speed_delete(struct speed *s, struct store_dir dir, const char *name, bool may_be_gone);
int speed_remove_dirs(struct speed *s, bool may_be_gone);
/* The length of opts->file. */
int speed_file_len(struct speed *s, uint64_t *len);

#endif
