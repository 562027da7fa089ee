/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of lantest as netatalk's workflow passes it from step to step: a line for each metric,
 * which .github/scripts/perf_history.pl of netatalk reads.
 */
#include "report/report.h"
#include "report/view.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define KEY_MAX 128

/* The labels of netatalk's charts, by the begin of the key. */
static const struct {
	const char *key, *label;
} labels[] = {
	{ "writing_one_large_file", "Write 100MB" },
	{ "reading_one_large_file", "Read 100MB" },
	{ "creating_2000_files", "Create files 2k" },
	{ "open_write_1024", "Write 2k" },
	{ "open_read_1024", "Read 2k" },
	{ "copying_1000_files_client", "Copy (R+W) 1k" },
	{ "copying_2000_files_server", "ServerCopy 2k" },
	{ "lock_then_unlock_2000", "Fork lock 2k" },
	{ "stat_lookup_getparams", "Stat 2k" },
	{ "enumerate_dir", "Enumerate 2k" },
	{ "deleting_2000_files", "Delete 2k" },
	{ "byte_range_lock_unlock", "Byte lock 2k" },
	{ "create_2000_dirs_tree", "Create Dirs 2k" },
	{ "directory_cache_hits", "Dircache hits" },
	{ "mixed_cache_operations", "Mixed cache" },
	{ "deep_path_traversal", "Deep traverse" },
	{ "cache_validation", "Cache validate" },
};

/* A title without its number of operations, in lower case, other characters as one "_". */
static void metrics_key(char out[KEY_MAX], const char *title)
{
	const char *end = strstr(title, " [");
	size_t at = 0;

	for (; *title && title != end && at + 1 < KEY_MAX; title++) {
		if (isalnum((unsigned char)*title))
			out[at++] = (char)tolower((unsigned char)*title);
		else if (at && out[at - 1] != '_')
			out[at++] = '_';
	}
	while (at && out[at - 1] == '_')
		at--;
	out[at] = '\0';
}

static const char *metrics_label(const char *key)
{
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (!strncmp(key, labels[i].key, strlen(labels[i].key)))
			return labels[i].label;
	return key;
}

int report_peer_metrics(const struct run *r, FILE *out)
{
	struct view v;
	double all_ms = 0;
	bool whole = r->complete;

	if (view_init(&v, r))
		return -ENOMEM;
	for (size_t i = 0; i < v.n; i++) {
		struct value x = view_metric(&v, &v.test[i], METRIC_ELAPSED);
		char key[KEY_MAX];

		metrics_key(key, v.test[i].title);
		whole = whole && x.known && v.test[i].n_complete;
		if (!x.known || !v.test[i].n_complete)
			continue;
		all_ms += x.mean / 1e6;
		fprintf(out, "table|lantest.%s.mean_ms|%s|ms|%.3f\n", key, metrics_label(key),
			x.mean / 1e6);
	}
	if (whole && v.n)
		fprintf(out, "inline|lantest.all_tests.mean_ms|All tests|ms|%.3f\n", all_ms);
	view_fini(&v);
	return fflush(out) || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
