/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where runs are kept. Not for what is in them: report_json, user/trace. */
#include "cmd/runs.h"

#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER_MODE 0755
#define ID_SHOWN    8
#define ROOM_LEN    (2u << 20)
#define NOT_KEPT    "the run is not kept: %s (-o names another folder)"

char *runs_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static const char *home(void)
{
	const char *dir = getenv("HOME");
	const struct passwd *me;

	if (dir && *dir)
		return dir;
	me = getpwuid(geteuid());
	return me ? me->pw_dir : "/";
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* The folder of the user's runs, to be freed. */
static char *runs_home(void)
{
	const char *runs = variable("AFPSCOPE_RUNS"), *state = variable("XDG_STATE_HOME");

	if (runs)
		return strdup(runs);
	return state ? runs_path(state, "afpscope/runs")
		     : runs_path(home(), ".local/state/afpscope/runs");
}

/* As mkdir -p; a folder that is there already is none to complain about. */
static int make_folders(char *path, struct err *e)
{
	struct stat st;

	for (char *at = path + 1;; at++) {
		char was = *at;

		if (was != '/' && was)
			continue;
		*at = '\0';
		if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
			return err_set(e, -errno, "cannot make folder %s: %s", path,
				       strerror(errno));
		*at = was;
		if (!was)
			break;
	}
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return 0;
	return err_set(e, -ENOTDIR, "%s is no folder", path);
}

/* "2026-11-21T142205-lantest-83ccb818": sorts by time. To be freed. */
static char *name_of(const struct run *r)
{
	char *name, started[sizeof(r->started)];
	size_t n = 0;

	for (const char *p = r->started; *p && *p != 'Z'; p++)
		if (*p != ':')
			started[n++] = *p;
	started[n] = '\0';
	return asprintf(&name, "%s-%s-%.*s", started, r->command, ID_SHOWN, r->id) < 0 ? NULL
										       : name;
}

/* "last" changes in one step; that it cannot is not worth a word. */
static void point_last(const char *folder, const char *name, const char *id)
{
	char *last = runs_path(folder, "last"), *next = NULL;

	if (last && asprintf(&next, "%s.%s", last, id) < 0)
		next = NULL;
	if (next && !symlink(name, next) && rename(next, last))
		unlink(next);
	free(next);
	free(last);
}

static char *make_among_runs(const struct run *r, struct err *e)
{
	char *folder = runs_home(), *name = name_of(r), *path = NULL;

	if (folder && name)
		path = runs_path(folder, name);
	if (!path) {
		err_set(e, -ENOMEM, "out of memory");
	} else if (make_folders(path, e)) {
		free(path);
		path = NULL;
	} else {
		point_last(folder, name, r->id);
	}
	free(name);
	free(folder);
	return path;
}

/* "last" names no folder that is gone. */
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

static bool is_there(const char *folder, const char *name)
{
	char *path = runs_path(folder, name);
	bool there = path && !access(path, F_OK);

	free(path);
	return there;
}

/* The lock, which ends with this process; 0: this file system has none, or there is no folder. */
static int lock(const char *folder, struct err *e)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return err_set(e, -EEXIST, "-o: another run is being kept in %s: name another folder",
		       folder);
}

/* A folder of the user's choice may be there, but not with a run, or what is left of one, in it. */
static int check_left(const char *folder, struct err *e)
{
	if (is_there(folder, "run.json"))
		return err_set(e, -EEXIST, "-o: %s has a run in it already: name another folder",
			       folder);
	if (is_there(folder, "trace/metadata"))
		return err_set(e, -EEXIST,
			       "-o: %s has the trace of a run that was killed: name another folder",
			       folder);
	return 0;
}

static int check_folder(const char *folder, struct err *e)
{
	int r;

	if (!*folder)
		return err_set(e, -EINVAL, "-o: the name of the folder is empty");
	r = lock(folder, e);
	if (r > 0)
		close(r);
	return r < 0 ? r : check_left(folder, e);
}

/* A file is made or replaced in its folder, a pipe written to. */
static int check_json(const char *path, struct err *e)
{
	char *folder = strdup(path), *end = folder ? strrchr(folder, '/') : NULL;
	struct stat st = { .st_mode = S_IFREG };
	int r = 0;

	if (!folder)
		return err_set(e, -ENOMEM, "out of memory");
	if (end)
		end[end == folder] = '\0';
	if (!*path)
		r = err_set(e, -EINVAL, "--json: the name of the file is empty");
	else if (!stat(path, &st) && S_ISDIR(st.st_mode))
		r = err_set(e, -EISDIR, "--json: %s is a folder: name a file", path);
	else if (S_ISREG(st.st_mode) && access(end ? folder : ".", W_OK | X_OK))
		r = err_set(e, -errno, "--json: cannot write %s: %s", path, strerror(errno));
	free(folder);
	return r;
}

int runs_check(const struct runs_cfg *cfg, struct err *e)
{
	int r = cfg->folder ? check_folder(cfg->folder, e) : 0;

	return r || !cfg->json || runs_json_only(cfg) ? r : check_json(cfg->json, e);
}

