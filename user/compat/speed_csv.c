/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CSV of speedtest 4.5: iterations and their statistics, then tables of a list of sizes. Every
 * line of a block has as many fields as its head; the throughput of _stddev is an empty field.
 */
#include "compat/speed.h"
#include "report/report.h"
#include "report/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MIB 1048576.0

static void put_statistic(const struct run_transfer *t, const char *what, double us, FILE *out)
{
	fprintf(out, "%s_%s,,%.3f,%" PRIu64 ",%.2f\n", t->work, what, (double)t->size / MIB,
		(uint64_t)us, speed_mb_s(t->size, us));
}

static int put_statistics(const struct run_transfer *t, FILE *out)
{
	struct speed_stats s;
	int e = speed_stats(t, &s);

	if (e || s.us.n < 2)
		return e;
	put_statistic(t, "mean", s.us.mean, out);
	put_statistic(t, "median", s.us.median, out);
	fprintf(out, "%s_stddev,,%.3f,%" PRIu64 ",\n", t->work, (double)t->size / MIB,
		(uint64_t)s.us.stddev_population);
	put_statistic(t, "min", s.us.min, out);
	put_statistic(t, "max", s.us.max, out);
	return 0;
}

static void put_samples(const struct run_transfer *t, FILE *out)
{
	for (size_t i = 0; i < t->n_samples; i++) {
		const struct run_sample *s = &t->sample[i];
		uint64_t us = s->ns / 1000;

		if (transfer_counts(s))
			fprintf(out, "%s,%u,%.3f,%" PRIu64 ",%.2f\n", t->work, s->iteration,
				(double)t->size / MIB, us, speed_mb_s(t->size, (double)us));
	}
}

static int speed_csv_put_sizes(const struct run *r, const char *work, FILE *out)
{
	bool head = true;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_transfer *t = r->phase[i]->transfer;
		struct speed_stats s;

		if (strcmp(t->work, work))
			continue;
		if (head)
			fprintf(out,
				"\n# File Size Performance Summary for %s\n"
				"file_size_mb,mean_throughput_mbs,median_throughput_mbs,"
				"min_throughput_mbs,max_throughput_mbs,stddev_ms,mean_time_ms\n",
				work);
		head = false;
		if (speed_stats(t, &s))
			return -ENOMEM;
		if (s.us.n)
			fprintf(out, "%.3f,%.2f,%.2f,%.2f,%.2f,%.1f,%.1f\n", (double)t->size / MIB,
				speed_mb_s(t->size, s.us.mean), speed_mb_s(t->size, s.us.median),
				speed_mb_s(t->size, s.us.max), speed_mb_s(t->size, s.us.min),
				s.us.stddev_population / 1000, s.us.mean / 1000);
	}
	return 0;
}

static void speed_csv_put_tcp(const struct run *r, FILE *out)
{
	char value[3][SPEED_TCP_MAX];
	uint64_t at[2];

	if (!speed_looks(r, 0, TCP_RTT, at) && !speed_looks(r, 0, TCP_SNDBUF, at))
		return;
	fputs("\n# TCP Metrics Evolution Summary\nmetric,initial,final,delta\n", out);
	for (size_t i = 0; i < SPEED_TCP; i++) {
		const struct speed_tcp *t = &speed_tcp[i];

		if (!speed_looks(r, 0, t->value, at) || (t->positive && !at[0]))
			continue;
		fprintf(out, "%s,%s,%s,%s\n", t->csv,
			speed_tcp_text(t, (int64_t)at[0], false, false, value[0]),
			speed_tcp_text(t, (int64_t)at[1], false, false, value[1]),
			speed_tcp_text(t, (int64_t)(at[1] - at[0]), false, false, value[2]));
	}
}

int report_speed_csv(const struct run *r, FILE *out)
{
	int e = 0;

	fputs("test_name,iteration,file_size_mb,microseconds,throughput_mbs\n", out);
	for (size_t i = 0; i < r->n_phases && !e; i++) {
		put_samples(r->phase[i]->transfer, out);
		e = put_statistics(r->phase[i]->transfer, out);
	}
	for (size_t i = 0; i < SPEED_TESTS && !e && speed_is_sweep(r); i++)
		e = speed_csv_put_sizes(r, speed_tests[i], out);
	if (!e && speed_is_sweep(r))
		speed_csv_put_tcp(r, out);
	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}
