/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/diagnose.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "doctor/figures/measure.h"
#include "doctor/judge.h"
#include "doctor/machine/machine.h"
#include "host/cgroup_limits.h"
#include "kinds/afp/looks.h"
#include "kinds/afp/settings.h"
#include "kinds/conf.h"
#include "kinds/gluster/bricks.h"
#include "kinds/kind.h"

#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCAN_EVERY_NS 60000000000u

/* What the first threads of the server's processes have used. 0 or -ENOMEM. */
static int diagnose_times(struct diagnose_session **out, size_t *n, const struct watch *w)
{
	struct diagnose_session *s;
	pid_t pid;

	free(*out);
	*out = NULL;
	*n = 0;
	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));) {
		s = VEC_ADD(*out, *n);
		if (!s)
			return -ENOMEM;
		*s = (struct diagnose_session) { .pid = pid };
		*n -= procfs_thread_times(&s->times, pid, pid) != 0;
	}
	return 0;
}

static int doctor_diagnose_begin(struct diagnose *d, const struct watch *w,
				 const struct kind_found *found)
{
	int r = diagnose_times(&d->session, &d->n_sessions, w);

	if (!r && found->servers.n)
		connections_begin(&d->connections, &found->servers.entry[0]);
	if (!r && kind_by_session(found))
		r = unanswered_begin(&d->unanswered, kind_by_session(found));
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		d->ends[role] = watch_ends(w, role);
		d->stops[role] = watch_stops(w, role).n;
	}
	d->begun_ns = clock_now_ns();
	d->traced_ns = watch_traced_ns(w);
	d->begun = !r;
	return r;
}

int diagnose_begin(struct diagnose *d, const struct watch *w, const struct kind_found *found)
{
	int r = doctor_diagnose_begin(d, w, found);

	/* Last, as it reads all processes of the host. */
	return r ? r : machine_look(&d->before, found->target.server);
}

int diagnose_again(struct diagnose *d, const struct watch *w, const struct kind_found *found)
{
	/* The end of that time is the begin of this one; volumes, and who asks about them, stay. */
	connections_fini(&d->connections);
	machine_fini(&d->before);
	d->before = d->after;
	d->after = (struct machine) { 0 };
	return doctor_diagnose_begin(d, w, found);
}

int diagnose_last(struct diagnose *d, struct watch *w, const struct kind_found *found)
{
	if (found->kind && found->kind->is.parks)
		return unanswered_look_watched(&d->unanswered, w);
	return kind_by_session(found) ? unanswered_look(&d->unanswered, w, kind_by_session(found))
				      : 0;
}

void diagnose_tick(struct diagnose *d)
{
	connections_look(&d->connections);
}

static uint64_t server_cpu_ns(const struct run *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		ns += p->known[METRIC_AFPD_CPU] ? p->value[METRIC_AFPD_CPU] : 0;
		ns += p->known[METRIC_CNID_CPU] ? p->value[METRIC_CNID_CPU] : 0;
	}
	for (size_t i = 0; !ns && i < r->n_threads; i++)
		ns += r->threads[i].cpu_ns;
	return ns;
}

int diagnose_own(struct diagnose_own *out, const struct watch *w)
{
	pid_t pid, *place;

	*out = (struct diagnose_own) { 0 };
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		for (size_t at = 0; (pid = watch_process(w, role, &at)); *place = pid)
			if (!(place = VEC_ADD(out->pid, out->n)))
				return -ENOMEM;
	if (out->n)
		qsort(out->pid, out->n, sizeof(*out->pid), procstat_by_pid);
	return 0;
}

/* How processes have ended since the watched time began. */
static void look_ends(const struct diagnose *d, const struct watch *w, struct run *r)
{
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const struct run_ends *then = &d->ends[role];
		struct run_ends *now = &r->ends[role];

		*now = watch_ends(w, role);
		now->clean -= then->clean;
		now->failed -= then->failed;
		now->crashed -= then->crashed;
		now->killed -= then->killed;
		if (!now->failed && !now->crashed && !now->killed)
			now->pid = 0;
	}
}

/* All 0: it was not there. */
static struct procfs_times times_of(const struct diagnose_session *s, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].pid == pid)
			return s[i].times;
	return (struct procfs_times) { 0 };
}

