/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_LIVE_PRIV_H
#define TOP_LIVE_PRIV_H

/* What live*.c know of a watch that goes on. */

#include "top/live.h"
#include "top/live_errors.h"
#include "top/live_files.h"

#define LIVE_NAME_MAX 512

/* What is known of a connection: its totals at the last reading, and who it is. */
struct live_known {
	uint32_t id; /* 0: free */
	bool ended;
	uint64_t requests, errors, bytes_in, bytes_out, busy_ns, service_ns, handed;
	uint64_t ns[ACCOUNT_N_COLUMNS];
	uint32_t hist[AFS_REQUEST_BUCKETS];
	uint64_t labelled_ns;
	struct run_session label; /* owned texts */
	char *volume;             /* owned; its volumes, apart by commas */
	uint64_t denied;
	struct afs_habit habit;
	struct afs_asking asking;
	/* At the last live_note. */
	struct {
		uint64_t requests, bytes_in, bytes_out, busy_ns, denied;
		struct afs_habit habit;
		struct afs_asking asking;
	} noted;
};

struct live {
	struct live_opts opts;
	struct watch *w;
	struct files *files; /* NULL: not asked for */
	struct live_known known[WATCH_CONNECTIONS];
	struct live_table *now[LIVE_N], *last[LIVE_N];
	struct live_step step[2]; /* going on, the last */
	struct ledger before, noted;
	struct live_errors errors;
	uint64_t logins; /* told until now, of a kind that says by which requests */
	uint64_t begun_ns, noted_ns;
	/* Sessions that have ended since live_note, in its run's words. */
	size_t n_gone;
	struct run_session *gone;
};

/* Sessions that end between two notes and are kept one by one. */
#define GONE_MAX 1024

/* Takes over what has been noted of a connection; what came since then. */
void live_known_noted(struct live_known *k);
void live_since_noted(const struct live_known *k, struct run_session *to);

/* An address without its port, into out. Returns out. */
const char *live_host(const char *address, char *out, size_t len);

#endif
