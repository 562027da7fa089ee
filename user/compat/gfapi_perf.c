/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gfapi_perf_tool: one load of small files, as its environment says, with its output; a run with
 * errors has no rates and fails. The loads are those of afpscope smallfile.
 */
#include "base/clock.h"
#include "compat/gfapi.h"
#include "compat/gfapi_text.h"
#include "compat/peer.h"
#include "drive/gun.h"
#include "drive/smallfile_clients.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define TICK_NS  100000000u
#define MIB      1048576.0

struct gfapi_run {
	struct workload w;
	const struct gfapi_cfg *cfg;
	struct clients *clients;
	struct gun *gun;
	uint64_t wall_ns; /* wall clock minus CLOCK_MONOTONIC, when the load began */
	struct gfapi_result all, *thread;
	bool failed;
};

static void note_thread(struct gfapi_run *x, const struct run_load *load, unsigned int i)
{
	const struct smallfile_counts *c = smallfile_clients_counts(x->clients, i);
	const struct run_client *client = &load->client[i];

	x->thread[i] = (struct gfapi_result) {
		.thread = (int)i,
		.files_read = c->read,
		.files_written = c->written,
		.files_deleted = c->deleted,
		.files_missing = c->missing,
		.transfers = c->records,
		.bytes = client->bytes,
		.failed = client->failed,
		.begin_ns = client->first_ns,
		.end_ns = client->last_ns ? load->begin_ns + client->last_ns : 0,
	};
	gfapi_result_add(&x->all, &x->thread[i]);
}

static void note_results(struct gfapi_run *x, const struct run_phase *p)
{
	const struct run_load *load = p->load;

	x->all.thread = -1;
	for (unsigned int i = 0; i < x->cfg->threads; i++)
		note_thread(x, load, i);
	x->failed = x->all.failed || load->n_lost;
	if (x->all.failed)
		cmd_say("%" PRIu64 " of %" PRIu64 " files failed, the first: %s", x->all.failed,
			x->cfg->threads * x->cfg->files, load->first_failure);
	if (load->n_lost)
		cmd_say("%u of %u threads lost the volume: %s", load->n_lost, load->n_clients,
			load->why);
}

static int gfapi_perf_await_gun(struct gfapi_run *x, struct err *e)
{
	const struct gfapi_cfg *cfg = x->cfg;
	const struct gun_opts o = { .file = cfg->gun,
				    .root = *cfg->volume_place ? cfg->volume_place : NULL,
				    .threads = (unsigned int)cfg->threads,
				    .timeout_s = (unsigned int)cfg->gun_timeout_s,
				    .out = stdout,
				    .lists = true };

	return *cfg->gun ? gun_wait(&x->gun, &o, e) : 0;
}

static bool reads(const struct gfapi_cfg *cfg)
{
	return cfg->mixed || smallfile_flags(cfg->load) & SMALLFILE_READS;
}

static int gfapi_perf_load(struct gfapi_run *x, struct run_phase *p, struct err *e)
{
	int r;

	p->start_ns = clock_now_ns();
	r = smallfile_clients_start(x->clients, x->cfg->load, 0, e);
	if (r)
		return r;
	while (!clients_wait(x->clients, TICK_NS))
		;
	r = clients_join(x->clients, p, e);
	return r ? r : smallfile_clients_judge(p, e);
}

static int gfapi_perf_measure(struct gfapi_run *x, struct err *e)
{
	struct run_phase *p = run_phase(&x->w.s.run, 1, 1, smallfile_name(x->cfg->load));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	r = smallfile_clients_room(&x->w.s, &x->cfg->set, (unsigned int)x->cfg->threads,
				   &x->cfg->load, 1, e);
	r = r ? r : smallfile_clients_make(x->clients, "", e);
	r = r ? r : gfapi_perf_await_gun(x, e);
	if (r)
		return r;
	if (reads(x->cfg))
		smallfile_clients_look(x->clients, p);
	x->wall_ns = (uint64_t)clock_wall_offset_ns();
	r = gfapi_perf_load(x, p, e);
	if (p->load)
		note_results(x, p);
	return r;
}

static int gfapi_perf_work(struct workload *w, struct err *e)
{
	struct gfapi_run *x = (struct gfapi_run *)w;
	const struct smallfile_clients_opts o = {
		.session = &w->s,
		.set = x->cfg->set,
		.clients = (unsigned int)x->cfg->threads,
		.cached = x->cfg->fuse && !x->cfg->direct ? x->cfg->place : NULL,
		.pause_ns = x->cfg->delay_us * 1000u,
		/* its lines in a log are the original's */
		.live = isatty(fileno(w->s.progress)) ? TICKER_SHOWN : TICKER_OFF
	};
	int r = smallfile_clients_open(&x->clients, &o, e);

	r = r ? r : gfapi_perf_measure(x, e);
	gun_close(x->gun);
	clients_close(x->clients, NULL);
	return r;
}

static enum outcome gfapi_perf_prepare(struct workload *w, struct err *e)
{
	struct gfapi_run *x = (struct gfapi_run *)w;
	size_t align = w->s.store->align;

	if (align < 2 || x->cfg->set.record_len % align == 0)
		return OUTCOME_OK;
	err_set(
	    e, -EINVAL,
	    "GFAPI_DIRECT: the record must be a multiple of %zu bytes here, and it has %" PRIu64,
	    align, x->cfg->set.record_len);
	return OUTCOME_USAGE;
}

/* ---- output ---- */

