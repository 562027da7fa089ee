/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run as one JSON object; docs/data-model.md tells what is in it. */
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * jansson keeps failure for later: a NULL value makes json_object_set_new and
 * json_array_append_new fail, and put() and add() remember that in a single flag.
 */
struct doc {
	bool failed;
};

static void put(struct doc *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		d->failed = true;
}

static void add(struct doc *d, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		d->failed = true;
}

static json_t *number(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

/* Text that may come from a server: bytes that are not UTF-8 become U+FFFD. */
static json_t *text(const char *s)
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
static json_t *notes(struct doc *d, const struct run_notes *in)
{
	json_t *o = json_object();

	for (size_t i = 0; i < in->n; i++) {
		const char *key = in->note[i].key ? in->note[i].key : "";
		const char *before = json_string_value(json_object_get(o, key));
		json_t *value = text(in->note[i].text);

		if (before && value) {
			json_t *joined = json_sprintf("%s\n%s", before, json_string_value(value));

			json_decref(value);
			value = joined;
		}
		put(d, o, key, value);
	}
	return o;
}

static json_t *warnings(struct doc *d, const struct run_notes *in)
{
	json_t *a = json_array();

	for (size_t i = 0; i < in->n; i++) {
		json_t *o = json_object();

		put(d, o, "key", text(in->note[i].key));
		put(d, o, "text", text(in->note[i].text));
		add(d, a, o);
	}
	return a;
}

/* [[index, count], ...] of the buckets that are not empty, and their sub-bucket bits. */
static json_t *buckets(struct doc *d, unsigned int bits, const uint64_t *bucket, size_t n)
{
	json_t *o = json_object(), *list = json_array();

	put(d, o, "bits", json_integer(bits));
	for (size_t i = 0; i < n; i++) {
		json_t *pair;

		if (!bucket[i])
			continue;
		pair = json_array();
		add(d, pair, number(i));
		add(d, pair, number(bucket[i]));
		add(d, list, pair);
	}
	put(d, o, "buckets", list);
	return o;
}

static json_t *latency(struct doc *d, const struct hist *h)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {
		{ "p50_ns", 0.5 }, { "p95_ns", 0.95 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }
	};
	json_t *o = json_object();

	put(d, o, "n", number(h->n));
	put(d, o, "sum_ns", number(h->sum));
	put(d, o, "min_ns", h->n ? number(h->min) : json_null());
	put(d, o, "max_ns", h->n ? number(h->max) : json_null());
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		put(d, o, quantiles[i].key,
		    h->n ? number(hist_quantile(h, quantiles[i].q)) : json_null());
	put(d, o, "histogram", buckets(d, HIST_BITS, h->bucket, HIST_BUCKETS(HIST_BITS)));
	return o;
}

static json_t *commands(struct doc *d, const struct run_phase *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->n_commands; i++) {
		const struct run_command *c = p->command[i];
		json_t *o = json_object();

		put(d, o, "code", json_integer(c->code));
		put(d, o, "name", text(c->name));
		put(d, o, "ops", number(c->latency.n));
		put(d, o, "errors", number(c->errors));
		put(d, o, "latency", latency(d, &c->latency));
		add(d, a, o);
	}
	return a;
}

static json_t *ledger_rows(struct doc *d, const struct ledger *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_rows; i++) {
		const struct ledger_row *row = &l->row[i];
		uint64_t hist[AFS_HIST_BUCKETS];
		json_t *o = json_object();

		for (size_t k = 0; k < AFS_HIST_BUCKETS; k++)
			hist[k] = row->cell.hist[k];
		put(d, o, "role", text(ledger_role_name(row->role)));
		put(d, o, "class", text(ledger_class_name(row->class)));
		put(d, o, "object", text(ledger_object_name(row->object)));
		put(d, o, "calls", number(row->cell.calls));
		put(d, o, "errors", number(row->cell.errors));
		put(d, o, "bytes", number(row->cell.bytes));
		put(d, o, "ns", number(row->cell.ns));
		put(d, o, "histogram", buckets(d, AFS_HIST_BITS, hist, AFS_HIST_BUCKETS));
		add(d, a, o);
	}
	return a;
}

