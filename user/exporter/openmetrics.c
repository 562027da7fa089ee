/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The families of metrics, a row each. A label is the name of a command, a role, a class or the
 * like, never of a user, a volume or a file: so there is a bounded number of series.
 */
#include "exporter/openmetrics.h"

#include "base/hist.h"
#include "base/text.h"
#include "run/requests.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define NS_PER_S   1000000000u
#define MS_PER_S   1000u
#define LABELS     (2 * OPENMETRICS_LABEL_MAX + 64)
#define CODE_LAST  -5000 /* AFP's result codes */
#define CODE_LEAST -5099

enum kind { COUNTER, GAUGE, HISTOGRAM, INFO };

struct writer {
	FILE *out;
	const struct tally *t;
	const struct openmetrics_style *s;
	const struct family *begun; /* whose head was written last */
	size_t n_commands;
	struct request *command; /* owned; by number, those without a name in the last one */
	char server[LABELS];     /* labels of every series; may be empty */
	size_t age_at;
};

struct family {
	const char *name, *unit, *help; /* unit NULL: a number */
	enum kind kind;
	void (*put)(struct writer *w, const struct family *f);
	unsigned int at; /* enum tally_number, of those that put what is there */
};

/* Samples */

static const char *suffix(const struct family *f)
{
	return f->kind == COUNTER ? "_total" : f->kind == INFO ? "_info" : "";
}

