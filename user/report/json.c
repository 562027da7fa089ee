/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run as one JSON object; docs/data-model.md tells what is in it. */
#include "report/json.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void json_put(struct json_doc *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		d->failed = true;
}

void json_add(struct json_doc *d, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		d->failed = true;
}

json_t *json_number(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

json_t *json_text(const char *s)
{
	json_t *made = s ? json_string(s) : json_null(), *one;
	char *copy, *to;

	if (made)
		return made;
	copy = to = malloc(3 * strlen(s) + 1);
	if (!copy)
		return NULL;
	while (*s) {
		size_t len = 1, left = strlen(s);

		/* The shortest prefix that jansson takes is one character. */
		for (one = NULL; len <= 4 && len <= left && !one; len++)
			one = json_stringn(s, len);
		len--;
		if (one)
			to = (char *)memcpy(to, s, len) + len;
		else
			to = (char *)memcpy(to, "\xef\xbf\xbd", 3) + 3;
		s += one ? len : 1;
		json_decref(one);
	}
	made = json_stringn(copy, (size_t)(to - copy));
	free(copy);
	return made;
}

/* Keys become members; texts of the same key are joined by a newline, so none is lost. */
static json_t *notes(struct json_doc *d, const struct run_notes *in)
{
	json_t *o = json_object();

	for (size_t i = 0; i < in->n; i++) {
		const char *key = in->note[i].key ? in->note[i].key : "";
		const char *before = json_string_value(json_object_get(o, key));
		json_t *value = json_text(in->note[i].text);

		if (before && value) {
			json_t *joined = json_sprintf("%s\n%s", before, json_string_value(value));

			json_decref(value);
			value = joined;
		}
		json_put(d, o, key, value);
	}
	return o;
}

static json_t *warnings(struct json_doc *d, const struct run_notes *in)
{
	json_t *a = json_array();

	for (size_t i = 0; i < in->n; i++) {
		json_t *o = json_object();

		json_put(d, o, "key", json_text(in->note[i].key));
		json_put(d, o, "text", json_text(in->note[i].text));
		json_add(d, a, o);
	}
	return a;
}

json_t *json_buckets(struct json_doc *d, unsigned int bits, const uint64_t *bucket, size_t n)
{
	json_t *o = json_object(), *list = json_array();

	json_put(d, o, "bits", json_integer(bits));
	for (size_t i = 0; i < n; i++) {
		json_t *pair;

		if (!bucket[i])
			continue;
		pair = json_array();
		json_add(d, pair, json_number(i));
		json_add(d, pair, json_number(bucket[i]));
		json_add(d, list, pair);
	}
	json_put(d, o, "buckets", list);
	return o;
}

static json_t *latency(struct json_doc *d, const struct hist *h)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {
		{ "p50_ns", 0.5 }, { "p95_ns", 0.95 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }
	};
	json_t *o = json_object();

	json_put(d, o, "n", json_number(h->n));
	json_put(d, o, "sum_ns", json_number(h->sum));
	json_put(d, o, "min_ns", h->n ? json_number(h->min) : json_null());
	json_put(d, o, "max_ns", h->n ? json_number(h->max) : json_null());
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_put(d, o, quantiles[i].key,
			 h->n ? json_number(hist_quantile(h, quantiles[i].q)) : json_null());
	json_put(d, o, "histogram", json_buckets(d, HIST_BITS, h->bucket, HIST_BUCKETS(HIST_BITS)));
	return o;
}

static json_t *commands(struct json_doc *d, const struct run_phase *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->n_commands; i++) {
		const struct run_command *c = p->command[i];
		json_t *o = json_object();

		json_put(d, o, "code", json_integer(c->code));
		json_put(d, o, "name", json_text(c->name));
		json_put(d, o, "ops", json_number(c->latency.n));
		json_put(d, o, "errors", json_number(c->errors));
		json_put(d, o, "latency", latency(d, &c->latency));
		json_add(d, a, o);
	}
	return a;
}

static json_t *phase(struct json_doc *d, const struct run *r, const struct run_phase *p)
{
	json_t *o = json_object(), *metrics = json_object();

	json_put(d, o, "test", json_integer(p->test));
	json_put(d, o, "iteration", json_integer(p->iteration));
	json_put(d, o, "title", json_text(p->title));
	json_put(d, o, "start_ns", json_number(p->start_ns));
	json_put(d, o, "complete", json_boolean(p->complete));
	for (size_t m = 0; m < N_METRICS; m++)
		json_put(d, metrics, run_metrics[m].key,
			 p->known[m] ? json_number(p->value[m]) : json_null());
	json_put(d, o, "metrics", metrics);
	json_put(d, o, "commands", commands(d, p));
	json_put(d, o, "ledger", json_ledger(d, &p->ledger));
	json_put(d, o, "transfer", json_transfer(d, r, p));
	return o;
}

static json_t *metric_definitions(struct json_doc *d)
{
	json_t *a = json_array();

	for (size_t m = 0; m < N_METRICS; m++) {
		json_t *o = json_object();

		json_put(d, o, "key", json_text(run_metrics[m].key));
		json_put(d, o, "unit", json_text(run_metrics[m].unit));
		json_put(d, o, "meaning", json_text(run_metrics[m].meaning));
		json_add(d, a, o);
	}
	return a;
}

static json_t *losses(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_losses; i++) {
		json_t *o = json_object();

		json_put(d, o, "what", json_text(r->loss[i].what));
		json_put(d, o, "n", json_number(r->loss[i].n));
		json_add(d, a, o);
	}
	return a;
}

