/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints netatalk's line about a test that has ended. */
#include "report/progress.h"

#include "report/transfer.h"

#include <inttypes.h>

#define TITLE_WIDTH 66

static void report_progress_print_count(const struct run_phase *p, enum metric m, const char *what,
					FILE *out)
{
	if (p->known[m])
		fprintf(out, " %" PRIu64 " %s", p->value[m], what);
	else
		fprintf(out, " n/a %s", what);
}

void report_progress(const struct run *r, const struct run_phase *p, enum progress_size size,
		     bool io_columns, FILE *out)
{
	double mega = size == PROGRESS_NETATALK_SIZE ? 1048576 : 1e6;
	double ms = (double)p->value[METRIC_ELAPSED] / 1e6;
	double bytes = (double)p->value[METRIC_BYTES];

	fprintf(out, "Run %u => %-*.*s %6.0f ms", p->iteration, TITLE_WIDTH, TITLE_WIDTH, p->title,
		ms);
	if (size && ms > 0)
		fprintf(out, " for %.0f MB (avg. %.0f MB/s)", bytes / mega, bytes / 1000 / ms);
	fputs(p->complete ? "\n" : " (broke off)\n", out);
	if (io_columns) {
		fprintf(out, "         IO Operations; %s:", run_word(r, RUN_WORD_SERVER));
		report_progress_print_count(p, METRIC_AFPD_SYSCR, "READs,", out);
		report_progress_print_count(p, METRIC_AFPD_SYSCW, "WRITEs", out);
		fprintf(out, " | %s:", run_word(r, RUN_WORD_HELPER));
		report_progress_print_count(p, METRIC_CNID_SYSCR, "READs,", out);
		report_progress_print_count(p, METRIC_CNID_SYSCW, "WRITEs\n", out);
	}
	fflush(out);
}

void report_speed_progress(const struct run *r, const struct run_phase *p, FILE *out)
{
	struct transfer_unit unit = transfer_unit(r);
	struct stats s;

	if (transfer_stats(p->transfer, &s) || !s.n)
		return;
	fprintf(out, "%-22s %10.3f ms  %10.1f %s/s%s\n", p->title, s.median / 1e6,
		(double)p->transfer->moved / (s.median / 1e9) / unit.mega, unit.mb,
		p->complete ? "" : "  broke off");
	fflush(out);
}