static void head(struct writer *w, const struct family *f)
{
	static const char *const type[] = { "counter", "gauge", "histogram", "info" };
	const char *more = w->s->openmetrics ? "" : suffix(f);
	bool plain = f->kind == INFO && !w->s->openmetrics;
	char help[OPENMETRICS_LABEL_MAX];

	if (w->begun == f)
		return;
	w->begun = f;
	fprintf(w->out, "# TYPE %s%s %s\n", f->name, more, type[plain ? GAUGE : f->kind]);
	if (w->s->openmetrics && f->unit)
		fprintf(w->out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(w->out, "# HELP %s%s %s\n", f->name, more,
		run_kind_text(w->s->kind, f->help, help, sizeof(help)));
}

static void name(struct writer *w, const struct family *f, const char *more, const char *labels)
{
	bool both = *labels && *w->server, any = *labels || *w->server;

	head(w, f);
	fprintf(w->out, "%s%s%s%s%s%s%s ", f->name, more, any ? "{" : "", labels, both ? "," : "",
		w->server, any ? "}" : "");
}

static void created(struct writer *w, const struct family *f, const char *labels)
{
	if (!w->s->openmetrics || f->kind == GAUGE || f->kind == INFO)
		return;
	name(w, f, "_created", labels);
	fprintf(w->out, "%" PRIu64 ".%03" PRIu64 "\n", w->s->created_ms / MS_PER_S,
		w->s->created_ms % MS_PER_S);
}

static void put_n(struct writer *w, const struct family *f, const char *labels, uint64_t n)
{
	name(w, f, suffix(f), labels);
	fprintf(w->out, "%" PRIu64 "\n", n);
	created(w, f, labels);
}

static void print_ns(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
}

static void put_ns(struct writer *w, const struct family *f, const char *labels, uint64_t ns)
{
	name(w, f, suffix(f), labels);
	print_ns(w->out, ns);
	fputc('\n', w->out);
	created(w, f, labels);
}

/* key="value", for names of ours. */
static const char *exporter_openmetrics_label(char buf[LABELS], const char *key, const char *value)
{
	snprintf(buf, LABELS, "%s=\"%s\"", key, value);
	return buf;
}

static const char *label_command(char buf[LABELS], const char *command, const char *key,
				 const char *value)
{
	snprintf(buf, LABELS, "command=\"%.250s\",%s=\"%.250s\"", command, key, value);
	return buf;
}

static const char *label_role(char buf[LABELS], unsigned int role, const char *key,
			      const char *value)
{
	snprintf(buf, LABELS, "role=\"%s\",%s=\"%.250s\"", ledger_role_name(role), key, value);
	return buf;
}

/* Of the exporter */

static void put_up(struct writer *w, const struct family *f)
{
	put_n(w, f, "", w->t->up);
}

static void put_info(struct writer *w, const struct family *f)
{
	char labels[2 * LABELS], server[OPENMETRICS_LABEL_MAX], kernel[OPENMETRICS_LABEL_MAX];
	struct utsname u = { 0 };

	uname(&u);
	snprintf(labels, sizeof(labels), "version=\"%s\",kernel=\"%s\",rung=\"%s\",server=\"%s\"",
		 AFPSCOPE_VERSION, openmetrics_label(kernel, u.release),
		 w->t->up ? w->t->shown.rung : "",
		 w->t->up ? openmetrics_label(server, w->t->shown.server) : "");
	name(w, f, "_info", labels);
	fputs("1\n", w->out);
}

static void put_age(struct writer *w, const struct family *f)
{
	if (!w->t->up)
		return;
	name(w, f, "", "");
	w->age_at = (size_t)ftell(w->out);
	fputc('\n', w->out);
}

static void put_watches(struct writer *w, const struct family *f)
{
	put_n(w, f, "", w->t->watches);
}

static void put_unwatched(struct writer *w, const struct family *f)
{
	put_ns(w, f, "", w->s->unwatched_ns);
}

static void openmetrics_put_losses(struct writer *w, const struct family *f)
{
	char text[OPENMETRICS_LABEL_MAX], labels[LABELS];
	const struct tally_reading *r = &w->t->shown;

	for (size_t i = 0; i < r->n_losses; i++)
		put_n(w, f,
		      exporter_openmetrics_label(labels, "what",
						 openmetrics_label(text, r->loss[i].what)),
		      r->loss[i].n);
}

static void put_checks(struct writer *w, const struct family *f)
{
	const struct tally_reading *r = &w->t->shown;

	if (!r->known[TALLY_AGREE])
		return;
	put_n(w, f, "outcome=\"agree\"", r->n[TALLY_AGREE]);
	put_n(w, f, "outcome=\"disagree\"", r->n[TALLY_DISAGREE]);
}

static void openmetrics_put_cost(struct writer *w, const struct family *f)
{
	const struct tally_reading *r = &w->t->shown;

	put_ns(w, f, "where=\"exporter\"", w->s->own_ns);
	if (r->known[TALLY_PROGRAMS_NS])
		put_ns(w, f, "where=\"programs\"", r->n[TALLY_PROGRAMS_NS]);
}

/* Of sessions */

static void put_sessions(struct writer *w, const struct family *f)
{
	if (w->t->up)
		put_n(w, f, "", w->t->shown.sessions);
}

static void put_known(struct writer *w, const struct family *f)
{
	if (w->t->shown.known[f->at])
		put_n(w, f, "", w->t->shown.n[f->at]);
}

/* Of requests */

static bool openmetrics_has_name(const struct writer *w, const struct request *r)
{
	return r->number != AFS_ACCOUNT_UNNAMED &&
	       account_known_name_of(run_kind_accounts(w->s->kind), r->number);
}

static const char *openmetrics_command_name(const struct writer *w, const struct request *r)
{
	return openmetrics_has_name(w, r)
		   ? account_known_name_of(run_kind_accounts(w->s->kind), r->number)
		   : "other";
}

static const char *command_label(const struct writer *w, char buf[LABELS], const struct request *r)
{
	return exporter_openmetrics_label(buf, "command", openmetrics_command_name(w, r));
}

static int openmetrics_by_number(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return (int)x->number - (int)y->number;
}

static void openmetrics_add_request(struct request *to, const struct request *from)
{
	ledger_account_add(&to->a, &from->a);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		to->time_ns[i] += from->time_ns[i];
	to->handed_ns += from->handed_ns;
}

/* Only those that were answered, or counted without a time. A client may ask for any number: those
 * without a name are one. */
static int find_commands(struct writer *w)
{
	struct request other = { .number = AFS_N_ACCOUNTS };
	struct requests all;
	size_t n = 0;

	if (requests_init(&all, &w->t->shown.ledger))
		return -ENOMEM;
	for (size_t i = 0; i < all.n; i++) {
		if (!all.request[i].a.sum.answered && !all.request[i].a.sum.untimed)
			continue;
		if (openmetrics_has_name(w, &all.request[i]))
			all.request[n++] = all.request[i];
		else
			openmetrics_add_request(&other, &all.request[i]);
	}
	qsort(all.request, n, sizeof(*all.request), openmetrics_by_number);
	if (other.a.sum.answered ||
	    other.a.sum.untimed) /* it took the place of one that was added to it */
		all.request[n++] = other;
	w->command = all.request;
	w->n_commands = n;
	return 0;
}

static void put_requests(struct writer *w, const struct family *f)
{
	char labels[LABELS];

	for (size_t i = 0; i < w->n_commands; i++)
		if (w->command[i].a.sum.answered)
			put_n(w, f, command_label(w, labels, &w->command[i]),
			      w->command[i].a.sum.answered);
}

static void put_untimed(struct writer *w, const struct family *f)
{
	char labels[LABELS];

	for (size_t i = 0; i < w->n_commands; i++)
		if (w->command[i].a.sum.untimed)
			put_n(w, f, command_label(w, labels, &w->command[i]),
			      w->command[i].a.sum.untimed);
}

static void put_received(struct writer *w, const struct family *f)
{
	char labels[LABELS];

	for (size_t i = 0; i < w->n_commands; i++)
		put_n(w, f, command_label(w, labels, &w->command[i]), w->command[i].a.sum.bytes_in);
}

static void put_sent(struct writer *w, const struct family *f)
{
	char labels[LABELS];

	for (size_t i = 0; i < w->n_commands; i++)
		put_n(w, f, command_label(w, labels, &w->command[i]),
		      w->command[i].a.sum.bytes_out);
}

/* A client cannot make any number of series: codes that the kind knows, of AFP all in its range. */
static bool openmetrics_is_code(const struct writer *w, int32_t code)
{
	if (run_kind_accounts(w->s->kind))
		return run_kind_result_text(w->s->kind, code);
	return code >= CODE_LEAST && code <= CODE_LAST;
}

/* These, and all others together: those of errors, or the normal one. */
static void put_results_of(struct writer *w, const struct family *f, const struct request *r,
			   bool normal)
{
	const struct ledger *l = &w->t->shown.ledger;
	const struct ledger_result *x;
	char labels[LABELS], code[RUN_RESULT_MAX];
	uint64_t others = 0;

	for (size_t i = 0; i < l->n_results; i++) {
		x = &l->result[i];
		if (x->account != r->number ||
		    normal != (x->code ==
			       account_normal_result(run_kind_accounts(w->s->kind), r->number)))
			continue;
		if (!openmetrics_is_code(w, x->code)) {
			others += x->n;
			continue;
		}
		run_kind_result(w->s->kind, x->code, code);
		put_n(w, f, label_command(labels, openmetrics_command_name(w, r), "code", code),
		      x->n);
	}
	if (r->number == AFS_N_ACCOUNTS && !normal)
		others = r->a.sum.errors;
	if (others)
		put_n(w, f, label_command(labels, openmetrics_command_name(w, r), "code", "other"),
		      others);
}

static void put_errors(struct writer *w, const struct family *f)
{
	for (size_t i = 0; i < w->n_commands; i++)
		put_results_of(w, f, &w->command[i], false);
}

static void put_normal(struct writer *w, const struct family *f)
{
	for (size_t i = 0; i < w->n_commands; i++)
		put_results_of(w, f, &w->command[i], true);
}

/* Of whole ns "less than the border" is "at most the border less 1 ns". */
static void put_buckets(struct writer *w, const struct family *f, const struct request *r)
{
	char labels[LABELS], le[48];
	uint64_t n = 0, border;
	size_t at = 0;

	for (size_t i = 0; (border = openmetrics_border(i)); i++) {
		for (; at < hist_index(border, AFS_REQUEST_BITS); at++)
			n += r->a.hist[at];
		snprintf(le, sizeof(le), "%" PRIu64 ".%09" PRIu64, (border - 1) / NS_PER_S,
			 (border - 1) % NS_PER_S);
		name(w, f, "_bucket",
		     label_command(labels, openmetrics_command_name(w, r), "le", le));
		fprintf(w->out, "%" PRIu64 "\n", n);
	}
	for (; at < AFS_REQUEST_BUCKETS; at++)
		n += r->a.hist[at];
	name(w, f, "_bucket", label_command(labels, openmetrics_command_name(w, r), "le", "+Inf"));
	fprintf(w->out, "%" PRIu64 "\n", n);
	command_label(w, labels, r);
	name(w, f, "_count", labels);
	fprintf(w->out, "%" PRIu64 "\n", n);
	name(w, f, "_sum", labels);
	print_ns(w->out, r->a.sum.ns);
	fputc('\n', w->out);
	created(w, f, labels);
}

/* Commands without a name have no histogram. */
static void put_durations(struct writer *w, const struct family *f)
{
	for (size_t i = 0; i < w->n_commands; i++)
		if (w->command[i].number < AFS_N_ACCOUNTS && w->command[i].a.sum.answered)
			put_buckets(w, f, &w->command[i]);
}

static void openmetrics_put_parts(struct writer *w, const struct family *f)
{
	char labels[LABELS];
	const struct request *r;

	for (size_t i = 0; i < w->n_commands; i++) {
		r = &w->command[i];
		for (size_t k = 0; k < ACCOUNT_N_COLUMNS; k++) {
			if (!r->time_ns[k])
				continue;
			put_ns(w, f,
			       label_command(labels, openmetrics_command_name(w, r), "part",
					     account_columns[k].key),
			       r->time_ns[k]);
		}
		if (r->number < AFS_N_ACCOUNTS && w->t->parked_ns[r->number])
			put_ns(
			    w, f,
			    label_command(labels, openmetrics_command_name(w, r), "part", "parked"),
			    w->t->parked_ns[r->number]);
		if (r->handed_ns)
			put_ns(w, f,
			       label_command(labels, openmetrics_command_name(w, r), "part",
					     "unknown"),
			       r->handed_ns);
	}
}

/* "CPU" -> "cpu" */
static const char *inside_key(unsigned int i, char buf[32])
{
	static const char *const key[AFS_N_INSIDE] = {
#define X(name, text) #name,
		AFS_INSIDE(X)
#undef X
	};
	size_t len = 0;

	for (; key[i][len]; len++)
		buf[len] = (char)tolower((unsigned char)key[i][len]);
	buf[len] = '\0';
	return buf;
}

static void openmetrics_put_inside(struct writer *w, const struct family *f)
{
	const struct ledger *l = &w->t->shown.ledger;
	char labels[LABELS], key[32];
	uint64_t ns;

	for (unsigned int i = 0; i < AFS_N_INSIDE; i++) {
		ns = 0;
		for (size_t k = 0; k < l->n_accounts; k++)
			ns += l->account[k].sum.inside[i];
		if (ns)
			put_ns(w, f,
			       exporter_openmetrics_label(labels, "state", inside_key(i, key)), ns);
	}
}

/* Of processes */

static void openmetrics_put_calls(struct writer *w, const struct family *f)
{
	char labels[LABELS];
	uint64_t n;

	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		for (unsigned int c = 0; c < AFS_N_CLASSES; c++) {
			n = ledger_sum(&w->t->shown.ledger, role, c, AFS_N_OBJECTS).calls;
			if (!n)
				continue;
			put_n(w, f, label_role(labels, role, "class", ledger_class_name(c)), n);
		}
}

static void put_role_ns(struct writer *w, const struct family *f)
{
	const struct tally_reading *r = &w->t->shown;
	char labels[LABELS];

	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		if (r->known[f->at + role])
			put_ns(w, f,
			       exporter_openmetrics_label(labels, "role", ledger_role_name(role)),
			       r->n[f->at + role]);
}

static void put_io(struct writer *w, const struct family *f)
{
	static const char *const way[] = { "read", "write" };
	const struct tally_reading *r = &w->t->shown;
	char labels[LABELS];
	unsigned int at;

	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		for (unsigned int i = 0; i < 2; i++) {
			at = f->at + TALLY_N_IO * role + i;
			if (r->known[at] && r->n[at])
				put_n(w, f, label_role(labels, role, "way", way[i]), r->n[at]);
		}
}

/* clang-format off */
static const struct family families[] = {
	{ "afpscope_up", NULL, "1 while a server is watched, 0 while there is none.", GAUGE, put_up, 0 },
	{ "afpscope", NULL, "Versions, and how the server is observed.", INFO, put_info, 0 },
	{ "afpscope_watches", NULL, "Watches that were begun: 1, and one more each time the server was restarted.", COUNTER, put_watches, 0 },
	{ "afpscope_unwatched_seconds", "seconds", "Time without a server that is watched, as while it is restarted: nothing of it is in any other figure.", COUNTER, put_unwatched, 0 },
	{ "afpscope_reading_age_seconds", "seconds", "How old the figures are.", GAUGE, put_age, 0 },
	{ "afpscope_losses", NULL, "What was missed: everything else is exact where these are 0.", COUNTER, openmetrics_put_losses, 0 },
	{ "afpscope_cross_checks", NULL, "Ended processes whose counts were compared with the kernel's own.", COUNTER, put_checks, 0 },
	{ "afpscope_watch_cpu_seconds", "seconds", "CPU time that watching took.", COUNTER, openmetrics_put_cost, 0 },
	{ "afpscope_sessions", NULL, "Sessions of clients now.", GAUGE, put_sessions, 0 },
	{ "afpscope_sessions_refused", NULL, "Sessions that the server refused because it had as many as it may.", COUNTER, put_known, TALLY_REFUSED },
	{ "afpscope_logins", NULL, "Logins that succeeded.", COUNTER, put_known, TALLY_LOGINS },
	{ "afpscope_requests", NULL, "Requests that were answered.", COUNTER, put_requests, 0 },
	{ "afpscope_untimed_requests", NULL, "Requests without a time of their own: messages of compounds, those without an answer, and frames that cannot be read.", COUNTER, put_untimed, 0 },
	{ "afpscope_request_errors", NULL, "Answers with a result that is an error.", COUNTER, put_errors, 0 },
	{ "afpscope_request_normal_results", NULL, "Answers with a result other than 0 that is none: the end of a list, a step of a login, a name that is not there.", COUNTER, put_normal, 0 },
	{ "afpscope_request_duration_seconds", "seconds", "Time from a request's first byte to the end of its answer, in the server.", HISTOGRAM, put_durations, 0 },
	{ "afpscope_request_time_seconds", "seconds", "Where this time went.", COUNTER, openmetrics_put_parts, 0 },
	{ "afpscope_request_received_bytes", "bytes", "Bytes of requests.", COUNTER, put_received, 0 },
	{ "afpscope_request_sent_bytes", "bytes", "Bytes of answers.", COUNTER, put_sent, 0 },
	{ "afpscope_cnid_wait_seconds", "seconds", "What the {backend} did while a request waited for it.", COUNTER, openmetrics_put_inside, 0 },
	{ "afpscope_system_calls", NULL, "System calls that returned.", COUNTER, openmetrics_put_calls, 0 },
	{ "afpscope_server_cpu_seconds", "seconds", "CPU time of the server's processes.", COUNTER, put_role_ns, TALLY_CPU_NS },
	{ "afpscope_server_runq_seconds", "seconds", "Time in which the server's threads were runnable and waited for a CPU.", COUNTER, put_role_ns, TALLY_RUNQ_NS },
	{ "afpscope_io_calls", NULL, "Reads and writes as /proc/PID/io counts them.", COUNTER, put_io, TALLY_IO + TALLY_READS },
	{ "afpscope_io_bytes", "bytes", "Bytes of these reads and writes.", COUNTER, put_io, TALLY_IO + TALLY_READ_BYTES },
};
/* clang-format on */

/* Prometheus itself adds the host ("instance"), and would rename a label of ours with that name. */
static void name_server(struct writer *w)
{
	char text[OPENMETRICS_LABEL_MAX];
	unsigned int port = w->s->port ? w->s->port : w->t->shown.port;
	int n = 0;

	if (port)
		n = snprintf(w->server, sizeof(w->server), "port=\"%u\"", port);
	if (w->s->name)
		snprintf(w->server + n, sizeof(w->server) - (size_t)n, "%sname=\"%s\"",
			 n ? "," : "", openmetrics_label(text, w->s->name));
}

int openmetrics_write(FILE *out, const struct tally *t, const struct openmetrics_style *s,
		      size_t *age_at)
{
	struct writer w = { .out = out, .t = t, .s = s };
	int e = find_commands(&w);

	if (e)
		return e;
	name_server(&w);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		families[i].put(&w, &families[i]);
	if (s->openmetrics)
		fputs("# EOF\n", out);
	*age_at = w.age_at;
	free(w.command);
	return 0;
}
