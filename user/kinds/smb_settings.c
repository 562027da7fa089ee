/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks testparm; which values spoil figures is a table. */
#include "kinds/smb_settings.h"

#include "base/text.h"
#include "host/filesystem.h"
#include "host/inside.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ASK_MS    3000
#define GLOBAL    "global"
#define USUAL     "smb.conf"
#define LOG_LEVEL "log level"

/* Where the programs of a server are installed together, beside its "sbin/smbd". */
static void beside(char *out, size_t len, const char *exe, const char *name)
{
	const char *end = strstr(exe, "/sbin/");

	snprintf(out, len, "%.*s/bin/%s", end ? (int)(end - exe) : 4, end ? exe : "/usr", name);
}

static void smb_settings_find_file(struct smb_settings *out, pid_t pid)
{
	if (procfs_argument(out->file, sizeof(out->file), pid, "-s") &&
	    procfs_argument(out->file, sizeof(out->file), pid, "--configfile"))
		out->file[0] = '\0';
}

/* Of what it includes, and of the registry, it is not seen. */
static void look_when_changed(struct smb_settings *out, pid_t pid)
{
	struct stat st;
	char root[64];

	procfs_inside(root, sizeof(root), pid, "");
	if (!filesystem_stat(&st, root, out->file[0] ? out->file : "/etc/samba/" USUAL))
		conf_take_time(&out->changed_s, &st);
}

/* "Version 4.17.12-Debian" */
static void read_version(struct smb_settings *out, const struct servers_entry *s)
{
	char program[CENSUS_PATH_MAX], option[] = "-V", *text, *argv[] = { program, option, NULL };

	snprintf(program, sizeof(program), "%s", s->exe);
	if (*program != '/' || inside_run(&text, s->master, argv, ASK_MS, NULL))
		return;
	if (!strncmp(text, "Version ", 8))
		snprintf(out->version, sizeof(out->version), "%.*s", (int)strcspn(text + 8, "\n"),
			 text + 8);
	text_clean(out->version);
	free(text);
}

/* "PID 4711: all:1 tdb:1 smb2:5 ...", a class and its level each. */
void smb_settings_take_log(struct smb_settings *out, const char *text)
{
	unsigned long most = 0, level;
	bool known = false;

	for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		if (at[1] < '0' || at[1] > '9')
			continue;
		level = strtoul(at + 1, NULL, 10);
		most = level > most ? level : most;
		known = true;
	}
	if (known && most < 1000)
		snprintf(out->log, sizeof(out->log), "%lu", most);
}

static void read_log(struct smb_settings *out, const struct servers_entry *s)
{
	char program[CENSUS_PATH_MAX], option[] = "-s", who[] = "smbd", what[] = "debuglevel";
	char *with[] = { program, option, out->file, who, what, NULL }, *text;
	char *without[] = { program, who, what, NULL };

	beside(program, sizeof(program), s->exe, "smbcontrol");
	if (inside_run(&text, s->master, out->file[0] ? with : without, ASK_MS, NULL))
		return;
	smb_settings_take_log(out, text);
	free(text);
}

int smb_settings_take(struct smb_settings *out, char *text)
{
	int r = afpconf_parse(&out->conf, text, USUAL);

	out->known = !r && afpconf_find(&out->conf, GLOBAL, "strict sync");
	if (!out->known)
		snprintf(out->why, sizeof(out->why), "testparm printed no settings");
	return r;
}

void smb_settings_read(struct smb_settings *out, const struct servers_entry *s)
{
	char program[CENSUS_PATH_MAX], quiet[] = "-s", all[] = "-v", *text;
	char *argv[] = { program, quiet, all, NULL, NULL };
	struct err e = { 0 };

	*out = (struct smb_settings) { 0 };
	if (!s->master) {
		snprintf(out->why, sizeof(out->why), "the main process has ended");
		return;
	}
	smb_settings_find_file(out, s->master);
	look_when_changed(out, s->master);
	read_version(out, s);
	read_log(out, s);
	beside(program, sizeof(program), s->exe, "testparm");
	argv[3] = out->file[0] ? out->file : NULL;
	if (inside_run(&text, s->master, argv, ASK_MS, &e))
		snprintf(out->why, sizeof(out->why), "%s", e.text);
	else
		smb_settings_take(out, text);
}

void smb_settings_fini(struct smb_settings *s)
{
	afpconf_fini(&s->conf);
}

/* ---- values, by share ---- */

static const char *value_of(const struct smb_settings *s, const char *section, const char *key)
{
	const struct afpconf_item *i = afpconf_find(&s->conf, section, key);

	if (!strcmp(key, LOG_LEVEL))
		return s->log[0] ? s->log : NULL;
	i = i ? i : afpconf_find(&s->conf, GLOBAL, key);
	return i ? i->value : NULL;
}

