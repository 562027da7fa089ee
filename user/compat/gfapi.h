/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMPAT_GFAPI_H
#define COMPAT_GFAPI_H

/* This program as gfapi_perf_tool: what its environment asks for. */

#include "drive/workload.h"
#include "work/smallfile/smallfile.h"

#define GFAPI_PLACE_MAX 1200

struct gfapi_cfg {
	struct workload_cfg w;
	struct smallfile_opts set;

	/* The variables. */
	const char *volume, *host, *transport, *load_name, *base, *prefix, *gun;
	uint64_t debug, trace_level, port, fuse, direct, append, overwrite, flush;
	uint64_t record_kib, file_kib, files, files_per_dir, threads, requests;
	uint64_t delay_us, gun_timeout_s, force;
	double read_percent;

	/* What follows from them. */
	enum smallfile_load load;
	const char *what;            /* "random read" */
	bool mixed, random;          /* the load */
	uint64_t asked_kib;          /* a record that is longer than the files; 0: it is not */
	char volume_place[512];      /* "gluster://HOST:PORT/VOLUME"; "" with GFAPI_FUSE */
	char place[GFAPI_PLACE_MAX]; /* of the files, as of store_open_local() */
};

/* From the environment, with the defaults of gfapi_perf_tool. 0, or -EINVAL and a text. */
int gfapi_read(struct gfapi_cfg *out, struct err *e);

/* The variables and what they mean. */
void gfapi_usage(FILE *out, const char *program);

/* The head of the output: what is asked for. */
void gfapi_put_head(FILE *out, const struct gfapi_cfg *cfg);

#endif
