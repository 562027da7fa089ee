/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that writes the file of --textfile. It is the owner of the folder, has no
 * capabilities and hears only the process that serves, which is nobody: whoever got into that one
 * by HTTP could change no file.
 */
#include "app/cmd.h"
#include "base/file.h"
#include "exporter/exporter.h"
#include "host/rights.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int receive_all(int socket, void *to, size_t len)
{
	char *at = to;
	ssize_t n;

	while (len) {
		n = recv(socket, at, len, MSG_WAITALL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static void become_owner(const char *file)
{
	char *path = strdup(file);
	struct stat st = { .st_uid = EXPORTER_NOBODY, .st_gid = EXPORTER_NOBODY };

	if (path)
		stat(dirname(path), &st);
	free(path);
	cmd_note_rights(rights_drop_all(st.st_uid, st.st_gid), NULL);
}

/* Until the other end is closed. One message for each reason. */
static void write_on(int socket, const char *path)
{
	int r = 0, done, said = 0;
	struct err e = { 0 };
	char *text;
	size_t len;

	while (!r && !receive_all(socket, &len, sizeof(len))) {
		text = malloc(len);
		r = text ? receive_all(socket, text, len) : -ENOMEM;
		done = r ? r : file_save(path, FILE_STATUS, text, len, &e);
		if (!r && done && done != said)
			cmd_say("%s", e.text);
		said = done;
		r = r ? r : exporter_send_bytes(socket, &done, sizeof(done));
		free(text);
	}
}

int exporter_file_open(const char *path, int control, int listener)
{
	int pair[2], r = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (!pid) {
		signal(SIGTERM, SIG_IGN);
		close(pair[0]);
		close(control);
		if (listener >= 0)
			close(listener);
		become_owner(path);
		write_on(pair[1], path);
		_exit(OUTCOME_OK);
	}
	r = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!r)
		return pair[0];
	close(pair[0]);
	return r;
}

int exporter_file_write(int socket, const char *text, size_t len)
{
	int r = exporter_send_bytes(socket, &len, sizeof(len)), written = 0;

	r = r ? r : exporter_send_bytes(socket, text, len);
	r = r ? r : receive_all(socket, &written, sizeof(written));
	return r ? -EPIPE : written;
}
