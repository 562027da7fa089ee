/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ganesha.conf says, as notes and warnings of a run. Tests user/kinds/nfs_settings.c. */
#include "kinds/nfs_settings.h"

#include "host/proc/procfs.h"

#include "unit/began.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXPORT(n, more)                                                                            \
	"EXPORT {\n\tExport_Id = " #n ";\n\tPath = /srv/" #n "; " more                             \
	"\n\tFSAL { Name = VFS; }\n}\n"

static void take(struct nfs_settings *s, struct run *r, const char *text)
{
	struct err e = { 0 };

	*s = (struct nfs_settings) { .known = true, .file = "/etc/ganesha/ganesha.conf" };
	assert_int_equal(nfs_settings_take(s, text, s->file, "", &e), 0);
	assert_int_equal(run_init(r, "record", "record"), 0);
	assert_int_equal(nfs_settings_note(s, r), 0);
}

static void drop(struct nfs_settings *s, struct run *r)
{
	nfs_settings_fini(s);
	run_fini(r);
}

static void blocks_comments_and_quotes_are_understood(void **state)
{
	static const char text[] =
	    "# EXPORT { Path = /no; }\n"
	    "NFS_Core_Param{RPC_Ioq_ThrdMax=24;Protocols = 3, # not 4\n 4 ;}"
	    "\nLOG { Default_Log_Level = WARN; COMPONENTS { FSAL = INFO; } }"
	    "export\n{ Path = \"/a;b {c}\" ; FSAL { name = 'VFS' ; } }\n"
	    "EXPORT { Path=/d; FSAL { Name = CEPH; } Client { Squash = x; } }";
	char folder[8][CENSUS_PATH_MAX];
	struct nfs_settings s;
	struct run r;

	(void)state;
	take(&s, &r, text);
	assert_int_equal(s.n_exports, 2);
	assert_string_equal(nfs_settings_find(&s, 0, "NFS_CORE_PARAM", "protocols"), "3, 4");
	assert_string_equal(nfs_settings_find(&s, 1, "EXPORT", "path"), "/a;b {c}");
	assert_string_equal(nfs_settings_find(&s, 2, "EXPORT/CLIENT", "Squash"), "x");
	assert_null(nfs_settings_find(&s, 1, "EXPORT/CLIENT", "Squash"));
	assert_string_equal(nfs_settings_level(&s), "INFO");
	assert_int_equal(r.limit.workers, 24);
	assert_int_equal(nfs_settings_folders(&s, folder, 8), 1);
	assert_string_equal(folder[0], "/a;b {c}");
	drop(&s, &r);
}

static void of_a_usual_server_nothing_is_said(void **state)
{
	struct nfs_settings s;
	struct run r;

	(void)state;
	take(&s, &r, EXPORT(1, "") EXPORT(2, "Attr_Expiration_Time = 30;"));
	assert_int_equal(r.warnings.n, 0);
	assert_int_equal(r.limit.workers, 200);
	assert_non_null(strstr(run_note_find(&r.server, "ganesha.conf"), "log level = EVENT; "));
	assert_non_null(strstr(run_note_find(&r.server, "ganesha.conf"),
			       "Attr_Expiration_Time = 60 (1 of 2 exports), 30 (1 of 2 exports)"));
	assert_string_equal(run_note_find(&r.server, "settings"), "/etc/ganesha/ganesha.conf");
	drop(&s, &r);
}