/* What a session has used until the end; false: it is not known. */
static bool times_now(struct procfs_times *out, const struct diagnose *d,
		      const struct run_session *s)
{
	if (d->last)
		*out = times_of(d->last, d->n_last, s->pid);
	return d->last ? out->cpu_ns != 0
		       : !s->ended_ns && !procfs_thread_times(out, s->pid, s->pid);
}

/* The address of a session of which the watch has read nothing: as it was found. */
static void name_client(struct run_session *s, const struct servers_entry *server)
{
	const struct servers_session *is = servers_session(server, s->pid);

	char address[SOCKETS_TEXT_LEN];

	if (s->address || !is || !is->client.port)
		return;
	sockets_text(address, sizeof(address), &is->client);
	s->address = strdup(address);
}

static void diagnose_look_sessions(struct diagnose *d, const struct kind_found *found,
				   struct run *r)
{
	for (size_t i = 0; i < r->n_sessions && found->servers.n; i++)
		name_client(&r->session[i], &found->servers.entry[0]);
	if (!d->last)
		connections_look(&d->connections);
	connections_note(&d->connections, r);
	for (size_t i = 0; i < r->n_sessions && d->session; i++) {
		struct run_session *s = &r->session[i];
		struct procfs_times before = times_of(d->session, d->n_sessions, s->pid), now;
		struct procstat st;

		s->stopped = !s->ended_ns && !procstat_read(&st, s->pid) &&
			     (st.state == 'T' || st.state == 't');

		/* It began before the last look, and its CPU time was not read then. */
		if (!s->begun_ns && !before.cpu_ns)
			continue;
		if (!times_now(&now, d, s) || now.cpu_ns < before.cpu_ns ||
		    now.runq_ns < before.runq_ns)
			continue;
		s->has_cpu = true;
		s->cpu_ns = now.cpu_ns - before.cpu_ns;
		s->runq_ns = now.runq_ns - before.runq_ns;
	}
}

int diagnose_machine(const struct machine *before, const struct machine *after,
		     const struct diagnose_own *own, const struct filesystem *volume, size_t n,
		     struct run *r)
{
	struct doctor_machine m = { .before = before,
				    .after = after,
				    .own = own->pid,
				    .n_own = own->n,
				    .server_cpu_ns = server_cpu_ns(r),
				    .volume = volume,
				    .n_volumes = n };

	return doctor_machine(r->figures, &m);
}

int diagnose_new_figures(struct run *r)
{
	r->figures = calloc(1, sizeof(*r->figures));
	if (!r->figures)
		return -ENOMEM;
	if (r->kind && r->kind != &kind_at(0)->is)
		run_name_set(r->figures, RUN_NAME_KIND, "%s", run_kind_name(r));
	return 0;
}

void diagnose_hide(struct run_figures *f, const enum run_figure *which, size_t n, const char *why)
{
	for (size_t i = 0; i < n; i++) {
		f->known[which[i]] = f->at_least[which[i]] = false;
		run_figure_who(f, which[i], "%s", why);
	}
}

/*
 * Since Linux 6.1 a freezer of version 1 leaves threads that sleep in poll() or for a lock as they
 * are: no event tells it. Few stops are then no proof that there were few. (Seen on 6.18: of 65
 * threads of a server over Rx, frozen for 60 % of the time, one was reported. afpd's differ.)
 */
static void diagnose_look_freezer(const struct kind_found *found, struct run_figures *out)
{
	static const enum run_figure stops[] = { RUN_FIGURE_STOPPED, RUN_FIGURE_STOPPED_FOR,
						 RUN_FIGURE_STOPPED_WAIT };
	struct cgroup_folder f;

	if (kind_by_session(found) || !out->known[RUN_FIGURE_STOPPED_WAIT] ||
	    out->value[RUN_FIGURE_STOPPED_WAIT] >= STOPPED_HARM ||
	    cgroup_folder(&f, "", found->target.server, "freezer") || f.version != 1 ||
	    cgroup_folder_is_all(&f))
		return;
	diagnose_hide(out, stops, sizeof(stops) / sizeof(stops[0]),
		      "its cgroup has a freezer of version 1, of which the kernel tells little");
}

