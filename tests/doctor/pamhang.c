/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run by pam_exec: ends as soon as there is no file "hang" beside this program. Static, as the
 * server's root has no shell and maybe another libc.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[200];
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;

	if (!slash)
		return 1;
	snprintf(path, sizeof(path), "%.*s/hang", (int)(slash - argv[0]), argv[0]);
	while (!access(path, F_OK))
		usleep(50000);
	return 0;
}