static json_t *books(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_books; i++) {
		json_t *o = json_object();

		json_put(d, o, "name", json_text(r->book[i].name));
		json_put(d, o, "ours", json_number(r->book[i].ours));
		json_put(d, o, "with", json_text(r->book[i].with));
		json_put(d, o, "theirs",
			 r->book[i].has_theirs ? json_number(r->book[i].theirs) : json_null());
		json_put(d, o, "closed", json_boolean(r->book[i].closed));
		json_add(d, a, o);
	}
	return a;
}

static json_t *sessions(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];
		json_t *o = json_object();

		json_put(d, o, "pid", json_integer(s->pid));
		json_put(d, o, "user", json_text(s->user));
		json_put(d, o, "user_from", json_text(s->user_from));
		json_put(d, o, "address", json_text(s->address));
		json_put(d, o, "volume", json_text(s->volume));
		json_put(d, o, "volume_from", json_text(s->volume_from));
		json_put(d, o, "begun_ns", s->begun_ns ? json_number(s->begun_ns) : json_null());
		json_put(d, o, "ended_ns", s->ended_ns ? json_number(s->ended_ns) : json_null());
		json_put(d, o, "requests", json_number(s->requests));
		json_put(d, o, "calls", json_number(s->calls));
		json_put(d, o, "busy_ns", json_number(s->busy_ns));
		json_put(d, o, "bytes_in", json_number(s->bytes_in));
		json_put(d, o, "bytes_out", json_number(s->bytes_out));
		json_add(d, a, o);
	}
	return a;
}

/* The whole document; NULL without memory. */
static json_t *document(const struct run *r)
{
	json_t *o = json_object(), *phases = json_array();
	struct json_doc d = { 0 };

	json_put(&d, o, "schema", json_integer(RUN_SCHEMA));
	json_put(&d, o, "tool", json_text("afpscope"));
	json_put(&d, o, "version", json_text(AFPSCOPE_VERSION));
	json_put(&d, o, "id", json_text(r->id));
	json_put(&d, o, "command", json_text(r->command));
	json_put(&d, o, "set", json_text(r->set));
	json_put(&d, o, "started", json_text(r->started));
	json_put(&d, o, "complete", json_boolean(r->complete));
	json_put(&d, o, "environment", notes(&d, &r->environment));
	json_put(&d, o, "server", notes(&d, &r->server));
	json_put(&d, o, "options", notes(&d, &r->options));
	json_put(&d, o, "rungs", notes(&d, &r->rungs));
	json_put(&d, o, "absent", notes(&d, &r->absent));
	json_put(&d, o, "warnings", warnings(&d, &r->warnings));
	json_put(&d, o, "losses", losses(&d, r));
	json_put(&d, o, "books", books(&d, r));
	json_put(&d, o, "sessions", sessions(&d, r));
	json_put(&d, o, "metrics", metric_definitions(&d));
	json_put(&d, o, "tcp_values", json_tcp_definitions(&d));
	json_put(&d, o, "verdict_figures", json_verdict_definitions(&d));
	json_put(&d, o, "series", json_series(&d, r));
	for (size_t i = 0; i < r->n_phases; i++)
		json_add(&d, phases, phase(&d, r, r->phase[i]));
	json_put(&d, o, "phases", phases);
	if (!d.failed)
		return o;
	json_decref(o);
	return NULL;
}

static int write_all(int fd, const char *at, size_t len)
{
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The rename itself is on disk only when the directory is. Not all file systems can. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	int fd;

	if (!dir)
		return;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(dir);
}

static int replace(const char *path, const char *id, const char *data, size_t len, struct err *e)
{
	size_t room = strlen(path) + strlen(id) + 8;
	char *temp = malloc(room);
	int fd, r;

	if (!temp)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(temp, room, "%s.%s.tmp", path, id);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		r = err_set(e, -errno, "create %s: %s", temp, strerror(errno));
		free(temp);
		return r;
	}
	r = write_all(fd, data, len);
	if (!r && fsync(fd))
		r = -errno;
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(temp, path))
		r = -errno;
	if (r) {
		err_set(e, r, "write %s: %s", path, strerror(-r));
		unlink(temp);
	} else {
		sync_directory(path);
	}
	free(temp);
	return r;
}

/* Devices, pipes and the like cannot be replaced, only written to. */
static int write_through(const char *path, const char *data, size_t len, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return err_set(e, -errno, "open %s: %s", path, strerror(errno));
	r = write_all(fd, data, len);
	close(fd);
	return r ? err_set(e, r, "write %s: %s", path, strerror(-r)) : 0;
}

static int save(const char *path, const char *id, const char *data, size_t len, struct err *e)
{
	struct stat st;
	char *real;
	int r;

	if (!strcmp(path, "-")) {
		if (fwrite(data, 1, len, stdout) == len && !fflush(stdout))
			return 0;
		return err_set(e, errno ? -errno : -EIO, "write to standard output failed");
	}
	if (stat(path, &st))
		return replace(path, id, data, len, e);
	if (!S_ISREG(st.st_mode))
		return write_through(path, data, len, e);
	/* A symbolic link stays; what it points to is replaced. */
	real = realpath(path, NULL);
	r = replace(real ? real : path, id, data, len, e);
	free(real);
	return r;
}

int report_json(const struct run *r, const char *path, struct err *e)
{
	json_t *o = document(r);
	char *data = NULL;
	size_t len;
	int ret;

	if (o)
		data = json_dumps(o, 0);
	json_decref(o);
	if (!data)
		return err_set(e, -ENOMEM, "out of memory for the JSON of the run");
	len = strlen(data);
	data[len++] = '\n';
	ret = save(path, r->id, data, len, e);
	free(data);
	return ret;
}