void diagnose_look_passed_on(const struct watch *w, struct run *r)
{
	const struct target *t = w ? watch_target(w) : NULL;
	double passed = t ? passed_share(t, r) : NAN;
	char name[32] = "?";

	if (!t || !watch_rung(w) || isnan(passed))
		return;
	run_figure_set(r->figures, RUN_FIGURE_PASSED_ON, fmin(passed, 1));
	if (!t->foreign)
		return;
	procfs_thread_name(name, sizeof(name), t->server, t->server);
	run_figure_who(r->figures, RUN_FIGURE_PASSED_ON, "%s (pid %d) is %s", name, t->server,
		       t->foreign);
}

/* For how long the server's threads were stopped, by whomever. */
static uint64_t server_stopped_ns(const struct run *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->n_phases; i++)
		ns += ledger_part_sum(&r->phase[i]->ledger, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL,
				      LEDGER_ALL)
			  .stopped_ns;
	return ns;
}

/*
 * frozen: also by a freezer, whose group is searched for each process. main: it serves no client;
 * 0: all do.
 */
static void look_stopped_now(struct watch *w, bool frozen, pid_t main, struct run_figures *out)
{
	struct procstat st;
	double n = 0, all = 0;
	pid_t pid;

	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));) {
		if (pid == main || procstat_read(&st, pid))
			continue;
		all++;
		if (st.state != 'T' && st.state != 't' && !(frozen && cgroup_frozen("", pid)))
			continue;
		n++;
		run_figure_who(out, RUN_FIGURE_STOPPED_NOW, "%s (pid %d)", st.comm, pid);
	}
	run_figure_set(out, RUN_FIGURE_STOPPED_NOW, n);
	run_figure_share(out, RUN_FIGURE_STOPPED_NOW_SHARE, n, all);
}

void diagnose_look_tracers(struct watch *w, uint64_t before_ns, struct run *r)
{
	uint64_t by_ns = watch_traced_ns(w) - before_ns, stopped_ns = server_stopped_ns(r);
	struct run_figures *out = r->figures;
	struct procstat st;
	char text[64];
	pid_t pid, tracer;
	bool looked = false, by_client = run_kind_judged(r->kind) == RUN_JUDGED_SHARES;
	double n = 0;

	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));) {
		if (procfs_status(text, sizeof(text), pid, "TracerPid"))
			continue;
		looked = true;
		tracer = (pid_t)strtol(text, NULL, 10);
		n += tracer > 0;
		if (tracer > 0 && !procstat_read(&st, tracer))
			run_figure_who(out, RUN_FIGURE_TRACED, "%s (pid %d)", st.comm, tracer);
	}
	if (looked)
		run_figure_set(out, RUN_FIGURE_TRACED_NOW, n);
	if (by_ns && !(n > 0))
		run_figure_who(out, RUN_FIGURE_TRACED,
			       "a program that has left (a debugger, strace)");
	if (stopped_ns)
		n = by_ns < stopped_ns / 2 ? 0 : fmax(n, 1);
	/* Where each client has a process of its own, one that stands still may be seen only so. */
	if (stopped_ns || by_client)
		look_stopped_now(w, stopped_ns != 0, by_client ? watch_target(w)->server : 0, out);
	if (looked || by_ns)
		run_figure_set(out, RUN_FIGURE_TRACED, n);
}

static size_t folders_of(char (*out)[CENSUS_PATH_MAX], const struct diagnose *d,
			 const struct kind_found *found)
{
	size_t n = found->n_folders < DIAGNOSE_VOLUMES_MAX ? found->n_folders
							   : DIAGNOSE_VOLUMES_MAX;

	if (n)
		memcpy(out, found->folder, n * sizeof(*out));
	else if (found->servers.n)
		n = volumes_list(out, DIAGNOSE_VOLUMES_MAX, &d->settings.conf,
				 &found->servers.entry[0]);
	return n;
}

/* Those that there are now; what is known of the others stays. */
static void look_volumes(struct diagnose *d, const struct kind_found *found)
{
	char path[DIAGNOSE_VOLUMES_MAX][CENSUS_PATH_MAX];
	size_t n = folders_of(path, d, found);
	bool same = n == d->n_volumes;

	for (size_t i = 0; same && i < n; i++)
		same = !strcmp(path[i], d->volume[i].path);
	for (size_t i = 0; !same && i < n; i++)
		filesystem_init(&d->volume[i], path[i]);
	d->n_volumes = n;
	filesystem_look(d->volume, n, found->target.server);
	for (size_t i = 0; i < n; i++)
		d->volume[i].read_only &= !volumes_read_only(&d->settings.conf, path[i]);
}