/* The next section with files from item *at on; NULL: no more. */
static const char *next_share(const struct smb_settings *s, size_t *at)
{
	while (*at < s->conf.n) {
		const char *section = s->conf.item[*at].section, *prints;

		while (*at < s->conf.n && s->conf.item[*at].section == section)
			++*at;
		prints = value_of(s, section, "printable");
		if (strcasecmp(section, GLOBAL) != 0 && !(prints && afpconf_is_yes(prints)))
			return section;
	}
	return NULL;
}

struct smb_settings_n smb_settings_count(const struct smb_settings *s, const char *key,
					 bool (*is)(const char *value))
{
	struct smb_settings_n n = { 0 };
	const char *share, *value;

	for (size_t at = 0; (share = next_share(s, &at));) {
		value = value_of(s, share, key);
		n.all++;
		n.n += value && is(value);
	}
	return n;
}

/* ---- what spoils figures ---- */

static bool smb_is_nought(const char *value)
{
	return !strcmp(value, "0");
}

static bool smb_is_verbose(const char *value)
{
	return strtoul(value, NULL, 10) >= 3;
}

/* Encryption is demanded: "required", "mandatory"; "desired" is what clients of SMB 3 take. */
static bool smb_is_sealed(const char *value)
{
	return !strcasecmp(value, "required") || !strcasecmp(value, "mandatory") ||
	       !strcasecmp(value, "desired") || afpconf_is_yes(value);
}

/* A module of a list, which may have a name of its own: "full_audit:first". */
static bool smb_has_module(const char *value, const char *module)
{
	size_t len = strlen(module), word;

	for (const char *at = value; *at; at += word) {
		at += strspn(at, " \t,");
		word = strcspn(at, " \t,");
		if (word >= len && !strncasecmp(at, module, len) && (word == len || at[len] == ':'))
			return true;
	}
	return false;
}

static bool smb_is_audited(const char *value)
{
	return smb_has_module(value, "full_audit") || smb_has_module(value, "extd_audit") ||
	       smb_has_module(value, "audit");
}

static bool smb_is_scanned(const char *value)
{
	return smb_has_module(value, "virusfilter") || smb_has_module(value, "recycle");
}

static bool smb_is_uring(const char *value)
{
	return smb_has_module(value, "io_uring");
}

static bool smb_has_acls(const char *value)
{
	return smb_has_module(value, "acl_xattr") || smb_has_module(value, "acl_tdb");
}

static const struct conf_rule smb_rules[] = {
	{ "log-level", false, true, LOG_LEVEL, smb_is_verbose,
	  "lines are written for single requests: their writes are counted and take time",
	  "log level = 1", 0 },
	{ "strict-sync", false, false, "strict sync", afpconf_is_no,
	  "a client that asks to have its data on disk is answered before it is there",
	  "compare only with servers that answer so, too", 0 },
	{ "sync-always", false, false, "sync always", afpconf_is_yes,
	  "each write waits until its data is on disk", "sync always = no" CONF_UNLESS_IT, 0 },
	{ "audit", false, false, "vfs objects", smb_is_audited,
	  "a line is logged for single requests", "take the module away" CONF_UNLESS_IT, 0 },
	{ "scan-module", false, false, "vfs objects", smb_is_scanned,
	  "files are scanned, or moved when they are deleted: work of the module is in requests",
	  "take the module away" CONF_UNLESS_IT, 0 },
	{ "aio", false, false, "aio read size", smb_is_nought,
	  "one thread reads for all requests of a client, one after the other",
	  "remove the line (the default is 1)" CONF_UNLESS_IT, 0 },
	{ "aio", false, false, "aio write size", smb_is_nought,
	  "one thread writes for all requests of a client, one after the other",
	  "remove the line (the default is 1)" CONF_UNLESS_IT, 0 },
	{ "sealed", false, false, "server smb encrypt", smb_is_sealed,
	  "clients that can encrypt do so: which requests theirs are is not known",
	  "server smb encrypt = off while you measure", 0 },
	{ "io-uring", false, false, "vfs objects", smb_is_uring,
	  "file data is read and written by the kernel without system calls: they are in no count",
	  "take the module away while you measure", 0 },
	{ "acl-module", false, false, "vfs objects", smb_has_acls,
	  "each file that is made has its Windows ACL stored as well, at several times the calls",
	  "compare only with servers that store the same ACLs", 0 },
};

/* ", 1 of 3 shares" */
static void put_extent(char out[64], struct smb_settings_n n, bool is_global)
{
	out[0] = '\0';
	if (!is_global && n.n < n.all)
		snprintf(out, 64, ", %zu of %zu shares", n.n, n.all);
}

