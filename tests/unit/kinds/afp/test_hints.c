/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's configuration file, and what its settings do to figures.
 * Also tests user/kinds/conf.c.
 */
#include "kinds/afp/hints.h"
#include "kinds/conf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A root with files in it. */
struct root {
	char path[64];
};

static int begin(void **state)
{
	struct root *r = calloc(1, sizeof(*r));

	snprintf(r->path, sizeof(r->path), "/tmp/test_kinds_hints.XXXXXX");
	*state = r;
	return mkdtemp(r->path) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];
	struct root *r = *state;

	snprintf(command, sizeof(command), "rm -rf '%s'", r->path);
	if (system(command))
		return -1;
	free(r);
	return 0;
}

static void write_file(const struct root *r, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", r->path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct hints hints_of_version(const struct root *r, const char *text, unsigned int version)
{
	struct hints h = {};
	struct afpconf c;

	write_file(r, "/afp.conf", text);
	assert_int_equal(afpconf_read(&c, r->path, "/afp.conf", true, NULL), 0);
	hints_conf(&h, &c, version);
	afpconf_fini(&c);
	return h;
}

static struct hints hints_of(const struct root *r, const char *text)
{
	return hints_of_version(r, text, 405);
}

/* The one hint that this text gives; "" when none. */
static void gives(const struct root *r, const char *text, const char *key, const char *where)
{
	struct hints h = hints_of(r, text);

	if (!*key && h.n)
		fail_msg("%s: %s", text, h.hint[0].what);
	if (*key) {
		if (h.n != 1)
			fail_msg("%s: %zu hints", text, h.n);
		assert_string_equal(h.hint[0].key, key);
		assert_string_equal(h.hint[0].where, where);
		assert_true(h.hint[0].todo[0]);
	}
	hints_fini(&h);
}

static void harmless_settings_give_no_hint(void **state)
{
	gives(*state, "", "", "");
	gives(*state,
	      "[Global]\nlog level = default:severe\nuse sendfile = yes\ndircache size = 65536\n"
	      "[vol]\npath = /srv\nconvert appledouble = no\nspotlight = 0\n",
	      "", "");
	gives(*state, "[Global]\nlog level = default:note cnid:warn\n", "", "");
	gives(*state, "; [Global]\n# log level = default:debug\n", "", "");
	/* Where it has no meaning. */
	gives(*state, "[vol]\nlog level = default:debug\nuse sendfile = no\n", "", "");
}

static void each_setting_that_spoils_figures_is_named_with_its_line(void **state)
{
	gives(*state, "[Global]\nlog level = default:maxdebug\n", "log-level", "/afp.conf:2");
	gives(*state, "[GLOBAL]\n\nlog level=default:warn,dsi:DEBUG7\n", "log-level",
	      "/afp.conf:3");
	gives(*state, "[Global]\nlog level = default:info\n", "log-level", "/afp.conf:2");
	gives(*state, "[Global]\nuse sendfile = No ; why\n", "sendfile", "/afp.conf:2");
	gives(*state, "[Global]\ndircache size = 1024\n", "dircache", "/afp.conf:2");
	gives(*state, "[Global]\nfce listener = localhost:12250\n", "fce", "/afp.conf:2");
	gives(*state, "[Global]\nfce notify script = /bin/x\n", "fce-script", "/afp.conf:2");
	gives(*state, "[Global]\n[vol]\nconvert appledouble = \"yes\"\n", "appledouble",
	      "/afp.conf:3");
	gives(*state, "[Global]\nspotlight = true\n", "spotlight", "/afp.conf:2");
}

/* By version: which key is read, which of the two is a hint, and what its advice says. */
static void the_key_of_the_cache_that_the_version_reads_is_named(void **state)
{
	static const struct {
		unsigned int version;
		const char *line, *hint, *todo;
	} rows[] = {
		{ 301, "dircachesize = 1024", "dircache",
		  "default is 8192 entries), or set a larger dircachesize" },
		{ 402, "dircachesize = 1024", "dircache",
		  "default is 8192 entries), or set a larger dircachesize" },
		{ 402, "dircachesize = 8192", "", "" },
		{ 402, "dircache size = 1024", "dircache-key", "dircachesize = 1024" },
		{ 402, "dircache size = 65536", "dircache-key", "dircachesize = 65536" },
		{ 405, "dircache size = 1024", "dircache",
		  "default is 8192 entries), or set a larger dircache size" },
		{ 405, "dircachesize = 1024", "dircache",
		  "default is 8192 entries), or set a larger dircache size" },
		{ 405, "dircachesize = 1024\ndircache size = 65536", "", "" },
		{ 405, "dircachesize = 65536\ndircache size = 1024", "dircache",
		  "set a larger dircache size" },
		{ 406, "dircache size = 1024", "dircache", "default is 65536 entries)" },
		{ 0, "dircachesize = 1024", "dircache", "the line, or set a larger dircache size" },
		{ 405, "multi protocol = yes\ndircache validation freq = 1", "", "" },
		{ 406, "multi protocol = yes", "multi-protocol", "remove the line" },
		{ 406, "multi protocol = no", "", "" },
		{ 406, "dircache validation freq = 1", "validation", "remove the line" },
		{ 406, "dircache validation freq = 100", "", "" },
		{ 407, "a key of the future = 7", "", "" },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hints h;

		snprintf(text, sizeof(text), "[Global]\n%s\n", rows[i].line);
		h = hints_of_version(*state, text, rows[i].version);
		assert_int_equal(h.n, *rows[i].hint != 0);
		if (h.n) {
			assert_string_equal(h.hint[0].key, rows[i].hint);
			assert_non_null(strstr(h.hint[0].todo, rows[i].todo));
		}
		hints_fini(&h);
	}
}

static void the_last_value_counts(void **state)
{
	gives(*state, "[Global]\nuse sendfile = no\nuse sendfile = yes\n", "", "");
	gives(*state, "[Global]\nspotlight = yes\nspotlight = yes\n", "spotlight", "/afp.conf:3");
}

static void continued_lines_keep_their_number(void **state)
{
	gives(*state, "[Global]\nuam list = a \\\n b \\\n c\nlog level = default:\\\ndebug\n",
	      "log-level", "/afp.conf:5");
	gives(*state, "[Global]\r\nuse sendfile = no\r\n", "sendfile", "/afp.conf:2");
	gives(*state, "[Global]\nuse sendfile = no", "sendfile", "/afp.conf:2");
}

static void included_files_are_followed(void **state)
{
	struct root *r = *state;

	write_file(r, "/more.conf", "\nuse sendfile = no\n");
	gives(r, "[Global]\ninclude = /more.conf\n", "sendfile", "/more.conf:2");
	write_file(r, "/more.conf", "[vol]\nconvert appledouble = yes\n");
	gives(r, "[Global]\ninclude = /more.conf\n", "appledouble", "/more.conf:2");
}

static void includes_that_the_server_does_not_follow_are_told(void **state)
{
	struct root *r = *state;
	struct hints h = {};
	struct afpconf c;

	write_file(r, "/more.conf", "use sendfile = no\n");
	write_file(r, "/afp.conf", "[Global]\ninclude = /more.conf\n");
	assert_int_equal(afpconf_read(&c, r->path, "/afp.conf", false, NULL), 0);
	hints_conf(&h, &c, 405);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.hint[0].key, "include");
	assert_string_equal(h.hint[0].where, "/afp.conf:2");
	hints_fini(&h);
	afpconf_fini(&c);
}

