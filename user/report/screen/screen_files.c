/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads of small files: a line for each, how fast it was and what the server did for a file. */
#include "report/about.h"
#include "report/screen/screen.h"

#include <stdlib.h>
#include <string.h>

#define ASIDE_SAID 0.01 /* share of the clients' time */

enum {
	COL_NAME,
	COL_N,
	COL_FAILED,
	COL_RATE,
	COL_COMMON,
	COL_BYTES,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_P999,
	COL_MAX,
	COL_REQUESTS,
	COL_CACHED,
	COL_CALLS
};

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "load" },
	[COL_N] = { .head = "done" },
	[COL_FAILED] = { .head = "failed" },
	[COL_RATE] = { .head = "per" GLUE "s", .unit = "1/s" },
	[COL_COMMON] = { .head = "stonewall", .unit = "1/s" },
	[COL_BYTES] = { .head = "MB/s", .name = "mb_per_s", .unit = "MB/s" },
	[COL_MEAN] = { .head = "mean", .drop = 2 },
	[COL_P50] = { .head = "p50" },
	[COL_P99] = { .head = "p99" },
	[COL_P999] = { .head = "p99.9", .name = "p999", .drop = 1 },
	[COL_MAX] = { .head = "max", .drop = 3 },
	[COL_REQUESTS] = { .head = "requests" },
	[COL_CACHED] = { .head = "cached", .unit = "%" },
	[COL_CALLS] = { .head = "server" GLUE "calls" },
};

static const struct section_type files_section = {
	.key = "files",
	.title = "Small files",
	.begin = SECTION_AT_ONCE,
	SECTION_OF(columns),
};

static double screen_files_seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

static struct cell screen_files_per_second(uint64_t n, double s)
{
	return s > 0 ? cell_rate((double)n / s) : cell_na();
}

/* For each operation; not known where the server was not watched. */
static struct cell each(double n, uint64_t operations, bool known)
{
	return known && operations ? cell_fixed(n / (double)operations, 1) : cell_na();
}

/* A mounted volume's own process works for the client. */
static double server_calls(const struct ledger *l)
{
	struct afs_cell all = ledger_sum(l, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS);
	struct afs_cell client = ledger_sum(l, AFS_ROLE_CLIENT, AFS_N_CLASSES, AFS_N_OBJECTS);

	return (double)(all.calls - client.calls);
}

/* How much of what was read was in this machine's memory before. */
static struct cell cached(const struct run_phase *phase)
{
	if (!phase->known[METRIC_CACHE_LOOKED])
		return cell_blank();
	return screen_percent(
	    (double)phase->value[METRIC_CACHED] / (double)phase->value[METRIC_CACHE_LOOKED], 1);
}

static void screen_files_put_row(struct section *to, const struct run_phase *phase)
{
	const struct run_load *l = phase->load;
	const struct ledger *ledger = &phase->ledger;
	struct cell *cell = section_row(to)->cell;
	const struct hist *h;
	struct run_action all;
	double s = screen_files_seconds(l->begin_ns, l->done_ns);

	run_load_all(l, &all);
	h = &all.begun;
	cell[COL_NAME] = cell_text(phase->title, 16);
	cell[COL_N] = cell_count(all.n - all.failed);
	cell[COL_FAILED] = all.failed ? cell_count(all.failed) : cell_blank();
	cell[COL_RATE] = screen_files_per_second(all.n - all.failed, s);
	cell[COL_COMMON] = screen_files_per_second(l->common_n,
						   screen_files_seconds(l->begin_ns, l->common_ns));
	cell[COL_BYTES] = phase->value[METRIC_BYTES] && s > 0
			      ? cell_rate((double)phase->value[METRIC_BYTES] / s / 1e6)
			      : cell_blank();
	cell[COL_MEAN] = h->n ? screen_time(hist_mean(h)) : cell_na();
	cell[COL_P50] = screen_quantile(h, 0.5);
	cell[COL_P99] = screen_quantile(h, 0.99);
	cell[COL_P999] = screen_quantile(h, 0.999);
	cell[COL_MAX] = h->n ? screen_time((double)h->max) : cell_na();
	cell[COL_REQUESTS] = each((double)phase->value[METRIC_OPS], all.n, true);
	cell[COL_CACHED] = cached(phase);
	cell[COL_CALLS] = each(server_calls(ledger), all.n, ledger->has_calls);
}