/* The first value to which the rule applies; NULL: none. */
static const char *first_value(const struct smb_settings *s, const struct conf_rule *rule)
{
	const char *share, *value = value_of(s, GLOBAL, rule->key);

	if (rule->is_global)
		return value && rule->applies(value) ? value : NULL;
	for (size_t at = 0; (share = next_share(s, &at));) {
		value = value_of(s, share, rule->key);
		if (value && rule->applies(value))
			return value;
	}
	return NULL;
}

static int smb_settings_warn(const struct smb_settings *s, struct run *r)
{
	char extent[64];
	const char *value;
	int e = 0;

	for (size_t i = 0; !e && i < sizeof(smb_rules) / sizeof(smb_rules[0]); i++) {
		const struct conf_rule *rule = &smb_rules[i];

		value = first_value(s, rule);
		if (!value)
			continue;
		put_extent(extent, smb_settings_count(s, rule->key, rule->applies),
			   rule->is_global);
		e = run_note(&r->warnings, rule->hint, "%s = %.200s: %s (%s%s); %s", rule->key,
			     value, rule->does, s->file[0] ? s->file : USUAL, extent, rule->todo);
	}
	return e;
}

/* ---- for a diagnosis ---- */

/* Auto: unless a client says that it distinguishes case, which none of SMB2 does. */
static bool smb_folds_case(const char *value)
{
	return afpconf_bool(value) != 1;
}

/* Samba reads its file again by itself, but a session keeps the modules of a share, and how it
 * looks names up there, from when the client opened it. */
static bool all_have_read(const struct smb_settings *s, const struct servers_entry *e)
{
	for (size_t i = 0; i < e->n_sessions; i++)
		if (conf_is_newer(s->changed_s, e->session[i].started))
			return false;
	return true;
}

static void note_shares(const struct smb_settings *s, const struct servers_entry *e, struct run *r)
{
	struct smb_settings_n folded = smb_settings_count(s, "case sensitive", smb_folds_case);

	r->shares.known = s->known && all_have_read(s, e);
	r->shares.all = folded.all;
	r->shares.folded = folded.n;
	r->shares.acls = smb_settings_count(s, "vfs objects", smb_has_acls).n;
}

/* ---- what is shown ---- */

/* Those that make figures of two servers differ. */
static const char *const smb_shown[] = {
	"vfs objects",
	"case sensitive",
	"strict sync",
	"sync always",
	LOG_LEVEL,
	"aio read size",
	"aio write size",
	"use sendfile",
	"min receivefile size",
	"oplocks",
	"strict locking",
	"server smb encrypt",
	"server signing",
	"server multi channel support",
};

/* false: the text is full. */
static bool put_setting(const struct smb_settings *s, const char *key, char out[ERR_TEXT_MAX])
{
	const char *share, *value = value_of(s, GLOBAL, key);
	struct conf_values all = { 0 };

	if (!value)
		return true;
	for (size_t at = 0; (share = next_share(s, &at));)
		conf_values_add(&all, value_of(s, share, key));
	if (!all.n)
		conf_values_add(&all, value);
	return conf_values_put(&all, key, "shares", out);
}

/* Names of files "/samba/vfs/NAME.so" that the process has loaded, each once. */
static void add_modules(char out[ERR_TEXT_MAX], pid_t pid)
{
	struct procfs_lines l;
	char *name, *end;

	if (procfs_lines(&l, pid, "maps"))
		return;
	while (procfs_line(&l)) {
		name = strstr(l.text, "/samba/vfs/");
		end = name ? strstr(name, ".so") : NULL;
		if (!end)
			continue;
		*end = '\0';
		name += strlen("/samba/vfs/");
		if (!text_has_word(out, ' ', name))
			err_append(out, "%s%s", *out ? " " : "", name);
	}
	procfs_lines_end(&l);
}

int smb_settings_note(const struct smb_settings *s, const struct servers_entry *e, struct run *r)
{
	char shown[ERR_TEXT_MAX] = "", modules[ERR_TEXT_MAX] = "";
	int error = 0;

	note_shares(s, e, r);
	if (s->version[0])
		error |= run_note(&r->server, "machine", "Samba %s", s->version);
	if (s->file[0])
		error |= run_note(&r->server, "settings", "%s", s->file);
	for (size_t i = 0; s->known && i < sizeof(smb_shown) / sizeof(smb_shown[0]); i++)
		if (!put_setting(s, smb_shown[i], shown))
			break;
	text_clean(shown);
	error |= run_note(&r->server, RUN_SMB_CONF, "%s%s",
			  s->known ? "" : "not visible: ", s->known ? shown : s->why);
	for (size_t i = 0; i < e->n_sessions; i++)
		add_modules(modules, e->session[i].pid);
	if (*modules)
		error |= run_note(&r->server, "modules", "%s", modules);
	return error || !s->known ? error : smb_settings_warn(s, r);
}