static void links_lead_where_they_lead_the_server(void **state)
{
	struct root *r = *state;
	char link[128];

	write_file(r, "/real.conf", "[Global]\nuse sendfile = no\n");
	snprintf(link, sizeof(link), "%s/link.conf", r->path);
	assert_int_equal(symlink("/real.conf", link), 0);
	gives(r, "include = /link.conf\n", "sendfile", "/link.conf:2");
}

static void files_that_cannot_be_read_are_told(void **state)
{
	struct root *r = *state;
	struct afpconf c;
	struct err e = {};

	assert_int_equal(afpconf_read(&c, r->path, "/none.conf", true, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/none.conf"));
	afpconf_fini(&c);
	assert_int_equal(afpconf_read(&c, r->path, "/", true, &e), -EINVAL);
	afpconf_fini(&c);
	write_file(r, "/ring.conf", "[Global]\nlog level = x\ninclude = /ring.conf\n");
	assert_int_equal(afpconf_read(&c, r->path, "/ring.conf", true, &e), -ELOOP);
	assert_non_null(afpconf_find(&c, "global", "LOG LEVEL"));
	afpconf_fini(&c);
}

static void nonsense_is_no_setting(void **state)
{
	struct root *r = *state;
	char text[20000];
	struct hints h;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	h = hints_of(r, text);
	assert_int_equal(h.n, 0);
	hints_fini(&h);
	gives(r, "=\n[\n]\n[]\n==\nkey\n= value\n\\\n\"\n", "", "");
	gives(r, "[Global]\nlog level = ,, : debugger: \"\nuse sendfile = maybe\n", "", "");
	gives(r, "[Global]\ndircache size = many\nspotlight =\nlog level =\n", "", "");
}

static void a_log_beside_a_volume_is_told_when_it_is_written(void **state)
{
	static const struct {
		const char *level;
		size_t n;
		bool weak;
	} cases[] = { { "severe", 0, false }, { "note", 1, true }, { "debug", 1, false } };
	struct root *r = *state;
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hints h = {};
		struct afpconf c;

		write_file(r, "/log", "");
		snprintf(text, sizeof(text),
			 "[Global]\nlog level = default:%s\nlog file = /log\n[v]\npath = /\n",
			 cases[i].level);
		write_file(r, "/afp.conf", text);
		assert_int_equal(afpconf_read(&c, r->path, "/afp.conf", true, NULL), 0);
		hints_log(&h, &c, r->path);
		assert_int_equal(h.n, cases[i].n);
		if (h.n) {
			assert_int_equal(h.hint[0].weak, cases[i].weak);
			assert_string_equal(h.hint[0].where, "/afp.conf:3");
			assert_non_null(strstr(h.hint[0].what, "[v]"));
		}
		hints_fini(&h);
		afpconf_fini(&c);
	}
}

static void a_folder_is_in_the_innermost_volume(void **state)
{
	static const struct {
		const char *path, *volume;
	} found[] = {
		{ "/srv/vol1", "/srv/vol1/" },
		{ "/srv/vol1/src/a", "/srv/vol1/" },
		{ "/srv/vol1/inner/a", "/srv/vol1/inner" },
		{ "/srv/vol10/src", NULL },
		{ "/srv", NULL },
		{ "/home/ann/x", NULL },
	};
	struct afpconf c;
	const char *got;

	write_file(*state, "/afp.conf",
		   "[Global]\nlog file = /srv/log\n[Homes]\nbasedir regex = /home\npath = afp\n"
		   "[One]\npath = /srv/vol1/\n[Inner]\nPath = \"/srv/vol1/inner\"\n"
		   "[Each]\npath = /home/$u\n[All]\npath = /\n");
	assert_int_equal(afpconf_read(&c, ((struct root *)*state)->path, "/afp.conf", true, NULL),
			 0);
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		got = volumes_find(&c, found[i].path);
		if (found[i].volume)
			assert_string_equal(got, found[i].volume);
		else
			assert_null(got);
	}
	afpconf_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harmless_settings_give_no_hint),
		cmocka_unit_test(a_folder_is_in_the_innermost_volume),
		cmocka_unit_test(each_setting_that_spoils_figures_is_named_with_its_line),
		cmocka_unit_test(the_key_of_the_cache_that_the_version_reads_is_named),
		cmocka_unit_test(the_last_value_counts),
		cmocka_unit_test(continued_lines_keep_their_number),
		cmocka_unit_test(included_files_are_followed),
		cmocka_unit_test(includes_that_the_server_does_not_follow_are_told),
		cmocka_unit_test(links_lead_where_they_lead_the_server),
		cmocka_unit_test(files_that_cannot_be_read_are_told),
		cmocka_unit_test(nonsense_is_no_setting),
		cmocka_unit_test(a_log_beside_a_volume_is_told_when_it_is_written),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
