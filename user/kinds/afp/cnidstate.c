/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/afp/looks.h"

#include "base/procstat.h"
#include "base/vec.h"
#include "host/filesystem.h"
#include "host/net/sockets.h"
#include "host/proc/procfs.h"
#include "kinds/conf.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEFAULT_PORT   4700
#define DEFAULT_FOLDER "/var/lib/netatalk/CNID"
#define FOLDERS_MAX    256 /* databases that are looked at */
#define LOOKS          5
#define LITTLE_B       65536
#define RESERVE_B      4000000
#define LOOK_US        4000

struct settings_of_cnid {
	bool dbd;   /* a volume uses cnid_dbd ... */
	bool named; /* ... and the settings say so; else it is the default of most builds */
	bool local; /* the server that is asked is on this host */
	bool mysql; /* a volume asks a database server */
	bool files; /* a volume's database is files in the folder */
	uint16_t port;
	char folder[CENSUS_PATH_MAX]; /* of the databases, as the server calls it */
};

/* "localhost:4701", "[::1]:4701", "127.0.0.1"; the port is optional. */
static void take_server(struct settings_of_cnid *out, const char *value)
{
	const char *colon = strrchr(value, ':'), *bracket = strchr(value, ']');

	if (colon && (bracket ? colon > bracket : colon == strchr(value, ':')))
		out->port = (uint16_t)strtoul(colon + 1, NULL, 10);
	out->local = !strncasecmp(value, "localhost", strlen("localhost")) ||
		     !strncmp(value, "127.", strlen("127.")) || !strncmp(value, "[::1]", 5) ||
		     !strcmp(value, "::1");
}

/* In [Global] a scheme says nothing. Without one it is dbd, from 4.6 on sqlite (netatalk's pull
 * request 3269; not run). */
#define SQLITE_SINCE 406

static void take_scheme(struct settings_of_cnid *out, const struct afpconf_item *scheme,
			unsigned int version)
{
	if (!scheme) {
		out->dbd |= version < SQLITE_SINCE;
		out->files = true;
		return;
	}
	out->named |= !strcasecmp(scheme->value, "dbd");
	out->dbd |= !strcasecmp(scheme->value, "dbd");
	out->mysql |= !strcasecmp(scheme->value, "mysql");
	out->files |= strcasecmp(scheme->value, "mysql") != 0;
}

static void take_settings(struct settings_of_cnid *out, const struct afpconf *c,
			  unsigned int version)
{
	const struct afpconf_item *server = afpconf_find(c, "Global", "cnid server");
	const struct afpconf_item *folder = afpconf_find(c, "Global", "vol dbpath"), *own;

	*out = (struct settings_of_cnid) { .local = true, .port = DEFAULT_PORT };
	for (size_t i = 0; i < c->n; i++) {
		if (!settings_makes_volume(c, i))
			continue;
		take_scheme(out, settings_of_volume(c, c->item[i].section, "cnid scheme"), version);
		own = settings_of_volume(c, c->item[i].section, "cnid server");
		server = own ? own : server;
	}
	if (server)
		take_server(out, server->value);
	snprintf(out->folder, sizeof(out->folder), "%s", folder ? folder->value : DEFAULT_FOLDER);
}

void cnidstate_ports(struct servers_entry *s)
{
	pid_t pid = servers_process(s);
	struct afpconf c = { 0 };
	char root[64];

	if (!pid || !s->conf[0])
		return;
	procfs_inside(root, sizeof(root), pid, "");
	afpconf_read(&c, root, s->conf, afpconf_follows(pid), NULL);
	for (size_t i = 0; i < c.n; i++) {
		struct settings_of_cnid is = { .port = DEFAULT_PORT };

		if (strcasecmp(c.item[i].key, "cnid server") != 0)
			continue;
		take_server(&is, c.item[i].value);
		servers_add_port(s->cnid_port, &s->n_cnid_ports, is.port);
	}
	afpconf_fini(&c);
}

static void look_for_listener(struct run_figures *out, const struct settings_of_cnid *is, pid_t pid)
{
	struct sockets all;
	bool found;

	if (!sockets_read_proc(&all, pid)) {
		found = VEC_FIND(s, all.entry, all.n, s->listens && s->local.port == is->port);
		run_figure_set(out, RUN_FIGURE_CNID_DOWN, found ? 0 : 1 + is->named);
		if (!found)
			run_figure_who(out, RUN_FIGURE_CNID_DOWN, "port %u of this host", is->port);
	}
	sockets_fini(&all);
}

/* One that is traced, as by strace, is stopped for a moment again and again. */
static bool stays_stopped(pid_t pid, struct procstat *st)
{
	for (int i = 0; i < LOOKS && st->state == 't'; i++) {
		usleep(LOOK_US);
		if (procstat_read(st, pid))
			return false;
	}
	return st->state == 'T' || st->state == 't';
}

static void look_whether_held(struct run_figures *out, pid_t pid, const char *name)
{
	struct procstat st;

	if (!pid || procstat_read(&st, pid))
		return;
	if (!out->known[RUN_FIGURE_CNID_HELD])
		run_figure_set(out, RUN_FIGURE_CNID_HELD, 0);
	if (!stays_stopped(pid, &st))
		return;
	run_figure_set(out, RUN_FIGURE_CNID_HELD, out->value[RUN_FIGURE_CNID_HELD] + 1);
	run_figure_who(out, RUN_FIGURE_CNID_HELD, "%s (pid %d)", name, pid);
}