static void put_start(FILE *out, const struct gfapi_run *x, const struct run_load *load)
{
	uint64_t ns = x->all.begin_ns + x->wall_ns;

	if (!x->all.begin_ns)
		return;
	fprintf(out, "started at %" PRIu64 ".%06" PRIu64 " (seconds since 1970)", ns / NS_PER_S,
		ns % NS_PER_S / 1000);
	if (x->cfg->threads > 1)
		fprintf(out, ", the threads within %.6f sec",
			(double)smallfile_clients_skew_ns(load) / NS_PER_S);
	fputc('\n', out);
}

/* While all threads had files to do. */
static void put_common(FILE *out, const struct gfapi_run *x, const struct run_load *load)
{
	double s;

	if (x->cfg->threads < 2 || load->common_ns <= x->all.begin_ns || !x->all.begin_ns)
		return;
	s = (double)(load->common_ns - x->all.begin_ns) / NS_PER_S;
	fprintf(out,
		"until the first thread was done: %" PRIu64 " files, %" PRIu64
		" bytes in %.2f sec (%.2f files/s, %.2f MiB/s)\n",
		load->common_n, load->common_bytes, s, (double)load->common_n / s,
		(double)load->common_bytes / MIB / s);
}

/* Of what was to be read, as far as it was looked at. */
static void put_cached(FILE *out, const struct run_phase *p)
{
	uint64_t looked = p->value[METRIC_CACHE_LOOKED];

	if (looked)
		fprintf(out,
			"in this machine's page cache before: %.0f%% of %" PRIu64
			" bytes that were looked at (GFAPI_DIRECT=1 reads past it)\n",
			100.0 * (double)p->value[METRIC_CACHED] / (double)looked, looked);
}

static int gfapi_perf_report(struct workload *w, const struct report_opts *o)
{
	const struct gfapi_run *x = (const struct gfapi_run *)w;
	const struct run_phase *p = w->s.run.phase[0];
	const struct gfapi_way way = { .what = x->cfg->what,
				       .mixed = x->cfg->mixed,
				       .rates = p->complete && !x->failed,
				       .debug = x->cfg->debug };

	(void)o;
	if (!p->load)
		return 0;
	for (unsigned int i = 0; i < x->cfg->threads; i++)
		gfapi_put_result(stdout, &x->thread[i], &way);
	gfapi_put_result(stdout, &x->all, &way);
	gfapi_put_latencies(stdout, p);
	put_start(stdout, x, p->load);
	if (way.rates)
		put_common(stdout, x, p->load);
	put_cached(stdout, p);
	return 0;
}

static int gfapi_perf_exit_code(const struct workload *w, enum outcome o)
{
	const struct gfapi_run *x = (const struct gfapi_run *)w;

	return peer_plain_exit_code(!o && x->failed ? OUTCOME_REFUSED : o);
}

static int gfapi_perf_run(const struct gfapi_cfg *cfg)
{
	static const struct workload_type type = {
		.name = "gfapi_perf_tool",
		.set = "smallfile-1",
		.window = 1,
		.has_store = true,
		.prepare = gfapi_perf_prepare,
		.work = gfapi_perf_work,
		.report = gfapi_perf_report,
		.exit_code = gfapi_perf_exit_code,
	};
	struct gfapi_run *x = calloc(1, sizeof(*x));
	int code = 1;

	if (x)
		x->thread = calloc(cfg->threads, sizeof(*x->thread));
	if (x && x->thread) {
		x->cfg = cfg;
		workload_init(&x->w, &type, &cfg->w);
		code = workload_run(&x->w);
		free(x->thread);
	} else {
		cmd_say("out of memory");
	}
	free(x);
	return code;
}

/*
 * The directory of the files is not made here; what is removed need not be there (*out is NULL).
 * Kept open during the run: the last store of a volume may take a second to close.
 */
static int gfapi_perf_open_place(struct store **out, const struct gfapi_cfg *cfg, struct err *e)
{
	int r;

	*out = NULL;
	if (cfg->load == SMALLFILE_DELETE)
		return 0;
	r = store_open_local(out, cfg->place, cfg->direct, e);
	if (r == -EINVAL && cfg->direct && cfg->fuse)
		err_set(e, r,
			"GFAPI_DIRECT: the file system of GFAPI_BASEDIR=%s has no O_DIRECT: use "
			"GFAPI_DIRECT=0",
			cfg->base);
	return r;
}

/* Where gfapi_perf_tool has it. */
static void begin_log(const struct gfapi_cfg *cfg)
{
	char path[64];

	if (!cfg->trace_level || cfg->fuse)
		return;
	snprintf(path, sizeof(path), "/tmp/glfs-%d.log", (int)getpid());
	setenv("AFPSCOPE_GFAPI_LOG", path, 0);
}

int cmd_gfapi_perf(int argc, char **argv)
{
	struct gfapi_cfg cfg;
	struct store *place;
	struct err e = { 0 };
	int code = 1;

	if (argc > 1) {
		gfapi_usage(stdout, argv[0]);
		return 1;
	}
	if (gfapi_read(&cfg, &e)) {
		cmd_say("%s", e.text);
		return 1;
	}
	gfapi_put_head(stdout, &cfg);
	fflush(stdout);
	begin_log(&cfg);
	cmd_catch_signals();
	if (gfapi_perf_open_place(&place, &cfg, &e))
		cmd_say("%s", e.text);
	else
		code = gfapi_perf_run(&cfg);
	store_close(place);
	return code;
}
