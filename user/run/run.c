/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data model's memory and arithmetic. user/report shows it. */
#include "run/run.h"

#include "base/clock.h"
#include "base/vec.h"
#include "run/account.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAGE 4096

const struct metric_def run_metrics[N_METRICS] = {
#define X(name, key, unit, better, title, meaning) { key, unit, meaning, better, title },
	RUN_METRICS(X)
#undef X
};

const struct metric_def run_tcp_values[N_TCP] = {
#define X(name, key, unit, meaning) { key, unit, meaning, NULL, NULL },
	RUN_TCP(X)
#undef X
};

static void draw_id(char out[17])
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id = (uint64_t)clock_wall_ns() * 1000000007u ^ (uint64_t)getpid() << 24;
	snprintf(out, 17, "%016llx", (unsigned long long)id);
}

static int note_machine(struct run_notes *to)
{
	struct utsname u;
	int r;

	if (uname(&u))
		return 0;
	r = run_note(to, "kernel", "%s %s", u.sysname, u.release);
	if (!r)
		r = run_note(to, "machine", "%s", u.machine);
	if (!r)
		r = run_note(to, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (!r)
		r = run_note(to, "host", "%s", u.nodename);
	return r;
}

int run_init(struct run *r, const char *command, const char *set)
{
	*r = (struct run) { .command = command, .set = set };
	draw_id(r->id);
	clock_wall_text(r->started, clock_wall_ns());
	return note_machine(&r->environment);
}

void run_notes_fini(struct run_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++) {
		free(notes->note[i].key);
		free(notes->note[i].text);
	}
	free(notes->note);
	*notes = (struct run_notes) { 0 };
}

void run_clear_commands(struct run_phase *p)
{
	p->n_spare += p->n_commands;
	p->n_commands = 0;
	run_trim_commands(p);
	free(p->command);
	p->command = NULL;
}

static void phase_free(struct run_phase *p)
{
	run_clear_commands(p);
	ledger_fini(&p->ledger);
	if (p->transfer) {
		free(p->transfer->sample);
		free(p->transfer->tcp);
	}
	free(p->transfer);
	free(p->transfer_title);
	run_load_free(p->load);
	if (p->replay)
		free(p->replay->request);
	free(p->replay);
	run_load_free(p->probe);
	run_timeline_free(p->timeline);
	free(p);
}

static void series_fini(struct run_series *s)
{
	for (size_t i = 0; s->value && i < s->n_values; i++)
		free(s->value[i].why);
	free(s->value);
	free(s->t_ns);
	free(s->point);
}

void run_fini(struct run *r)
{
	struct run_notes *notes[] = { &r->environment, &r->server, &r->options, &r->rungs,
				      &r->warnings,    &r->absent, &r->labels };

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		run_notes_fini(notes[i]);
	for (size_t i = 0; i < r->n_books; i++)
		free(r->book[i].name);
	for (size_t i = 0; i < r->n_losses; i++)
		free(r->loss[i].what);
	for (size_t i = 0; i < r->n_phases; i++)
		phase_free(r->phase[i]);
	for (size_t i = 0; i < r->n_sessions; i++)
		run_session_fini(&r->session[i]);
	for (size_t i = 0; i < r->n_series; i++)
		series_fini(&r->series[i]);
	free(r->figures);
	free(r->threads);
	for (size_t i = 0; i < r->n_sockets; i++)
		free(r->socket[i].point);
	free(r->socket);
	free(r->series);
	free(r->session);
	free(r->service);
	free(r->book);
	free(r->loss);
	free(r->phase);
	*r = (struct run) { 0 };
}

