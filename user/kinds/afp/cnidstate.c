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
#define PLACES_MAX     16  /* CNID servers, and folders, of different volumes */
#define LOOKS          5
#define LITTLE_B       65536
#define RESERVE_B      4000000
#define LOOK_US        4000

/* It is seen where a process of it works for a request. */
#define ASKS_DATABASE "a volume asks a database server"

/* A CNID server on this host that a volume's settings name. */
struct cnid_listener {
	uint16_t port;
	bool named; /* the settings say cnid_dbd; else it is the default of most builds */
};

struct settings_of_cnid {
	bool dbd;   /* a volume uses cnid_dbd */
	bool mysql; /* a volume asks a database server */
	/* Of each volume that uses cnid_dbd, its CNID server. */
	struct cnid_listener listener[PLACES_MAX];
	size_t n_listeners;
	/* Of each volume whose database is files, the folder of these, as the server calls it. */
	const char *folder[PLACES_MAX];
	size_t n_folders;
	/* Why a volume's CNID server, or folder, is not among these; NULL: all are. */
	const char *unseen_server, *unseen_folder;
};

/* "localhost:4701", "[::1]:4701", "127.0.0.1"; the port is optional. Whether it is this host. */
static bool take_server(uint16_t *port, const char *value)
{
	const char *colon = strrchr(value, ':'), *bracket = strchr(value, ']');

	if (colon && (bracket ? colon > bracket : colon == strchr(value, ':')))
		*port = (uint16_t)strtoul(colon + 1, NULL, 10);
	return !strncasecmp(value, "localhost", strlen("localhost")) ||
	       !strncmp(value, "127.", strlen("127.")) || !strncmp(value, "[::1]", 5) ||
	       !strcmp(value, "::1");
}

/* A volume's own value, else that of [Global]; afp.conf(5) marks such a key with (G)/(V). */
static const char *of_volume(const struct afpconf *c, const char *section, const char *key)
{
	const struct afpconf_item *is = settings_of_volume(c, section, key);

	is = is ? is : afpconf_find(c, "Global", key);
	return is ? is->value : NULL;
}

static void add_listener(struct settings_of_cnid *out, const char *value, bool named)
{
	uint16_t port = DEFAULT_PORT;
	struct cnid_listener *l = out->listener;

	if (value && !take_server(&port, value)) {
		out->unseen_server = "the CNID server of a volume is on another host";
		return;
	}
	while (l < out->listener + out->n_listeners && l->port != port)
		l++;
	if (l == out->listener + PLACES_MAX) {
		out->unseen_server = "volumes have too many different CNID servers";
		return;
	}
	if (l == out->listener + out->n_listeners)
		out->n_listeners++;
	*l = (struct cnid_listener) { .port = port, .named = named || l->named };
}

static void add_folder(struct settings_of_cnid *out, const char *folder)
{
	size_t i = 0;

	while (i < out->n_folders && strcmp(out->folder[i], folder) != 0)
		i++;
	if (strchr(folder, '$'))
		out->unseen_folder = "vol dbpath has variables";
	else if (i == PLACES_MAX)
		out->unseen_folder = "volumes have their databases in too many folders";
	else if (i == out->n_folders)
		out->folder[out->n_folders++] = folder;
}

/* In [Global] a scheme says nothing. Without one it is dbd, from 4.6 on sqlite (netatalk's pull
 * request 3269; not run). */
#define SQLITE_SINCE 406

static void take_cnid_of(struct settings_of_cnid *out, const struct afpconf *c, const char *section,
			 unsigned int version)
{
	const struct afpconf_item *scheme = settings_of_volume(c, section, "cnid scheme");
	bool named = scheme && !strcasecmp(scheme->value, "dbd");
	const char *folder = of_volume(c, section, "vol dbpath");

	if (scheme && !strcasecmp(scheme->value, "mysql")) {
		out->mysql = true;
		return;
	}
	add_folder(out, folder ? folder : DEFAULT_FOLDER);
	if (!named && (scheme || version >= SQLITE_SINCE))
		return;
	out->dbd = true;
	add_listener(out, of_volume(c, section, "cnid server"), named);
}