void cnidstate_held(struct run_figures *out, pid_t pid, const struct servers_entry *s)
{
	struct procstat st;

	if (procstat_read(&st, pid) || pid == s->cnid_metad || st.ppid == s->cnid_metad)
		return;
	if (!out->known[RUN_FIGURE_CNID_DOWN])
		run_figure_set(out, RUN_FIGURE_CNID_DOWN, 0);
	look_whether_held(out, pid, st.comm);
}

static int look_at_child(void *arg, pid_t pid)
{
	look_whether_held(arg, pid, "cnid_dbd");
	return 0;
}

/* Whether files can be made in a folder */

struct folder_state {
	char path[CENSUS_PATH_MAX + 64];
	bool known;
	char why[64]; /* not; empty: they can, as far as is seen */
};

static void judge_folder(struct folder_state *f, const char *path)
{
	struct statvfs fs;
	struct statx st;

	if (statvfs(path, &fs) || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &st))
		return;
	f->known = true;
	if (fs.f_flag & ST_RDONLY)
		snprintf(f->why, sizeof(f->why), "its file system is read-only");
	else if (st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_IMMUTABLE)
		snprintf(f->why, sizeof(f->why), "it is immutable (chattr +i)");
	/*
	 * A full ext4 has a few blocks left that nobody can use. A large reserve for root is
	 * room for the CNID server.
	 */
	else if ((uint64_t)fs.f_bavail * fs.f_frsize < LITTLE_B &&
		 (uint64_t)fs.f_bfree * fs.f_frsize < RESERVE_B)
		snprintf(f->why, sizeof(f->why), "its file system is full");
	else if (fs.f_files && !fs.f_ffree)
		snprintf(f->why, sizeof(f->why), "its file system has no inode left");
}

/* The folder of all databases, and each database's own. */
static void ask_folder(void *arg)
{
	struct folder_state *f = arg;
	char below[sizeof(f->path) + 257], top[sizeof(f->path)];
	struct dirent *entry;
	DIR *d;

	snprintf(top, sizeof(top), "%s", f->path);
	judge_folder(f, top);
	d = f->known && !*f->why ? opendir(top) : NULL;
	for (int i = 0; d && i < FOLDERS_MAX && !*f->why && (entry = readdir(d)); i++) {
		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		snprintf(below, sizeof(below), "%s/%s", top, entry->d_name);
		judge_folder(f, below);
		if (*f->why)
			snprintf(f->path, sizeof(f->path), "%.*s", (int)sizeof(f->path) - 1, below);
	}
	if (d)
		closedir(d);
}

static void look_at_folder(struct run_figures *out, pid_t pid, const char *root, const char *folder)
{
	struct folder_state f = { 0 };

	snprintf(f.path, sizeof(f.path), "%s%s", root, folder);
	if (filesystem_ask(pid, folder, ask_folder, &f, &f, sizeof(f)) || !f.known)
		return;
	run_figure_set(out, RUN_FIGURE_CNID_FOLDER, *f.why != 0);
	if (*f.why)
		run_figure_who(out, RUN_FIGURE_CNID_FOLDER, "%s: %s", f.path + strlen(root), f.why);
}

static void look_at_metad(struct run_figures *out, pid_t cnid_metad)
{
	look_whether_held(out, cnid_metad, "cnid_metad");
	procfs_each_child(cnid_metad, look_at_child, out);
}

/* Where and how the server asks for CNIDs is not what its settings say now: only whether a CNID
 * server of its own is paused is known, not whether it asks that one. */
static void look_anew(struct run_figures *out, const struct servers_entry *s)
{
	static const enum run_figure which[] = { RUN_FIGURE_CNID_DOWN, RUN_FIGURE_CNID_HELD,
						 RUN_FIGURE_CNID_FOLDER, RUN_FIGURE_CNID_MYSQL };
	struct procstat st;

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		run_figure_who(out, which[i], SETTINGS_MAY_DIFFER);
	if (!s->cnid_metad || procstat_read(&st, s->cnid_metad) || !procstat_lives(&st))
		return;
	run_figure_who(out, RUN_FIGURE_CNID_HELD, "%s", "");
	look_at_metad(out, s->cnid_metad);
}

void cnidstate_look(struct run_figures *out, const struct servers_entry *s,
		    const struct settings *set)
{
	pid_t pid = servers_process(s);
	struct settings_of_cnid is;
	char root[64];

	if (!set->known)
		return;
	procfs_inside(root, sizeof(root), pid, "");
	take_settings(&is, &set->conf, set->version);
	if (settings_may_differ(set, s)) {
		look_anew(out, s);
		return;
	}
	/* Sessions open the database themselves: there is no CNID server. */
	if (!is.dbd && !is.mysql) {
		run_figure_set(out, RUN_FIGURE_CNID_DOWN, 0);
		run_figure_set(out, RUN_FIGURE_CNID_HELD, 0);
	}
	if (is.dbd && is.local)
		look_for_listener(out, &is, pid);
	if (is.dbd && is.local && s->cnid_metad)
		look_at_metad(out, s->cnid_metad);
	run_figure_set(out, RUN_FIGURE_CNID_MYSQL, is.mysql);
	if (is.files)
		look_at_folder(out, pid, root, is.folder);
}