static char *run_print(const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		return NULL;
	text = malloc((size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, ap);
	return text;
}

int run_note(struct run_notes *to, const char *key, const char *fmt, ...)
{
	struct run_note *note = vec_grown(to->note, to->n, sizeof(*note));
	struct run_note made = { 0 };
	va_list ap;

	if (!note)
		return -ENOMEM;
	to->note = note;
	va_start(ap, fmt);
	made.text = run_print(fmt, ap);
	va_end(ap);
	made.key = key ? strdup(key) : NULL;
	if (!made.text || (key && !made.key)) {
		free(made.text);
		free(made.key);
		return -ENOMEM;
	}
	note[to->n++] = made;
	return 0;
}

const char *run_note_find(const struct run_notes *in, const char *key)
{
	for (size_t i = 0; i < in->n; i++) {
		if (in->note[i].key && !strcmp(in->note[i].key, key))
			return in->note[i].text;
	}
	return NULL;
}

uint64_t run_note_number(const struct run_notes *in, const char *key)
{
	const char *text = run_note_find(in, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

static int add_book(struct run *r, const char *name, struct run_book b)
{
	struct run_book *book = vec_grown(r->book, r->n_books, sizeof(*book));

	if (!book)
		return -ENOMEM;
	r->book = book;
	b.name = strdup(name);
	if (!b.name)
		return -ENOMEM;
	book[r->n_books++] = b;
	return 0;
}

int run_book(struct run *r, const char *name, const char *with, uint64_t ours, uint64_t theirs)
{
	return add_book(r, name,
			(struct run_book) { .with = with,
					    .ours = ours,
					    .theirs = theirs,
					    .has_theirs = true,
					    .closed = ours == theirs });
}

int run_book_open(struct run *r, const char *name, const char *with, uint64_t ours)
{
	return add_book(r, name, (struct run_book) { .with = with, .ours = ours });
}

int run_loss(struct run *r, const char *what, uint64_t n)
{
	struct run_loss *loss = vec_grown(r->loss, r->n_losses, sizeof(*loss));
	char *copy;

	if (!loss)
		return -ENOMEM;
	r->loss = loss;
	copy = strdup(what);
	if (!copy)
		return -ENOMEM;
	loss[r->n_losses++] = (struct run_loss) { copy, n };
	return 0;
}

void run_session_fini(struct run_session *s)
{
	free(s->user);
	free(s->address);
	for (size_t i = 0; i < s->n_volumes; i++)
		free(s->volume[i]);
	*s = (struct run_session) { 0 };
}

const char *run_dialect(uint16_t dialect, char out[static RUN_DIALECT_MAX])
{
	unsigned int last = dialect & 0xf;

	snprintf(out, RUN_DIALECT_MAX, last ? "%u.%u.%u" : "%u.%u", dialect >> 8,
		 dialect >> 4 & 0xf, last);
	return out;
}

struct run_session *run_session(struct run *r)
{
	struct run_session *session = vec_grown(r->session, r->n_sessions, sizeof(*session));

	if (!session)
		return NULL;
	r->session = session;
	session += r->n_sessions++;
	*session = (struct run_session) { 0 };
	return session;
}

struct run_service *run_service(struct run *r)
{
	struct run_service *service = vec_grown(r->service, r->n_service, sizeof(*service));

	if (!service)
		return NULL;
	r->service = service;
	service += r->n_service++;
	*service = (struct run_service) { .account = AFS_ACCOUNT_BETWEEN };
	return service;
}

struct run_series *run_series(struct run *r, size_t n_values, size_t n)
{
	struct run_series *series = vec_grown(r->series, r->n_series, sizeof(*series));
	struct run_series made = { .n_values = n_values, .n = n };

	if (!series)
		return NULL;
	r->series = series;
	made.value = calloc(n_values, sizeof(*made.value));
	made.t_ns = calloc(n + 1, sizeof(*made.t_ns));
	made.point = calloc(n + 1, n_values * sizeof(*made.point));
	if (!made.value || !made.t_ns || !made.point) {
		series_fini(&made);
		return NULL;
	}
	series[r->n_series] = made;
	return &series[r->n_series++];
}

struct run_phase *run_phase(struct run *r, unsigned int test, unsigned int iteration,
			    const char *title)
{
	struct run_phase **phase = vec_grown(r->phase, r->n_phases, sizeof(struct run_phase *));
	struct run_phase *p;

	if (!phase)
		return NULL;
	r->phase = phase;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->test = test;
	p->iteration = iteration;
	p->title = title;
	phase[r->n_phases++] = p;
	return p;
}

struct run_phase *run_transfer(struct run *r, unsigned int test, const char *work, uint64_t size)
{
	struct run_phase *p = run_phase(r, test, 1, work);
	char text[RUN_SIZE_MAX];

	if (!p)
		return NULL;
	p->transfer = calloc(1, sizeof(*p->transfer));
	if (!p->transfer || asprintf(&p->transfer_title, "%s %s", work, run_size(size, text)) < 0) {
		p->transfer_title = NULL;
		return NULL;
	}
	p->title = p->transfer_title;
	p->transfer->work = work;
	p->transfer->size = size;
	return p;
}

struct run_sample *run_sample(struct run_transfer *t)
{
	struct run_sample *sample = vec_grown(t->sample, t->n_samples, sizeof(*sample));

	if (!sample)
		return NULL;
	t->sample = sample;
	sample += t->n_samples++;
	*sample = (struct run_sample) { 0 };
	return sample;
}

struct run_tcp *run_tcp(struct run_transfer *t, enum run_tcp_end end, enum run_tcp_when when)
{
	struct run_tcp *tcp = vec_grown(t->tcp, t->n_tcp, sizeof(*tcp));

	if (!tcp)
		return NULL;
	t->tcp = tcp;
	tcp += t->n_tcp++;
	*tcp = (struct run_tcp) { .end = end, .when = when };
	return tcp;
}

char *run_size(uint64_t bytes, char out[static RUN_SIZE_MAX])
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int i = 0;

	while (bytes && bytes % 1024 == 0 && i < sizeof(unit) / sizeof(unit[0]) - 1) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, RUN_SIZE_MAX, "%llu %s", (unsigned long long)bytes, unit[i]);
	return out;
}

void run_add(struct run_phase *p, enum metric m, uint64_t value)
{
	run_set(p, m, (p->known[m] ? p->value[m] : 0) + value);
}

void run_begin(struct run_phase *p, enum metric m, uint64_t reading)
{
	p->begun[m] = true;
	p->before[m] = reading;
}

void run_end(struct run_phase *p, enum metric m, uint64_t reading)
{
	if (p->begun[m])
		run_add(p, m, reading - p->before[m]);
	p->begun[m] = false;
}

void run_set(struct run_phase *p, enum metric m, uint64_t value)
{
	p->known[m] = true;
	p->value[m] = value;
}

static int add_spare(struct run_phase *p)
{
	size_t n = p->n_commands + p->n_spare;
	struct run_command **command = vec_grown(p->command, n, sizeof(struct run_command *));

	if (!command)
		return -ENOMEM;
	p->command = command;
	command[n] = calloc(1, sizeof(**command));
	if (!command[n])
		return -ENOMEM;
	p->n_spare++;
	return 0;
}

int run_reserve_commands(struct run_phase *p, size_t n)
{
	while (p->n_spare < n) {
		volatile char *page;

		if (add_spare(p))
			return -ENOMEM;
		/* so that no page fault comes later */
		page = (volatile char *)p->command[p->n_commands + p->n_spare - 1];
		for (size_t at = 0; at < sizeof(struct run_command); at += PAGE)
			page[at] = 0;
		page[sizeof(struct run_command) - 1] = 0;
	}
	return 0;
}

void run_spare_commands(struct run_phase *p)
{
	for (size_t i = 0; i < p->n_commands; i++)
		memset(p->command[i], 0, sizeof(*p->command[i]));
	p->n_spare += p->n_commands;
	p->n_commands = 0;
}

void run_trim_commands(struct run_phase *p)
{
	while (p->n_spare)
		free(p->command[p->n_commands + --p->n_spare]);
}

struct run_command *run_command(struct run_phase *p, uint8_t code, const char *name)
{
	struct run_command *c;

	for (size_t i = 0; i < p->n_commands; i++) {
		if (p->command[i]->code == code)
			return p->command[i];
	}
	if (!p->n_spare && add_spare(p))
		return NULL;
	p->n_spare--;
	c = p->command[p->n_commands++];
	c->code = code;
	c->name = name;
	return c;
}

int run_add_commands(struct run_phase *to, const struct run_phase *from)
{
	for (size_t i = 0; i < from->n_commands; i++) {
		const struct run_command *c = from->command[i];
		struct run_command *sum = run_command(to, c->code, c->name);

		if (!sum)
			return -ENOMEM;
		sum->errors += c->errors;
		hist_merge(&sum->latency, &c->latency);
	}
	return 0;
}

void run_warn_withdrawn(struct run *r, const char *title, const struct ledger *before,
			const struct ledger *after, const struct ledger *diff)
{
	if (!before->has_calls || !after->has_calls || diff->has_calls)
		return;
	if (!run_note_find(&r->warnings, "ledger"))
		run_note(&r->warnings, "ledger",
			 "%s: a total of the server's account went backwards: its calls and "
			 "requests of this phase are not reported",
			 title);
}

bool run_books_closed(const struct run *r)
{
	for (size_t i = 0; i < r->n_books; i++) {
		if (!r->book[i].closed)
			return false;
	}
	return true;
}

uint64_t run_losses(const struct run *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_losses; i++)
		sum += r->loss[i].n;
	return sum;
}

static bool counts(const struct run_phase *p, unsigned int test, enum metric m)
{
	return p->complete && p->test == test && p->known[m];
}

struct run_stat run_stat(const struct run *r, unsigned int test, enum metric m)
{
	struct run_stat s = { 0 };
	double squares = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		double v = (double)r->phase[i]->value[m];

		if (!counts(r->phase[i], test, m))
			continue;
		s.min = s.n && s.min < v ? s.min : v;
		s.max = s.n && s.max > v ? s.max : v;
		s.n++;
		s.mean += v;
	}
	if (s.n)
		s.mean /= (double)s.n;
	for (size_t i = 0; i < r->n_phases; i++) {
		double d = (double)r->phase[i]->value[m] - s.mean;

		if (counts(r->phase[i], test, m))
			squares += d * d;
	}
	if (s.n > 1)
		s.stddev = sqrt(squares / (double)(s.n - 1));
	return s;
}

void run_latency(const struct run *r, unsigned int test, int code, struct hist *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		if (!p->complete || (test && p->test != test))
			continue;
		for (size_t k = 0; k < p->n_commands; k++) {
			if (code < 0 || p->command[k]->code == code)
				hist_merge(out, &p->command[k]->latency);
		}
	}
}