static int make_wanted(struct runs_folder *out, const char *wanted, struct err *e)
{
	int r;

	out->path = strdup(wanted);
	if (!out->path)
		return err_set(e, -ENOMEM, "out of memory");
	r = make_folders(out->path, e);
	r = r ? r : lock(out->path, e);
	out->lock = r > 0 ? r : 0;
	r = r < 0 ? r : check_left(out->path, e);
	if (r)
		runs_close(out);
	return r;
}

/* Which goes with its descriptor, whatever becomes of this process. */
static int take_room(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	uint64_t quarter = 0;
	struct statvfs disk;

	if (!statvfs(folder, &disk))
		quarter = (uint64_t)disk.f_bavail * disk.f_frsize / 4;
	if (fd < 0 || !posix_fallocate(fd, 0, (off_t)(quarter < ROOM_LEN ? quarter : ROOM_LEN)))
		return fd < 0 ? 0 : fd;
	close(fd);
	return 0;
}

static void leave_room(struct runs_folder *f)
{
	if (f->room)
		close(f->room);
	f->room = 0;
}

int runs_open(struct runs_folder *out, const struct runs_cfg *cfg, bool needed, struct run *r,
	      struct err *e)
{
	int rc = 0;

	*out = (struct runs_folder) { 0 };
	if (cfg->folder)
		rc = make_wanted(out, cfg->folder, e);
	else if (needed || !cfg->not_kept)
		out->path = make_among_runs(r, e);
	if (out->path && needed)
		out->room = take_room(out->path);
	if (rc || out->path || (cfg->not_kept && !needed))
		return rc;
	return needed ? e->code : run_note(&r->warnings, "output", NOT_KEPT, e->text);
}

void runs_close(struct runs_folder *f)
{
	leave_room(f);
	if (f->lock)
		close(f->lock);
	free(f->path);
	*f = (struct runs_folder) { 0 };
}

enum outcome runs_refused(int r)
{
	return r == -EEXIST ? OUTCOME_USAGE : OUTCOME_FAILED;
}

static int save_in(const char *folder, const struct run *r, struct err *e)
{
	char *file = runs_path(folder, "run.json");
	int rc = file ? report_json(r, file, e) : err_set(e, -ENOMEM, "out of memory");

	free(file);
	return rc;
}

/* Nobody asked for it by name, or for a trace in it. */
static bool take_away(const char *folder, const struct runs_cfg *cfg)
{
	if (!folder || cfg->folder || rmdir(folder))
		return false;
	unpoint_last(folder);
	return true;
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
	if (folder && !save_in(folder, r, &e)) {
		where = folder;
	} else if (take_away(folder, cfg)) {
		cmd_say(NOT_KEPT, e.text);
	} else if (folder) {
		cmd_say("%s", e.text);
		failed = true;
	}
	if (where)
		fprintf(out, "\n%s in %s\n",
			r->n_phases ? "Everything measured is"
				    : "Nothing was measured; what is known of the run is",
			where);
	else if (why)
		fprintf(out, "\n%s\n", why);
	return failed && !o ? OUTCOME_FAILED : o;
}

/* Finding */

/* Of a run that ended, or of the trace of one that was killed. */
static bool is_run(const char *folder)
{
	return is_there(folder, "run.json") || is_there(folder, "trace/metadata");
}

/* run.json; NULL: there is none, or it is damaged. */
static json_t *load(const char *folder)
{
	char *file = runs_path(folder, "run.json");
	json_t *run = file ? json_load_file(file, 0, NULL) : NULL;

	free(file);
	return run;
}

/* In a folder of any name. */
static bool has_id(const char *folder, const char *id)
{
	json_t *run = load(folder);
	const char *found = json_string_value(json_object_get(run, "id"));
	bool same = found && !strncmp(found, id, strlen(id));

	json_decref(run);
	return same;
}

char *runs_rung(const char *folder, const char *key)
{
	json_t *run = load(folder), *rungs = json_object_get(run, "rungs");
	const char *text = json_string_value(json_object_get(rungs, key));
	char *out = text ? strdup(text) : NULL;

	json_decref(run);
	return out;
}

/* How much of a name says which run it is: 2 the begin of the folder's, 1 of the id, 0 nothing. */
static int fits(const char *folder, const char *name, const char *wanted)
{
	const char *id = strrchr(name, '-');

	if (!strncmp(name, wanted, strlen(wanted)))
		return 2;
	/* Of one that was killed the name is all there is. */
	if (id && strlen(wanted) <= ID_SHOWN && !strncmp(id + 1, wanted, strlen(wanted)))
		return 1;
	return has_id(folder, wanted);
}

struct match {
	char *path; /* owned; of those that fit best the one that was written last */
	struct timespec written;
	int how;
	size_t n;
};

/* When a run ended, or the trace of one that was killed began. */
static struct timespec written(const char *folder)
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
		how = wanted ? fits(path, name, wanted) : is_run(path);
	if (!how || how < m->how) {
		free(path);
		return;
	}
	when = written(path);
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
		return err_set(e, -EINVAL, "'%s' names %zu runs in %s: give more of the name",
			       wanted, m.n, home_dir);
	return wanted
		   ? err_set(e, -ENOENT, "no run '%s': no such folder, and nothing in %s begins so",
			     wanted, home_dir)
		   : err_set(e, -ENOENT, "there is no last run: %s holds none", home_dir);
}

int runs_find(char **out, const char *name, struct err *e)
{
	char *home_dir;
	int r;

	*out = NULL;
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