/* Looking at the descriptors of 2,000 processes takes 150 ms. */
static void look_scanner(struct diagnose *d, const struct filesystem *volume, size_t n,
			 const struct diagnose_own *own)
{
	uint64_t now = clock_now_ns();

	if (d->scanned_ns && now - d->scanned_ns < SCAN_EVERY_NS)
		return;
	d->scanner_error = fanotify_find(&d->scanner, volume, n, own->pid, own->n);
	d->scanned_ns = now;
}

/* The volume in which a session works now; DIAGNOSE_VOLUMES_MAX: in none that is known. */
static size_t volume_of(const struct diagnose *d, pid_t pid)
{
	size_t found = DIAGNOSE_VOLUMES_MAX;
	char cwd[CENSUS_PATH_MAX];

	census_cwd(cwd, sizeof(cwd), pid);
	for (size_t i = 0; cwd[0] && i < d->n_volumes; i++)
		if (text_below(cwd, d->volume[i].path) &&
		    (found == DIAGNOSE_VOLUMES_MAX ||
		     strlen(d->volume[i].path) > strlen(d->volume[found].path)))
			found = i;
	return found;
}

/* Those that clients use (doctor_used). out borrows what they own. Returns how many. */
static size_t used_volumes(struct filesystem out[DIAGNOSE_VOLUMES_MAX], const struct diagnose *d,
			   const struct run *r)
{
	uint64_t busy_ns[DIAGNOSE_VOLUMES_MAX + 1] = { 0 };
	bool used[DIAGNOSE_VOLUMES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < d->n_volumes; i++)
		busy_ns[i] = d->working[i];
	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];

		if (s->ended_ns || !s->busy_ns || d->n_last)
			continue;
		busy_ns[volume_of(d, s->pid)] += s->busy_ns;
	}
	doctor_used(used, d->volume, busy_ns, d->n_volumes);
	for (size_t i = 0; i < d->n_volumes; i++)
		if (used[i])
			out[n++] = d->volume[i];
	return n;
}

/* Its system calls have other numbers: what the programs in the kernel say of it is nonsense. */
static void look_program(struct run_figures *out, pid_t pid)
{
	unsigned char ident[EI_NIDENT];
	int fd = filesystem_open_exe(pid);
	bool known = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident) &&
		     !memcmp(ident, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	if (!known)
		return;
	run_figure_set(out, RUN_FIGURE_PROGRAM_32BIT,
		       sizeof(void *) == 8 && ident[EI_CLASS] == ELFCLASS32);
	if (out->value[RUN_FIGURE_PROGRAM_32BIT] > 0)
		run_figure_who(out, RUN_FIGURE_PROGRAM_32BIT,
			       "the server is a 32-bit program on a 64-bit kernel");
}

static void diagnose_look_cnid(struct watch *w, const struct servers_entry *s,
			       const struct settings *set, struct run_figures *out)
{
	pid_t pid;

	cnidstate_look(out, s, set);
	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_BACKEND, &at));)
		cnidstate_held(out, pid, s);
}

/* Why connections wait. */
static void look_master(struct run_figures *out, pid_t pid)
{
	struct procstat st;

	if (!pid || procstat_read(&st, pid) || !(out->value[RUN_FIGURE_UNACCEPTED] > 0))
		return;
	if (st.state == 'T' || st.state == 't')
		run_figure_who(
		    out, RUN_FIGURE_UNACCEPTED,
		    "the server's main process (pid %d) is paused by a signal or a debugger", pid);
	else if (st.state == 'D')
		run_figure_who(out, RUN_FIGURE_UNACCEPTED,
			       "the server's main process (pid %d) hangs in the kernel", pid);
}

/* A session may be in its user's cgroup, a brick in a container of its own. */
static void look_groups(struct machine *m, const struct watch *w, pid_t server)
{
	pid_t pid;

	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));)
		cgroup_limits_compare(&m->groups, "", server, pid);
}