/* Columns that say nothing here. */
static void screen_files_choose_columns(struct section *s, const struct run *r)
{
	bool failed = false, calls = false, bytes = false, several = false, looked = false;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *phase = r->phase[i];

		failed |= phase->value[METRIC_ERRORS] > 0;
		bytes |= phase->value[METRIC_BYTES] > 0;
		calls |= phase->ledger.has_calls;
		looked |= phase->known[METRIC_CACHE_LOOKED];
		several |= phase->load && phase->load->n_clients > 1 && phase->load->common_ns;
	}
	s->column[COL_FAILED].off = !failed;
	s->column[COL_BYTES].off = !bytes;
	s->column[COL_CALLS].off = !calls;
	s->column[COL_CACHED].off = !looked;
	s->column[COL_COMMON].off = !several;
}

static const char *screen_files_option(const struct run *r, const char *key)
{
	const char *text = run_note_find(&r->options, key);

	return text ? text : "0";
}

static bool screen_files_is_on(const struct run *r, const char *key)
{
	return !strcmp(screen_files_option(r, key), "yes");
}

/* "2 clients, each 1,000 files of 4 KiB, 8.2 MB in all, records of 64 KiB" */
static void screen_files_put_set(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t clients = run_note_number(&r->options, "clients");
	uint64_t files = run_note_number(&r->options, "files");
	char len[RUN_SIZE_MAX], record[RUN_SIZE_MAX];
	struct screen_text t = { 0 };

	run_size(run_note_number(&r->options, "file_bytes"), len);
	run_size(run_note_number(&r->options, "record_bytes"), record);
	screen_add(&t, "%s client%s, %s%s file%s of %s%s, %s MB in all, records of %s",
		   cell_count(clients).text, clients == 1 ? "" : "s", clients == 1 ? "" : "each ",
		   cell_count(files).text, files == 1 ? "" : "s",
		   strcmp(screen_files_option(r, "lengths"), "fixed") ? "about " : "", len,
		   cell_rate((double)run_note_number(&r->options, "set_bytes") / 1e6).text, record);
	if (screen_files_is_on(r, "fsync"))
		screen_add(&t, ", flushed");
	if (screen_files_is_on(r, "direct"))
		screen_add(&t, ", past the page cache");
	if (!screen_files_is_on(r, "verified"))
		screen_add(&t, "; what was read was not compared");
	fputc('\n', p->out);
	screen_put(p, INK_BOLD, t.text, 2);
}

static bool has_ranks(const struct run *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->load && r->phase[i]->load->n_ranks)
			return true;
	return false;
}

/* Of the time of all clients, what they made and compared data in. */
static double aside_share(const struct run *r)
{
	double aside_ns = 0, own_ns = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_load *l = r->phase[i]->load;

		aside_ns += l ? (double)l->aside_ns : 0;
		for (unsigned int k = 0; l && k < l->n_clients; k++)
			own_ns += (double)l->client[k].last_ns;
	}
	return aside_ns > 0 ? aside_ns / (own_ns + aside_ns) : 0;
}

static void screen_files_put_caption(const struct paint *p, const struct section_column *column)
{
	double aside = aside_share(p->view.run);
	struct screen_text t = { 0 };

	if (!column[COL_COMMON].off)
		screen_add(&t, "per s: until the last client was done; stonewall: until the first "
			       "was. ");
	if (!column[COL_CACHED].off)
		screen_add(&t,
			   "cached: of the bytes to be read%s, in this machine's page cache "
			   "before. ",
			   has_ranks(p->view.run) ? " by rank 0's clients" : "");
	if (column[COL_CALLS].off)
		screen_add(&t, "requests: of a client for one operation");
	else
		screen_add(&t, "requests, server calls: for one operation");
	if (aside >= ASIDE_SAID)
		screen_add(&t,
			   ". Making and comparing data took the clients %s more, which is in "
			   "no figure",
			   screen_percent(aside, 1).text);
	screen_put(p, INK_NONE, t.text, 2);
}

bool screen_is_of_files(const struct run *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->load)
			return r->phase[i]->load->given;
	return false;
}

int screen_files(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct section s;
	bool any;
	int e;

	section_open(&s, p, &files_section);
	screen_files_choose_columns(&s, r);
	screen_files_put_set(p);
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->load)
			screen_files_put_row(&s, r->phase[i]);
	any = s.n_rows;
	e = section_close(&s);
	if (e || !any)
		return e;
	screen_files_put_caption(p, s.column);
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->load)
			screen_silence(p, r->phase[i]->title, "operation", r->phase[i]->load);
	screen_ranks(p, r->phase, r->n_phases);
	return 0;
}

static int screen_files_clients(const struct paint *p)
{
	return screen_is_of_files(p->view.run) ? screen_files(p) : screen_load(p);
}

const struct report_about report_about_files = { .clients = screen_files_clients };