static json_t *compat(struct doc *d, const struct ledger *l)
{
	json_t *all = json_object();

	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const struct afs_compat *c = &l->compat[role];
		json_t *o = l->has_compat[role] ? json_object() : json_null();

		if (l->has_compat[role]) {
			put(d, o, "syscr", number(c->syscr));
			put(d, o, "syscw", number(c->syscw));
			put(d, o, "rchar", number(c->rchar));
			put(d, o, "wchar", number(c->wchar));
		}
		put(d, all, ledger_role_name(role), o);
	}
	return all;
}

static json_t *phase(struct doc *d, const struct run_phase *p)
{
	json_t *o = json_object(), *metrics = json_object(), *ledger = json_object();

	put(d, o, "test", json_integer(p->test));
	put(d, o, "iteration", json_integer(p->iteration));
	put(d, o, "title", text(p->title));
	put(d, o, "start_ns", number(p->start_ns));
	put(d, o, "complete", json_boolean(p->complete));
	for (size_t m = 0; m < N_METRICS; m++)
		put(d, metrics, run_metrics[m].key,
		    p->known[m] ? number(p->value[m]) : json_null());
	put(d, o, "metrics", metrics);
	put(d, o, "commands", commands(d, p));
	put(d, ledger, "rows", p->ledger.has_calls ? ledger_rows(d, &p->ledger) : json_null());
	put(d, ledger, "compat", compat(d, &p->ledger));
	put(d, o, "ledger", ledger);
	return o;
}

static json_t *metric_definitions(struct doc *d)
{
	json_t *a = json_array();

	for (size_t m = 0; m < N_METRICS; m++) {
		json_t *o = json_object();

		put(d, o, "key", text(run_metrics[m].key));
		put(d, o, "unit", text(run_metrics[m].unit));
		put(d, o, "meaning", text(run_metrics[m].meaning));
		add(d, a, o);
	}
	return a;
}

static json_t *losses(struct doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_losses; i++) {
		json_t *o = json_object();

		put(d, o, "what", text(r->loss[i].what));
		put(d, o, "n", number(r->loss[i].n));
		add(d, a, o);
	}
	return a;
}

static json_t *books(struct doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_books; i++) {
		json_t *o = json_object();

		put(d, o, "name", text(r->book[i].name));
		put(d, o, "ours", number(r->book[i].ours));
		put(d, o, "with", text(r->book[i].with));
		put(d, o, "theirs",
		    r->book[i].has_theirs ? number(r->book[i].theirs) : json_null());
		put(d, o, "closed", json_boolean(r->book[i].closed));
		add(d, a, o);
	}
	return a;
}

/* The whole document; NULL without memory. */
static json_t *document(const struct run *r)
{
	json_t *o = json_object(), *phases = json_array();
	struct doc d = { 0 };

	put(&d, o, "schema", json_integer(RUN_SCHEMA));
	put(&d, o, "tool", text("afpscope"));
	put(&d, o, "version", text(AFPSCOPE_VERSION));
	put(&d, o, "id", text(r->id));
	put(&d, o, "command", text(r->command));
	put(&d, o, "set", text(r->set));
	put(&d, o, "started", text(r->started));
	put(&d, o, "complete", json_boolean(r->complete));
	put(&d, o, "environment", notes(&d, &r->environment));
	put(&d, o, "server", notes(&d, &r->server));
	put(&d, o, "options", notes(&d, &r->options));
	put(&d, o, "rungs", notes(&d, &r->rungs));
	put(&d, o, "absent", notes(&d, &r->absent));
	put(&d, o, "warnings", warnings(&d, &r->warnings));
	put(&d, o, "losses", losses(&d, r));
	put(&d, o, "books", books(&d, r));
	put(&d, o, "metrics", metric_definitions(&d));
	for (size_t i = 0; i < r->n_phases; i++)
		add(&d, phases, phase(&d, r->phase[i]));
	put(&d, o, "phases", phases);
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
