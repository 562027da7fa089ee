/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where runs are kept. Not for what is in them: report_json, user/trace. */
#include "app/runs.h"

#include "app/beside.h"
#include "app/job.h"
#include "base/file.h"
#include "base/shell.h"
#include "host/usernames.h"
#include "report/cell.h"
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A folder that the user named (less his umask); all others are his alone. */
#define WANTED_MODE 0755
#define OWN_MODE    0700
#define ID_SHOWN    8
#define ROOM_LEN    (2u << 20)
#define NO_RIGHT    "no right to look at %s: run this as its owner, or as root"
#define MORE_WIDTH  100
#define NOT_KEPT    "the run is not kept: %s (-o names another folder)"

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* The folder of the user's runs, to be freed. */
static char *runs_home(void)
{
	const char *runs = variable("AFPSCOPE_RUNS"), *state = variable("XDG_STATE_HOME"),
		   *home = variable("HOME");
	struct usernames_own me;

	if (runs)
		return strdup(runs);
	if (state)
		return runs_path(state, "afpscope/runs");
	if (!home) {
		usernames_own(&me);
		home = *me.home ? me.home : "/";
	}
	return runs_path(home, ".local/state/afpscope/runs");
}

/* "2026-11-21T142205-lantest-83ccb818": sorts by time. To be freed. */
static char *runs_name_of(const struct run *r)
{
	char *name, started[sizeof(r->started)];
	size_t n = 0;

	for (const char *p = r->started; *p && *p != '.' && *p != 'Z'; p++)
		if (*p != ':')
			started[n++] = *p;
	started[n] = '\0';
	return asprintf(&name, "%s-%s-%.*s", started, r->command, ID_SHOWN, r->id) < 0 ? NULL
										       : name;
}

/* "last" changes atomically; a failure is not reported. */
static void point_last(int home_dir, const char *name, const char *id)
{
	char *next;

	if (asprintf(&next, "last.%s", id) < 0)
		return;
	if (!symlinkat(name, home_dir, next) && renameat(home_dir, next, home_dir, "last"))
		unlinkat(home_dir, next, 0);
	free(next);
}