/* What it points to is c's. */
static void take_settings(struct settings_of_cnid *out, const struct afpconf *c,
			  unsigned int version)
{
	const struct afpconf_item *nest = afpconf_find(c, "Global", "vol dbnest");

	*out = (struct settings_of_cnid) { 0 };
	for (size_t i = 0; i < c->n; i++)
		if (settings_makes_volume(c, i))
			take_cnid_of(out, c, c->item[i].section, version);
	if (out->dbd && out->mysql && !out->unseen_server)
		out->unseen_server = ASKS_DATABASE;
	if (!nest || !afpconf_is_yes(nest->value) || !out->n_folders)
		return;
	out->n_folders = 0;
	out->unseen_folder = "each volume has its database in its own folder (vol dbnest)";
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
		uint16_t port = DEFAULT_PORT;

		if (strcasecmp(c.item[i].key, "cnid server") != 0)
			continue;
		take_server(&port, c.item[i].value);
		servers_add_port(s->cnid_port, &s->n_cnid_ports, port);
	}
	afpconf_fini(&c);
}

/* Of a figure that only says what was seen of some: 0 says nothing of the others. */
static void cnidstate_say(struct run_figures *out, enum run_figure which, double value,
			  const char *unseen)
{
	if (value > 0 || !unseen)
		run_figure_set(out, which, value);
	else
		run_figure_who(out, which, "%s", unseen);
}

static void look_for_listeners(struct run_figures *out, const struct settings_of_cnid *is,
			       pid_t pid)
{
	const struct cnid_listener *down = NULL;
	struct sockets all;

	if (!sockets_read_proc(&all, pid)) {
		for (size_t i = 0; i < is->n_listeners; i++) {
			const struct cnid_listener *l = &is->listener[i];
			bool found = VEC_FIND(s, all.entry, all.n,
					      s->listens && s->local.port == l->port);

			if (!found && (!down || l->named > down->named))
				down = l;
		}
		cnidstate_say(out, RUN_FIGURE_CNID_DOWN, down ? 1 + down->named : 0,
			      is->unseen_server);
		if (down)
			run_figure_who(out, RUN_FIGURE_CNID_DOWN, "port %u of this host",
				       down->port);
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
	if (!out->known[RUN_FIGURE_CNID_HELD] && !*out->who[RUN_FIGURE_CNID_HELD])
		run_figure_set(out, RUN_FIGURE_CNID_HELD, 0);
	if (!stays_stopped(pid, &st))
		return;
	run_figure_set(out, RUN_FIGURE_CNID_HELD, out->value[RUN_FIGURE_CNID_HELD] + 1);
	run_figure_who(out, RUN_FIGURE_CNID_HELD, "%s (pid %d)", name, pid);
}

void cnidstate_held(struct run_figures *out, pid_t pid, const struct servers_entry *s)
{
	static const enum run_figure which[] = { RUN_FIGURE_CNID_DOWN, RUN_FIGURE_CNID_HELD };
	struct procstat st;

	if (procstat_read(&st, pid) || pid == s->cnid_metad || st.ppid == s->cnid_metad)
		return;
	/* Where another reason is given, another CNID server may be down. */
	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		if (!out->known[which[i]] &&
		    (!*out->who[which[i]] || !strcmp(out->who[which[i]], ASKS_DATABASE)))
			run_figure_set(out, which[i], 0);
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

static void look_at_folders(struct run_figures *out, const struct settings_of_cnid *is, pid_t pid,
			    const char *root)
{
	const char *unseen = is->unseen_folder;

	for (size_t i = 0; i < is->n_folders; i++) {
		struct folder_state f = { 0 };

		snprintf(f.path, sizeof(f.path), "%s%s", root, is->folder[i]);
		if (filesystem_ask(pid, is->folder[i], ask_folder, &f, &f, sizeof(f)) || !f.known) {
			unseen = "a folder of databases is not there, or does not answer";
			continue;
		}
		if (!*f.why)
			continue;
		run_figure_set(out, RUN_FIGURE_CNID_FOLDER, 1);
		run_figure_who(out, RUN_FIGURE_CNID_FOLDER, "%s: %s", f.path + strlen(root), f.why);
		return;
	}
	if (is->n_folders || unseen)
		cnidstate_say(out, RUN_FIGURE_CNID_FOLDER, 0, unseen);
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
	if (is.n_listeners)
		look_for_listeners(out, &is, pid);
	else if (is.unseen_server)
		cnidstate_say(out, RUN_FIGURE_CNID_DOWN, 0, is.unseen_server);
	if (is.n_listeners && s->cnid_metad)
		look_at_metad(out, s->cnid_metad);
	if (is.unseen_server && !(out->value[RUN_FIGURE_CNID_HELD] > 0)) {
		out->known[RUN_FIGURE_CNID_HELD] = false;
		run_figure_who(out, RUN_FIGURE_CNID_HELD, "%s", is.unseen_server);
	}
	run_figure_set(out, RUN_FIGURE_CNID_MYSQL, is.mysql);
	look_at_folders(out, &is, pid, root);
}
