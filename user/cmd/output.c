/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the terminal. */
#include "cmd/output.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct report_opts output_terminal(void)
{
	struct report_opts o = { 0 };
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return o;
	o.color = !getenv("NO_COLOR");
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		o.width = size.ws_col;
	return o;
}