/* The folder's descriptor, or a negative errno. */
static int make_in(int home_dir, const char *name, const char *path, struct err *e)
{
	int fd = -1;

	if (!mkdirat(home_dir, name, OWN_MODE))
		fd = openat(home_dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_set(e, -errno, "cannot make folder %s: %s", path, strerror(errno)) : fd;
}

static void make_among_runs(struct runs_folder *out, const struct run *r, struct err *e)
{
	char *folder = runs_home(), *name = runs_name_of(r);
	int home_dir = -1, fd = -1;

	if (folder && name)
		out->path = runs_path(folder, name);
	if (!out->path)
		err_set(e, -ENOMEM, "out of memory");
	else
		home_dir = file_folder(folder, OWN_MODE, e);
	if (home_dir >= 0) {
		fd = make_in(home_dir, name, out->path, e);
		if (fd >= 0)
			point_last(home_dir, name, r->id);
		close(home_dir);
	}
	if (fd >= 0) {
		out->dir = fd;
	} else {
		free(out->path);
		out->path = NULL;
	}
	free(name);
	free(folder);
}

/* Removes "last" if it names the folder that was removed. */
static void unpoint_last(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char *last = NULL, is[256];
	ssize_t n;

	if (asprintf(&last, "%.*slast", (int)(name - path), path) < 0)
		return;
	n = readlink(last, is, sizeof(is));
	if (n == (ssize_t)strlen(name) && !memcmp(is, name, (size_t)n))
		unlink(last);
	free(last);
}

static bool runs_is_there(int folder, const char *name)
{
	struct stat st;

	return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* The lock, which ends with this process; 0: this file system has none. */
static int runs_lock(int folder, const char *path, struct err *e)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return err_set(e, -EEXIST, "-o: another run is being kept in %s: name another folder",
		       path);
}

/* A folder named by the user may exist, but must not contain a run or the rest of one. */
static int check_left(int folder, const char *path, struct err *e)
{
	if (runs_is_there(folder, "run.json"))
		return err_set(e, -EEXIST, "-o: %s has a run in it already: name another folder",
			       path);
	if (runs_is_there(folder, "trace/metadata"))
		return err_set(e, -EEXIST,
			       "-o: %s has the trace of a run that was killed: name another folder",
			       path);
	return 0;
}

static int check_folder(const char *path, struct err *e)
{
	int folder, r;

	if (!*path)
		return err_set(e, -EINVAL, "-o: the name of the folder is empty");
	folder = file_folder(path, 0, e);
	if (folder < 0)
		return folder == -ENOENT ? 0 : err_prefix(e, folder, "-o");
	r = runs_lock(folder, path, e);
	if (r > 0)
		close(r);
	r = r < 0 ? r : check_left(folder, path, e);
	close(folder);
	return r;
}

/* A file is made or replaced in its folder, a pipe written to. */
static int runs_check_json(const char *path, struct err *e)
{
	int r;

	if (!*path)
		return err_set(e, -EINVAL, "--json: the name of the file is empty");
	r = file_check(path, FILE_RESULT, e);
	return r ? err_prefix(e, r, "--json") : 0;
}

int runs_check(const struct runs_cfg *cfg, struct err *e)
{
	int r = cfg->folder ? check_folder(cfg->folder, e) : 0;

	r = r ? r : beside_check(cfg, e);
	return r || !cfg->json || runs_json_only(cfg) ? r : runs_check_json(cfg->json, e);
}

static int make_wanted(struct runs_folder *out, const char *wanted, struct err *e)
{
	int r;

	out->path = strdup(wanted);
	if (!out->path)
		return err_set(e, -ENOMEM, "out of memory");
	r = file_folder(wanted, WANTED_MODE, e);
	out->dir = r > 0 ? r : 0;
	r = r < 0 ? r : runs_lock(out->dir, wanted, e);
	out->lock = r > 0 ? r : 0;
	r = r < 0 ? r : check_left(out->dir, wanted, e);
	if (r)
		runs_close(out);
	return r;
}

/* The file has no name: it goes when its descriptor is closed, also if this process is killed. */
static int runs_take_room(int folder)
{
	int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	uint64_t quarter = 0;
	struct statvfs disk;

	if (fd < 0)
		return 0;
	if (!fstatvfs(fd, &disk))
		quarter = (uint64_t)disk.f_bavail * disk.f_frsize / 4;
	if (!posix_fallocate(fd, 0, (off_t)(quarter < ROOM_LEN ? quarter : ROOM_LEN)))
		return fd;
	close(fd);
	return 0;
}

static void leave_room(struct runs_folder *f)
{
	if (f->room)
		close(f->room);
	f->room = 0;
}

int runs_take_label(void *to, const char *arg, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t key_len = strspn(arg, letters);
	struct runs_labels *l = to;

	if (!key_len || arg[key_len] != '=' || !arg[key_len + 1])
		return err_set(
		    e, -EINVAL,
		    "'%s' is not a label such as commit=1f3a9c (a key of letters, digits, "
		    "_, . and -; then = and its value)",
		    arg);
	for (const char *c = arg; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			return err_set(e, -EINVAL, "a label has no control characters");
	for (unsigned int i = 0; i < l->n; i++)
		if (!strncmp(l->text[i], arg, key_len + 1))
			return err_set(e, -EINVAL, "two values for the label '%.*s': give one",
				       (int)key_len, arg);
	if (l->n == RUNS_LABELS_MAX)
		return err_set(e, -EINVAL, "at most %d labels", RUNS_LABELS_MAX);
	l->text[l->n++] = arg;
	return 0;
}

/* Into run.json. 0 or -ENOMEM. */
int runs_take_rtt(void *to, const char *arg, struct err *e)
{
	struct run_rtts rtts;

	if (run_rtts_parse(&rtts, arg))
		return err_set(e, -EINVAL, "'%s' are not at most %d times in ms, such as %s", arg,
			       RUN_RTTS_MAX, RUN_RTTS);
	*(const char **)to = arg;
	return 0;
}

static int runs_note_labels(const struct runs_labels *l, struct run *r)
{
	int ret = 0;

	for (unsigned int i = 0; i < l->n && !ret; i++) {
		size_t key_len = strcspn(l->text[i], "=");
		char *key = strndup(l->text[i], key_len);

		ret = key ? run_note(&r->labels, key, "%s", l->text[i] + key_len + 1) : -ENOMEM;
		free(key);
	}
	return ret;
}

int runs_open(struct runs_folder *out, const struct runs_cfg *cfg, bool needed, struct run *r,
	      struct err *e)
{
	int rc = 0;

	*out = (struct runs_folder) { 0 };
	rc = runs_note_labels(&cfg->labels, r);
	if (!rc && cfg->rtt)
		rc = run_note(&r->options, TRIPS_OPTION, "%s", cfg->rtt);
	if (rc)
		return err_set(e, rc, "cannot note the labels of the run: %s", strerror(-rc));
	if (cfg->folder)
		rc = make_wanted(out, cfg->folder, e);
	else if (needed || !cfg->not_kept)
		make_among_runs(out, r, e);
	if (out->path && needed)
		out->room = runs_take_room(out->dir);
	if (rc || out->path || (cfg->not_kept && !needed))
		return rc;
	return needed ? e->code : run_note(&r->warnings, "output", NOT_KEPT, e->text);
}

void runs_close(struct runs_folder *f)
{
	leave_room(f);
	if (f->lock)
		close(f->lock);
	if (f->dir)
		close(f->dir);
	free(f->path);
	*f = (struct runs_folder) { 0 };
}

enum outcome runs_refused(int r)
{
	return r == -EEXIST ? OUTCOME_USAGE : OUTCOME_FAILED;
}

/* Removes the folder if the user did not name it and it is empty (no trace). */
static bool take_away(const char *folder, const struct runs_cfg *cfg)
{
	if (!folder || cfg->folder || rmdir(folder))
		return false;
	unpoint_last(folder);
	return true;
}

/* What there is beyond the first screen, and how to see it. where NULL: the run was not kept. */
static void say_more(const struct runs_cfg *cfg, const char *where, FILE *out)
{
	char *text = NULL, word[PATH_MAX] = "";
	int n;

	if (where)
		shell_word(word, sizeof(word), where);
	if (!where)
		n = asprintf(&text, "-v%s", cfg->not_kept ? " (this run was not kept)" : "");
	else if (cfg->folder || where == cfg->json)
		n = asprintf(&text,
			     "-v, afpscope" GLUE "report" GLUE "%s" GLUE "-o" GLUE "report.html",
			     word);
	else
		n = asprintf(&text, "-v, afpscope report last -o report.html; run: %s", word);
	if (n < 0)
		return;
	fputc('\n', out);
	put_indented(out, "More:", text, 2, MORE_WIDTH);
	free(text);
}

/* What is in the folder besides run.json. 0, or a negative errno and why it is not there. */
static int runs_save_more(const struct runs_folder *f, const struct runs_cfg *cfg,
			  const struct run *r, struct err *e)
{
	struct err why;
	int ret = report_tables_in(r, f->dir, f->path, &why);

	if (ret)
		return err_set(e, ret, "%s; the run is kept, but its HTML report will lack tables",
			       why.text);
	if (!cfg->job)
		return 0;
	ret = file_replace(f->dir, JOB_FILE, cfg->job, strlen(cfg->job));
	return ret ? err_set(e, ret, "cannot write %s/" JOB_FILE ": %s", f->path, strerror(-ret))
		   : 0;
}

enum outcome runs_save(struct runs_folder *f, const struct runs_cfg *cfg, const struct run *r,
		       FILE *out, enum outcome o)
{
	const char *why = run_note_find(&r->warnings, "output"), *where = NULL, *folder = f->path;
	struct err e = { 0 };
	bool failed = false;

	leave_room(f);
	/* Nothing was measured. */
	if (!r->n_phases && take_away(folder, cfg))
		folder = NULL;
	if (cfg->json && report_json(r, cfg->json, &e)) {
		cmd_say("%s", e.text);
		failed = true;
	} else if (!runs_json_only(cfg)) {
		where = cfg->json;
	}
	if (folder && !report_json_in(r, f->dir, "run.json", folder, &e)) {
		where = folder;
		if (runs_save_more(f, cfg, r, &e))
			cmd_say("%s", e.text);
		failed |= !beside_make(cfg, folder, out);
	} else if (take_away(folder, cfg)) {
		cmd_say(NOT_KEPT, e.text);
	} else if (folder) {
		cmd_say("%s", e.text);
		failed = true;
	}
	if (r->n_phases && cfg->screen)
		say_more(cfg, where, out);
	else if (where)
		fprintf(out, "\n%s in %s\n",
			r->n_phases ? "Everything measured is"
				    : "Nothing was measured; what is known of the run is",
			where);
	else if (why)
		fprintf(out, "\n%s\n", why);
	if (!folder || where != folder)
		failed |= beside_lack(cfg);
	return failed && !o ? OUTCOME_FAILED : o;
}

int runs_save_part(const char *folder, unsigned int rank, const struct run *r, struct err *e)
{
	int dir = file_folder(folder, OWN_MODE, e), ret;
	char name[32];

	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "rank-%u.json", rank);
	ret = report_json_in(r, dir, name, folder, e);
	close(dir);
	return ret;
}

/* Finding */

/* Whether path is a run that ended, or the trace of one that was killed. */
static bool is_run(const char *path)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is = folder >= 0 &&
		  (runs_is_there(folder, "run.json") || runs_is_there(folder, "trace/metadata"));

	if (folder >= 0)
		close(folder);
	return is;
}