static void each_value_that_spoils_figures_is_warned_of(void **state)
{
	static const struct {
		const char *text, *key; /* NULL: none */
	} some[] = {
		{ "LOG { Default_Log_Level = DEBUG; }", "log-level" },
		{ "LOG { Default_Log_Level = INFO; }", NULL },
		{ "LOG { COMPONENTS { FSAL = F_DBG; } }", "log-level" },
		{ "LOG { COMPONENTS { FSAL = FULL_DEBUG; ALL = EVENT; } }", NULL },
		{ "LOG { Default_Log_Level = EVENT; COMPONENTS { ALL = FULL_DEBUG; } }",
		  "log-level" },
		{ "LOG { Default_Log_Level = INFO; FORMAT { EPOCH = true; } } A { B = 1; }"
		  "Log { COMPONENTS { ALL = FULL_DEBUG; } Default_Log_Level = DEBUG; }",
		  NULL },
		{ "LOG { FACILITY { max_level = FULL_DEBUG; } }", NULL },
		{ "NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 4; }", "workers" },
		{ "NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 16; }", NULL },
		{ "EXPORT_DEFAULTS { Attr_Expiration_Time = 0; }" EXPORT(1, ""), "attributes" },
		{ "EXPORT_DEFAULTS { Attr_Expiration_Time = 0; }" EXPORT(
		      1, "Attr_Expiration_Time = 60;"),
		  NULL },
		{ EXPORT(1, "Attr_Expiration_Time = -1;"), NULL },
		{ "NFSv4 { Delegations = true; }" EXPORT(1, "Delegations = R;"), "delegations" },
		{ "NFSv4 { Delegations = true; }" EXPORT(1, "Delegations = None;"), NULL },
		{ EXPORT(1, "Delegations = RW;"), NULL },
		{ EXPORT(1, "NFS_Commit = true;"), "sync-always" },
		{ EXPORT(1, "NFS_Commit = false;"), NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct nfs_settings s;
		struct run r;

		take(&s, &r, some[i].text);
		assert_int_equal(r.warnings.n, some[i].key != NULL);
		if (some[i].key)
			assert_non_null(run_note_find(&r.warnings, some[i].key));
		drop(&s, &r);
	}
}

static void of_exports_it_is_said_how_many(void **state)
{
	struct nfs_settings s;
	struct run r;

	(void)state;
	take(&s, &r, EXPORT(1, "NFS_Commit = yes;") EXPORT(2, "") EXPORT(3, "NFS_Commit = true;"));
	assert_non_null(strstr(run_note_find(&r.warnings, "sync-always"), "2 of 3 exports"));
	drop(&s, &r);
}

/* The command line's level is that of all for which the file names none. */
static void the_command_line_sets_the_level_of_the_log(void **state)
{
	struct nfs_settings s = { .level = "NIV_DEBUG" };
	struct err e = { 0 };

	(void)state;
	assert_string_equal(nfs_settings_level(&s), "DEBUG");
	assert_int_equal(nfs_settings_take(&s, "LOG { Default_Log_Level = CRIT; }", "", "", &e), 0);
	assert_string_equal(nfs_settings_level(&s), "CRIT");
	nfs_settings_fini(&s);
}

static void put_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void drop_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static void files_are_included_where_they_are_named(void **state)
{
	char folder[] = "/tmp/test_nfs_settings.XXXXXX", file[256];
	struct nfs_settings s = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	put_file(folder, "two", EXPORT(2, ""));
	put_file(folder, "level", "COMPONENTS { ALL = DEBUG; }\n");
	put_file(folder, "again", "%include again\n");
	snprintf(file, sizeof(file), "%s/ganesha.conf", folder);
	assert_int_equal(
	    nfs_settings_take(&s, EXPORT(1, "") "%include \"two\"\nLOG {\n%include level\n}\n",
			      file, "", &e),
	    0);
	assert_int_equal(s.n_exports, 2);
	assert_string_equal(nfs_settings_find(&s, 2, "EXPORT", "Path"), "/srv/2");
	assert_string_equal(nfs_settings_level(&s), "DEBUG");
	assert_false(s.has_more);
	assert_int_equal(nfs_settings_take(&s, "%url rados://a/b\n", file, "", &e), 0);
	assert_true(s.has_more);
	assert_int_equal(nfs_settings_take(&s, "%include again\n", file, "", &e), -ELOOP);
	assert_int_equal(nfs_settings_take(&s, "%include none\n", file, "", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/none: No such file"));
	nfs_settings_fini(&s);
	drop_file(folder, "two");
	drop_file(folder, "level");
	drop_file(folder, "again");
	assert_int_equal(rmdir(folder), 0);
}

/* What stands elsewhere may set what is not set here. */
static void of_what_is_not_read_no_default_is_said(void **state)
{
	struct nfs_settings s;
	struct run r;

	(void)state;
	take(&s, &r, "%url rados://a/b\n" EXPORT(1, ""));
	assert_int_equal(r.limit.workers, 0);
	assert_non_null(strstr(run_note_find(&r.server, "ganesha.conf"), "Protocols = not set"));
	drop(&s, &r);
}

/* Why: not only that the call failed. */
static void of_a_file_that_is_not_read_the_reason_is_said(void **state)
{
	static const struct {
		const char *include, *says;
	} cases[] = {
		{ "%include \"/proc/version\"", "it is not a file of a file system that stores" },
		{ "%include \"/tmp\"", "it is not a regular file" },
		{ "%include \"/none/such\"", "cannot read /none/such: No such file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nfs_settings s = { 0 };
		struct err e = { 0 };

		assert_true(nfs_settings_take(&s, cases[i].include, "/g", "", &e) < 0);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s: %s", cases[i].include, e.text);
		nfs_settings_fini(&s);
	}
}

static void what_the_server_may_not_have_read_is_not_shown(void **state)
{
	struct nfs_settings s = { .why = "it was changed", .file = "/g" };
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "record", "record"), 0);
	assert_int_equal(nfs_settings_note(&s, &r), 0);
	assert_string_equal(run_note_find(&r.server, "ganesha.conf"),
			    "not visible: it was changed");
	assert_int_equal(r.limit.workers, 0);
	drop(&s, &r);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* A process with the arguments of a server; it ends when what it reads from ends. */
static pid_t with_file(const char *conf, int from)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		dup2(from, 0);
		execl("/bin/sh", "sh", "-c", "read line", "-f", conf, NULL);
		_exit(1);
	}
	return pid;
}

static bool has_argument(pid_t pid)
{
	char file[CENSUS_PATH_MAX];

	return !procfs_argument(file, sizeof(file), pid, "-f");
}

/* Of a server that began with the machine: its configuration is older, or what that includes not.
 */
static void a_file_that_is_included_may_have_been_changed_since(void **state)
{
	static const struct timespec later[2] = { { .tv_sec = INT32_MAX },
						  { .tv_sec = INT32_MAX } };
	char folder[] = "/tmp/nfs-settings-XXXXXX", conf[64], more[64];
	struct servers_entry server = { 0 };
	int from[2];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	snprintf(conf, sizeof(conf), "%s/ganesha.conf", folder);
	snprintf(more, sizeof(more), "%s/more.conf", folder);
	write_file(conf, "%include \"more.conf\"\n" EXPORT(1, ""));
	server.master = with_file(conf, from[0]);
	while (!has_argument(server.master))
		usleep(1000);
	write_file(more, "NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 4; }\n");
	server.started = began_now();
	for (int is_old = 1; is_old >= 0; is_old--) {
		struct nfs_settings s;

		if (!is_old)
			assert_int_equal(utimensat(AT_FDCWD, more, later, 0), 0);
		nfs_settings_read(&s, &server);
		assert_int_equal(s.known, is_old);
		if (!is_old)
			assert_non_null(strstr(s.why, "/more.conf may have been changed after"));
		assert_string_equal(nfs_settings_find(&s, 0, "NFS_CORE_PARAM", "RPC_Ioq_ThrdMax"),
				    "4");
		nfs_settings_fini(&s);
	}
	close(from[0]);
	close(from[1]);
	assert_int_equal(waitpid(server.master, NULL, 0), server.master);
	unlink(conf);
	unlink(more);
	rmdir(folder);
}

/* Whatever stands there: no loop without an end, and no read behind the text. */
static void texts_that_are_cut_off_end(void **state)
{
	static const char text[] = "A { B = \"c'd\" ; # e\n F { G = 'h' ; } } %include x\n=} { I";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		char *cut = strndup(text, len);
		struct nfs_settings s = { 0 };
		struct err e = { 0 };

		assert_non_null(cut);
		nfs_settings_take(&s, cut, "/no/such/file", "", &e);
		free(cut);
		nfs_settings_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_comments_and_quotes_are_understood),
		cmocka_unit_test(of_a_usual_server_nothing_is_said),
		cmocka_unit_test(each_value_that_spoils_figures_is_warned_of),
		cmocka_unit_test(of_exports_it_is_said_how_many),
		cmocka_unit_test(the_command_line_sets_the_level_of_the_log),
		cmocka_unit_test(files_are_included_where_they_are_named),
		cmocka_unit_test(of_what_is_not_read_no_default_is_said),
		cmocka_unit_test(of_a_file_that_is_not_read_the_reason_is_said),
		cmocka_unit_test(what_the_server_may_not_have_read_is_not_shown),
		cmocka_unit_test(a_file_that_is_included_may_have_been_changed_since),
		cmocka_unit_test(texts_that_are_cut_off_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
