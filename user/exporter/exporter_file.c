/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that writes the file of --textfile, or the text of --once. It hears only the process
 * that watches: whoever got into the one that answers by HTTP could change no file.
 */
#include "app/cmd.h"
#include "base/file.h"
#include "exporter/exporter.h"
#include "host/rights.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* file NULL: nobody. */
static void become_owner(const char *file)
{
	char *path = file ? strdup(file) : NULL;
	struct stat st = { .st_uid = EXPORTER_NOBODY, .st_gid = EXPORTER_NOBODY };

	if (path)
		stat(dirname(path), &st);
	free(path);
	cmd_note_rights(rights_drop_all(st.st_uid, st.st_gid), NULL);
}

/* path NULL: to standard output. One message for each reason: before is what it returned before. */
static int exporter_file_write(const struct exporter_page *p, const char *path, int before)
{
	struct err e = { 0 };
	size_t len;
	char *text = exporter_page_text(p, false, &len);
	int r = 0;

	if (!text)
		r = err_set(&e, -ENOMEM, "out of memory");
	else if (path)
		r = file_save(path, FILE_STATUS, text, len, &e);
	else if (fwrite(text, 1, len, stdout) != len || fflush(stdout))
		r = err_set(&e, -EIO, "cannot write the metrics to standard output");
	if (r && r != before)
		cmd_say("%s", e.text);
	free(text);
	return r;
}

/* The last page comes without being asked for; with --once it is the only one. */
int exporter_file(const struct exporter_cfg *cfg, int socket)
{
	struct exporter_reader r = { .socket = socket };
	int wait_ms = cfg->once ? -1 : 0, written = 0;

	signal(SIGTERM, SIG_IGN);
	umask(022);
	become_owner(cfg->textfile);
	while (!r.over) {
		if (!exporter_reader_take(&r, wait_ms))
			exporter_reader_refresh(&r);
		if (!r.over && r.page.text)
			written = exporter_file_write(&r.page, cfg->textfile, written);
		wait_ms = cfg->once ? -1 : (int)cfg->interval_s * 1000;
	}
	free(r.page.text);
	return written ? OUTCOME_FAILED : OUTCOME_OK;
}