/* The machine, what is between clients and server, and the volumes. */
static int diagnose_around(struct diagnose *d, const struct watch *w,
			   const struct kind_found *found, const struct diagnose_own *own,
			   struct run *r)
{
	const struct servers_entry *server = found->servers.n ? &found->servers.entry[0] : NULL;
	struct filesystem used[DIAGNOSE_VOLUMES_MAX];
	size_t n = used_volumes(used, d, r);
	int e = 0;

	if (d->begun && !d->after.t_ns)
		e = machine_look(&d->after, found->target.server);
	look_groups(&d->after, w, found->target.server);
	if (!e && d->begun)
		e = diagnose_machine(&d->before, &d->after, own, used, n, r);
	if (e)
		return e;
	diagnose_look_passed_on(w, r);
	if (kind_by_session(found) && r->figures->known[RUN_FIGURE_REQUESTS]) {
		strangers_look(r->figures, r, server);
		relays_look(r->figures, r, server, own->pid, own->n);
	}
	if (found->target.files == AFS_FILES_GLUSTER)
		bricks_look(r->figures, found);
	if (server || found->n_folders) {
		look_scanner(d, used, n, own);
		doctor_room_used(r->figures, used, n);
		/* As with one that is read-only: what is refused takes no time there. */
		if (r->figures->value[RUN_FIGURE_DISK_FULL] > 0)
			doctor_room(r->figures, d->volume, d->n_volumes);
		else
			doctor_room(r->figures, used, n);
		doctor_read_only(r->figures, d->volume, d->n_volumes);
		doctor_missing(r->figures, d->volume, d->n_volumes);
		doctor_volumes(r->figures, used, n, &d->scanner, d->scanner_error);
		doctor_apart(r->figures, d->volume, d->n_volumes);
	}
	return 0;
}

int diagnose_end(struct diagnose *d, struct watch *w, const struct kind_found *found, struct run *r)
{
	const struct servers_entry *by_session = kind_by_session(found);
	struct diagnose_own own = { 0 };
	int e;

	e = diagnose_new_figures(r);
	if (!e) {
		kind_name_things(r->figures, found);
		look_program(r->figures, found->target.server);
		diagnose_look_tracers(w, d->traced_ns, r);
		diagnose_look_stops(d, w, r->figures);
	}
	if (!e && by_session) {
		settings_read(&d->settings, by_session);
		settings_note(r, &d->settings, by_session);
	}
	if (!e && !d->last && (found->servers.n || found->n_folders))
		look_volumes(d, found);
	if (!e)
		diagnose_look_sessions(d, found, r);
	if (!e)
		e = unanswered_note(&d->unanswered, r);
	if (!e)
		look_ends(d, w, r);
	if (!e && by_session)
		diagnose_look_cnid(w, by_session, &d->settings, r->figures);
	if (!e)
		e = doctor_measure(r->figures, r);
	if (!e)
		diagnose_look_freezer(found, r->figures);
	if (!e && by_session && r->ends[AFS_ROLE_SERVER].crashed)
		crashlog_look(r->figures, by_session, &d->settings.conf,
			      r->ends[AFS_ROLE_SERVER].pid);
	if (!e && found->servers.n)
		look_master(r->figures, found->servers.entry[0].master);
	if (!e)
		e = diagnose_own(&own, w);
	if (!e)
		e = diagnose_around(d, w, found, &own, r);
	if (!e)
		e = diagnose_advise_once(r);
	free(own.pid);
	return e;
}

int diagnose_after(struct diagnose *d, const struct watch *w, const struct kind_found *found)
{
	int e;

	machine_fini(&d->after);
	e = machine_look(&d->after, found->target.server);
	connections_look(&d->connections);
	e = e ? e : diagnose_times(&d->last, &d->n_last, w);
	if (kind_by_session(found))
		settings_read(&d->settings, kind_by_session(found));
	look_volumes(d, found);
	memset(d->working, 0, sizeof(d->working));
	for (size_t i = 0; i < d->n_last; i++)
		d->working[volume_of(d, d->last[i].pid)]++;
	return e;
}

void diagnose_fini(struct diagnose *d)
{
	machine_fini(&d->before);
	machine_fini(&d->after);
	settings_fini(&d->settings);
	connections_fini(&d->connections);
	unanswered_fini(&d->unanswered);
	free(d->session);
	free(d->last);
	*d = (struct diagnose) { 0 };
}