/* How well a name fits a run: 2 it begins the folder's name, 1 the id, 0 neither. */
static int runs_fits(const char *folder, const char *name, const char *wanted)
{
	const char *id = strrchr(name, '-');

	if (!strncmp(name, wanted, strlen(wanted)))
		return 2;
	/* A run that was killed has only the id in its folder's name. */
	if (id && strlen(wanted) <= ID_SHOWN && !strncmp(id + 1, wanted, strlen(wanted)))
		return 1;
	return runs_has_id(folder, wanted);
}

struct match {
	char *path; /* owned; of the best matches the one that was written last */
	struct timespec written;
	int how;
	size_t n;
};

/* When a run ended, or the trace of one that was killed began. */
static struct timespec runs_written(const char *folder)
{
	char *run = runs_path(folder, "run.json"), *trace = runs_path(folder, "trace/metadata");
	struct stat st = { 0 };

	if (run && trace && stat(run, &st) && stat(trace, &st))
		st = (struct stat) { 0 };
	free(run);
	free(trace);
	return st.st_mtim;
}

/* By time, then by name. */
static bool is_before(const struct timespec *a, const char *path, const struct match *m)
{
	const struct timespec *b = &m->written;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec;
	return a->tv_nsec != b->tv_nsec ? a->tv_nsec < b->tv_nsec : strcmp(path, m->path) < 0;
}

