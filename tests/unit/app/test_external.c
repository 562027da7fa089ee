/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests user/app/external.c, beside.c: the programs that put a run into a lake and make a bundle,
 * and what they are told.
 */
#include "app/beside.h"
#include "app/external.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder on the PATH with an afpscope-export that notes its arguments, and ends with CODE. */
static int setup(void **state)
{
	char *dir = strdup("/tmp/afpscope-external-XXXXXX"), path[256], command[512];

	assert_non_null(mkdtemp(dir));
	snprintf(
	    command, sizeof(command),
	    "cd %s && printf '#!/bin/sh\\nprintf \"%%%%s\\\\n\" \"$@\" >%s/told\\necho result\\n"
	    "exit ${CODE:-0}\\n' >afpscope-export && chmod 755 afpscope-export && "
	    "ln afpscope-export afpscope-bundle",
	    dir, dir);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", dir);
	setenv("PATH", path, 1);
	unsetenv("CODE");
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(system(command), 0);
	free(*state);
	return 0;
}

static void assert_told(const char *dir, const char *wanted)
{
	char path[128], text[256] = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "%s/told", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	assert_string_equal(text, wanted);
}

static void names_are_no_options_and_no_labels(void **state)
{
	struct err e = { 0 };

	assert_int_equal(external_lake_put("-o x", "--to=1 $HOME `id`", &e), 0);
	assert_told(*state, "--into=-o x\n./--to=1 $HOME `id`\n");
	assert_int_equal(external_lake_put("lake", "/runs/a=b", &e), 0);
	assert_told(*state, "--into=lake\n/runs/a=b\n");
}

static void a_failure_says_how_to_try_again(void **state)
{
	struct err e = { 0 };

	(void)state;
	setenv("CODE", "1", 1);
	assert_int_equal(external_lake_put("lake", "run", &e), -EIO);
	assert_non_null(strstr(e.text, "`afpscope export run --into lake` tries again"));
}

static void a_program_that_is_missing_is_said_before(void **state)
{
	struct err e = { 0 };

	assert_int_equal(external_lake_check("lake", &e), 0);
	assert_int_equal(external_lake_check("", &e), -EINVAL);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(external_lake_check("lake", &e), -ENOENT);
	assert_non_null(strstr(e.text, "the package afpscope-analysis brings it"));
	(void)state;
}

static void a_bundle_is_made_of_the_run_in_its_folder(void **state)
{
	struct runs_cfg cfg = { .bundle = "-o x" };
	FILE *nowhere = fopen("/dev/null", "w");
	struct err e = { 0 };

	assert_true(beside_make(&cfg, "--show", nowhere));
	assert_told(*state, "-o-o x\n./--show\n");
	setenv("CODE", "1", 1);
	assert_false(beside_make(&cfg, "run", nowhere));
	assert_int_equal(external_bundle_make("b", "run", &e), -EIO);
	assert_non_null(strstr(e.text, "`afpscope bundle run -o b` tries again"));
	fclose(nowhere);
}

static void a_bundle_is_refused_before_the_run(void **state)
{
	struct runs_cfg cfg = { .bundle = "/tmp/afpscope-bundle", .not_kept = true };
	struct err e = { 0 };

	assert_int_equal(beside_check(&cfg, &e), -EINVAL);
	assert_non_null(strstr(e.text, "--bundle needs a run that is kept"));
	cfg.folder = "run";
	assert_int_equal(beside_check(&cfg, &e), 0);
	cfg.bundle = "/nowhere/bundle";
	assert_int_equal(beside_check(&cfg, &e), -ENOENT);
	assert_non_null(strstr(e.text, "--bundle"));
	cfg.bundle = "";
	assert_int_equal(beside_check(&cfg, &e), -EINVAL);
	setenv("PATH", "/nowhere", 1);
	cfg.bundle = "/tmp/afpscope-bundle";
	assert_int_equal(beside_check(&cfg, &e), -ENOENT);
	assert_true(beside_lack(&cfg));
	cfg.bundle = NULL;
	assert_false(beside_lack(&cfg));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_no_options_and_no_labels, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_failure_says_how_to_try_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_is_missing_is_said_before, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_bundle_is_made_of_the_run_in_its_folder, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_bundle_is_refused_before_the_run, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