static void consider(struct match *m, const char *home_dir, const char *name, const char *wanted)
{
	char *path = runs_path(home_dir, name);
	struct timespec when;
	struct stat st;
	int how = 0;

	if (path && name[0] != '.' && !lstat(path, &st) && S_ISDIR(st.st_mode))
		how = wanted ? runs_fits(path, name, wanted) : is_run(path);
	if (!how || how < m->how) {
		free(path);
		return;
	}
	when = runs_written(path);
	m->n = how > m->how ? 1 : m->n + 1;
	if (how == m->how && is_before(&when, path, m)) {
		free(path);
		return;
	}
	m->how = how;
	m->written = when;
	free(m->path);
	m->path = path;
}

/* Among the user's runs; wanted NULL: the newest. */
static int find_saved(char **out, const char *home_dir, const char *wanted, struct err *e)
{
	struct match m = { 0 };
	DIR *dir = opendir(home_dir);
	struct dirent *entry;

	if (!dir && errno == EACCES)
		return err_set(e, -EACCES, NO_RIGHT, home_dir);
	while (dir && (entry = readdir(dir)))
		consider(&m, home_dir, entry->d_name, wanted);
	if (dir)
		closedir(dir);
	*out = m.path;
	if (m.n && (m.n == 1 || !wanted))
		return 0;
	free(m.path);
	*out = NULL;
	if (m.n)
		return err_set(e, -EINVAL, "'%s' matches %zu runs in %s: give more of the name",
			       wanted, m.n, home_dir);
	return wanted ? err_set(e, -ENOENT,
				"no run '%s': no such folder, and no name in %s begins with it",
				wanted, home_dir)
		      : err_set(e, -ENOENT, "there is no last run: %s has no runs", home_dir);
}

int runs_find(char **out, const char *name, struct err *e)
{
	char *home_dir;
	int r;

	*out = NULL;
	if (*name && access(name, F_OK) && errno == EACCES)
		return err_set(e, -EACCES, NO_RIGHT, name);
	if (*name && !access(name, F_OK)) {
		*out = strdup(name);
		return *out ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	if (!*name || strchr(name, '/'))
		return err_set(e, -ENOENT, "no run '%s': there is no such folder", name);
	home_dir = runs_home();
	if (!home_dir)
		return err_set(e, -ENOMEM, "out of memory");
	r = find_saved(out, home_dir, strcmp(name, "last") ? name : NULL, e);
	free(home_dir);
	return r;
}

bool runs_json_only(const struct runs_cfg *cfg)
{
	return cfg->json && !strcmp(cfg->json, "-");
}
